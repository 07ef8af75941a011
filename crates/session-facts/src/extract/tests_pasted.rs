//! Facts about what a message only shows: it is never what its author wants.

use super::pasted::without_pasted;
use super::rules_in;
use super::text::sentences;
use crate::extract::tests::record;
use crate::tests_messages::user;

/// What the user says around what is shown.
fn said(text: &str) -> Vec<String> {
    sentences(text).into_iter().map(|said| said.text).collect()
}

#[test]
fn pasted_lines_are_told_by_their_structure() {
    let pasted = [
        "2026-01-02T10:11:12Z worker never answers, always retry",
        "[12:30:01] WARN you must not do this",
        "12:30:01.250 INFO only 3 of 4 are up, keep going",
        "ERROR: the port must be free",
        "error[E0502]: cannot borrow, you must clone first",
        "   --> src/main.rs:12:5",
        "12 |     let never = must(1);",
        "    at always (/srv/app/never.ts:148:9)",
        "  File \"a.py\", line 3, in never",
        "Traceback (most recent call last):",
        "thread 'main' panicked at src/a.rs:1:2: must not be empty",
        "TypeError: you must pass a list",
        "src/a.ts(28,2): error TS2739: it must have a name",
        "| must | never | 30 ms |",
        "{\"note\": \"never touch this\"}",
        "  \"rule\": \"always use 30 ms\",",
        "user@host:~$ make never",
        "$ echo you must not",
        "➜  repo git:(main) ✗ make always",
        "> You must never do this.",
        "@@ -1,3 +1,3 @@ never",
        "+ 8 - always",
        "return never(30);",
        "<div class=\"must\">",
    ];
    for line in pasted {
        assert_eq!(said(line), [""; 0], "{line}");
        let around = format!("Look at this.\n{line}\n\nNever push.");
        assert_eq!(said(&around), ["Look at this.", "Never push."], "{line}");
    }
}

#[test]
fn what_a_user_says_is_not_taken_for_pasted_text() {
    let own = [
        "Never use `a::b(1, 2)` in src/a.rs.",
        "error handling must stay as it is",
        "Use the trait in src/lib.rs:12, not the struct.",
        "1. Only edit files under src/.",
        "- [ ] Never push.",
        "The limit is 30 ms; never more.",
        "Index the table first.",
        "at most 5 workers",
        "[Important] Never push to main.",
    ];
    for line in own.into_iter().take(8) {
        assert!(!said(line).is_empty(), "{line}");
    }
}

#[test]
fn output_behind_a_prompt_ends_at_the_next_blank_line() {
    let text = "It broke.\n$ make test\nyou must set X\nalways\n\nNever set X by hand.";
    assert_eq!(said(text), ["It broke.", "Never set X by hand."]);
}

#[test]
fn words_of_others_are_no_rules() {
    let text = "The vendor's README says:\n\n- You must never call it twice.\n- Always close it.\n\nNever use tabs.";
    assert_eq!(rules_in(text), ["Never use tabs."]);
    let text = "this is the output:\nall tests must pass\n\nRules:\n- short functions";
    assert_eq!(rules_in(text), ["short functions"]);
    assert_eq!(
        rules_in("Update the docs:\n- never name the vendor"),
        ["never name the vendor"]
    );
    assert_eq!(
        rules_in("The page says \"you must never call this twice\", why?"),
        [""; 0]
    );
    assert_eq!(
        rules_in("The manual warns: “you must always close the file first”."),
        [""; 0]
    );
}

#[test]
fn reports_are_no_rules() {
    for report in [
        "The server always crashes on startup.",
        "I always get a blank page when I open it.",
        "You never told me what the parser returns.",
        "It must have something to do with the cache.",
        "Whenever I click save the dialog closes.",
        "The second request never finished.",
        "That must have changed in the last release.",
        "Every time I open it the window jumps.",
    ] {
        assert_eq!(rules_in(report), [""; 0], "{report}");
    }
    for rule in [
        "The tests must always run first.",
        "You never deploy on Fridays.",
        "We always use tabs.",
        "Whenever you change the schema, bump the version.",
        "Every public function must have a doc comment.",
        "The public names always stay as they are.",
        "I always want small commits.",
    ] {
        assert_eq!(rules_in(rule), [rule], "{rule}");
    }
}

#[test]
fn a_paste_is_no_figure_step_or_note() {
    let text = "Why is it slow?\n```\nTODO next: raise the timeout to 30 s\n```\n[10:11:12] took 30 ms, limit is 5 MB";
    let facts = record(&[user("a1", text)], "/p");
    assert_eq!(facts.user_figures().count(), 0);
    assert_eq!(facts.steps().count(), 0);
}

#[test]
fn long_pasted_parts_are_folded_to_what_went_wrong() {
    let trace = "    at run (/srv/app/a.ts:1:2)\n".repeat(9);
    let text = format!("It broke:\n\nError: no such thing\n{trace}\nFix it.");
    let folded = "It broke:\n\nError: no such thing\n[... 9 more pasted lines]\n\nFix it.";
    assert_eq!(without_pasted(&text), folded);
    assert_eq!(without_pasted("Fix\nit."), "Fix\nit.");
}
