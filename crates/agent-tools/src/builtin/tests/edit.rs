//! `edit`: what is replaced, what is refused, and how it is shown.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::{TestWorkspace, text};
use crate::builtin::diff;
use crate::builtin::edit::Original;
use crate::builtin::replacement::Change;
use crate::file::CommitPoint;

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";

#[tokio::test]
async fn an_edit_is_shown_as_a_diff() {
    let sandbox = TestWorkspace::new();
    sandbox.put("poem", POEM);
    let edits = json!({ "path": "poem", "edits": [
        { "old_text": "eleven\n", "new_text": "" },
        { "old_text": "two\nthree\n", "new_text": "two\nand\nTHREE\n" },
    ] });
    let output = sandbox.run("edit", edits).await;
    assert_snapshot!(text(&output), @"
    edited poem: 2 replacements
    --- poem
    +++ poem
    @@ -1,6 +1,7 @@
     one
     two
    -three
    +and
    +THREE
     four
     five
     six
    @@ -8,5 +9,4 @@
     eight
     nine
     ten
    -eleven
     twelve
    ");
    let details = output.details.clone().unwrap();
    let shown = text(&output);
    let (_, diff) = shown.split_once('\n').unwrap();
    assert_eq!(details["diff"], diff);
    assert_eq!(details["replacements"], 2);
    let expected = POEM
        .replace("two\nthree", "two\nand\nTHREE")
        .replace("eleven\n", "");
    assert_eq!(sandbox.content("poem"), expected);
}

#[tokio::test]
async fn one_edit_needs_no_list() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "a a a");
    let edit = json!({ "path": "file", "old_text": "a", "new_text": "b", "all": true });
    assert_snapshot!(sandbox.good("edit", edit).await, @r"
    edited file: 3 replacements
    --- file
    +++ file
    @@ -1,1 +1,1 @@
    -a a a
    \ No newline at end of file
    +b b b
    \ No newline at end of file
    ");
    assert_eq!(sandbox.content("file"), "b b b");
}

#[tokio::test]
async fn a_refused_edit_changes_nothing() {
    let sandbox = TestWorkspace::new();
    let refusals = [
        json!([{ "old_text": "one", "new_text": "1" }, { "old_text": "t", "new_text": "T" }]),
        json!([{ "old_text": "one", "new_text": "1" }, { "old_text": "none", "new_text": "T" }]),
        json!([{ "old_text": "one\ntwo", "new_text": "1" }, { "old_text": "two\n", "new_text": "T" }]),
        json!([{ "old_text": "  two \n three", "new_text": "1" }]),
        json!([{ "old_text": "two\nfour", "new_text": "1" }]),
        json!([{ "old_text": "", "new_text": "1" }]),
        json!([{ "old_text": "one", "new_text": "one" }]),
        json!([]),
    ];
    sandbox.put("poem", POEM);
    let mut shown = Vec::new();
    for edits in refusals {
        shown.push(
            sandbox
                .bad("edit", json!({ "path": "poem", "edits": edits }))
                .await,
        );
    }
    let forms = [
        json!({ "path": "poem" }),
        json!({ "path": "poem", "old_text": "one" }),
        json!({ "path": "poem", "new_text": "one" }),
        json!({ "path": "poem", "all": true, "edits": [{ "old_text": "one", "new_text": "1" }] }),
    ];
    for arguments in forms {
        shown.push(sandbox.bad("edit", arguments).await);
    }
    assert_snapshot!(shown.join("\n"), @"
    cannot edit poem: edits[1].old_text: occurs 5 times (lines 2, 3, 8, 10, 12); add lines around it until it occurs once, or set all to true; nothing was changed
    cannot edit poem: edits[1].old_text: is not in the file; read the file again; nothing was changed
    cannot edit poem: edits[0] and edits[1] touch the same text; make them one edit; nothing was changed
    cannot edit poem: old_text: is not in the file; line 2 is the same but for spaces, so copy it exactly; nothing was changed
    cannot edit poem: old_text: is not in the file; only its first line is there, line 2; nothing was changed
    cannot edit poem: old_text: is empty; give the text to replace, or use write for a new file; nothing was changed
    cannot edit poem: old_text: is the same as new_text; give what is to change; nothing was changed
    edits: is empty; give at least one replacement
    edits: is missing; give a list of old_text and new_text
    new_text: is missing
    old_text: is missing
    edits: cannot be combined with old_text, new_text or all; move those into edits
    ");
    assert_eq!(sandbox.content("poem"), POEM);
}

#[tokio::test]
async fn places_that_overlap_are_not_one() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "ababa");
    let edit = json!({ "path": "file", "old_text": "aba", "new_text": "x" });
    let shown = sandbox.bad("edit", edit).await;
    assert!(shown.contains("occurs 2 times"), "{shown}");
}

#[tokio::test]
async fn line_ends_survive() {
    let sandbox = TestWorkspace::new();
    let cases = [
        (
            "one\r\ntwo\r\nthree",
            "one\ntwo",
            "1\n2\n3",
            "1\r\n2\r\n3\r\nthree",
        ),
        (
            "one\r\ntwo\r\nthree",
            "three",
            "3\n4",
            "one\r\ntwo\r\n3\r\n4",
        ),
        ("one\r\ntwo\r\nthree", "two\n", "", "one\r\nthree"),
        ("one\r\ntwo\nthree\n", "two", "2\n2", "one\r\n2\n2\nthree\n"),
        (
            "one\r\ntwo\nthree\n",
            "one",
            "1\n1",
            "1\r\n1\r\ntwo\nthree\n",
        ),
        ("one\ntwo", "two", "2", "one\n2"),
        ("one\r\ntwo", "one\r\ntwo", "1\r\n2", "1\r\n2"),
        ("one\r\n\r\ntwo\r\n", "\n\ntwo\n", "\n", "one\r\n"),
    ];
    for (before, old_text, new_text, after) in cases {
        sandbox.put("file", before);
        let edit = json!({ "path": "file", "old_text": old_text, "new_text": new_text });
        sandbox.good("edit", edit).await;
        assert_eq!(sandbox.content("file"), after, "{before:?} {old_text:?}");
    }
}

#[tokio::test]
async fn permissions_survive_an_edit() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "one");
    fs::set_permissions(sandbox.path("file"), Permissions::from_mode(0o711)).unwrap();
    let edit = json!({ "path": "file", "old_text": "one", "new_text": "two" });
    sandbox.good("edit", edit).await;
    let mode = sandbox
        .path("file")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o711);
}

#[test]
fn a_file_that_changed_meanwhile_is_not_replaced() {
    type Change = fn(&TestWorkspace);
    let changes: [(&str, Change); 4] = [
        ("other bytes", |sandbox| sandbox.put("file", "two")),
        ("more bytes", |sandbox| sandbox.put("file", "one and more")),
        ("another file", |sandbox| {
            sandbox.put("other", "one");
            fs::rename(sandbox.path("other"), sandbox.path("file")).unwrap();
        }),
        ("gone", |sandbox| {
            fs::remove_file(sandbox.path("file")).unwrap();
        }),
    ];
    for (name, change) in changes {
        let sandbox = TestWorkspace::new();
        sandbox.put("file", "one");
        let original = Original::read(sandbox.place("file"), 100).unwrap();
        change(&sandbox);
        let before = fs::read(sandbox.path("file")).ok();
        original
            .replace("edited", &CommitPoint::default())
            .unwrap_err();
        assert_eq!(fs::read(sandbox.path("file")).ok(), before, "{name}");
    }
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "one");
    let original = Original::read(sandbox.place("file"), 100).unwrap();
    original.replace("edited", &CommitPoint::default()).unwrap();
    assert_eq!(sandbox.content("file"), "edited");
}

#[tokio::test]
async fn a_large_file_is_not_edited() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.limits.edit_bytes = 4;
    sandbox.put("file", "12345");
    let edit = json!({ "path": "file", "old_text": "1", "new_text": "2" });
    assert_snapshot!(sandbox.bad("edit", edit).await, @"cannot edit file: is larger than 4 bytes; change it with a command; nothing was changed");
}

#[tokio::test]
async fn a_long_diff_is_cut() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.limits.output_lines = 8;
    sandbox.put("file", "a\n".repeat(100));
    let edit = json!({ "path": "file", "old_text": "a", "new_text": "b", "all": true });
    assert_snapshot!(sandbox.good("edit", edit).await, @"
    edited file: 100 replacements
    --- file
    +++ file
    @@ -1,100 +1,100 @@
    -a
    -a
    -a
    -a
    -a
    [195 lines of the diff left out]
    ");
}

/// Applies a diff as `patch` does.
fn patched(text: &str, diff: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut at = 0;
    let mut body = diff.lines().skip(2).peekable();
    while let Some(line) = body.next() {
        let (sign, rest) = line.split_at(1);
        let newline = match body.peek() {
            Some(next) if next.starts_with('\\') => "",
            _ => "\n",
        };
        match sign {
            "@" => {
                let old = rest.split(['-', ',']).nth(1).unwrap();
                let count = rest.split([',', ' ']).nth(2).unwrap();
                let start: usize = old.parse().unwrap();
                let start = start - usize::from(count != "0");
                out.push_str(&lines[at..start].concat());
                at = start;
            }
            " " | "-" => {
                assert_eq!(lines[at], format!("{rest}{newline}"));
                if sign == " " {
                    out.push_str(lines[at]);
                }
                at += 1;
            }
            "+" => out.push_str(&format!("{rest}{newline}")),
            _ => {}
        }
    }
    out.push_str(&lines[at..].concat());
    out
}

proptest! {
    #[test]
    fn a_diff_leads_from_the_old_text_to_the_new(
        text in "[ab\n]{1,60}",
        cuts in prop::collection::vec((0..60usize, 0..6usize, "[abc\n]{0,6}"), 1..4),
    ) {
        let mut changes: Vec<Change> = Vec::new();
        let mut sorted = cuts;
        sorted.sort();
        for (start, length, new) in sorted {
            let start = start.max(changes.last().map_or(0, |last| last.range.end));
            if start < text.len() {
                let range = start..(start + length).min(text.len());
                changes.push(Change { range, text: new });
            }
        }
        let mut edited = text.clone();
        for change in changes.iter().rev() {
            edited.replace_range(change.range.clone(), &change.text);
        }
        let diff = diff::unified("file", &text, &edited);
        prop_assert_eq!(patched(&text, &diff), edited, "{}", diff);
    }
}
