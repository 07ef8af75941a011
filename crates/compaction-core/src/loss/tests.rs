//! Literals, quotes, and reports on small sessions.

use std::collections::BTreeSet;

use session_model::{ContextRules, build_context, decode_bytes};

use super::literals::add_prose;
use super::quote_search::{Claims, Verdict};
use super::quotes::quotes_of_user;
use super::readable::{Readable, Visibility};
use super::{LiteralKind, LossReport, Removed, Verbatim, loss_report};
use crate::rules::Profile;

fn prose(text: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    add_prose(text, &mut found);
    found
        .into_iter()
        .map(|literal| format!("{} {}", literal.kind.name(), literal.text))
        .collect()
}

#[test]
fn prose_is_taken_apart() {
    assert_eq!(
        prose("Look at `src/store/mod.rs:12`, then (see https://x.example/a?b=1)."),
        ["path src/store/mod.rs", "url https://x.example/a?b=1"]
    );
    assert_eq!(
        prose("The timeout is 30 s, not 1,500ms; keep 85% of 12 and step 3."),
        ["number 1500 ms", "number 30 s", "number 85 %"]
    );
    assert_eq!(
        prose(
            "parse_line() calls Decoder::push, `readBlock` and retry(); either/or and and/or are words"
        ),
        [
            "identifier Decoder::push",
            "identifier parse_line",
            "identifier readBlock",
            "identifier retry"
        ]
    );
    assert_eq!(
        prose("plain words, 1/2 and 3.5 of them; e.g. nothing..."),
        Vec::<String>::new()
    );
    assert_eq!(
        prose("README.md and ./run and ~/x"),
        ["path ./run", "path README.md", "path ~/x"]
    );
}

#[test]
fn only_quotes_of_the_user_are_held_against_the_user() {
    let summary = "## Goal\nThe user said \"never touch the lock file\" and “keep it small, please”.\n\
        The error was \"no such file or directory\".\n## User messages\n- \"make the parser fast\"\n\
        ## Next\n- \"some other long quote\"\n```\nuser \"in a fence it is code\"\n```\n";
    assert_eq!(
        quotes_of_user(summary),
        [
            "never touch the lock file",
            "keep it small, please",
            "make the parser fast"
        ]
    );
}

#[test]
fn a_fence_that_is_never_closed_hides_nothing() {
    let summary = "```rust\nuser \"in a fence it is code\"\n````\nuser \"still in that fence, too\"\n```\n\
        ~~~\nThe user said \"delete every backup now\"\n";
    assert_eq!(quotes_of_user(summary), ["delete every backup now"]);
}

/// Returns whether each quote is in what was said, comparing at most so many bytes.
fn verdicts(quotes: &[&str], said: &[&str], bytes: u64) -> Vec<Verdict> {
    let mut claims = Claims::comparing(bytes);
    let numbers: Vec<usize> = quotes.iter().map(|quote| claims.add(quote)).collect();
    claims.look_up(said.iter().map(|text| (*text).to_owned()).enumerate());
    let numbers = numbers.into_iter();
    numbers
        .map(|number| claims.verdict(number, said.len()))
        .collect()
}

#[test]
fn a_quote_may_leave_out_and_end_differently() {
    let said = [
        "hello",
        "Please never touch the lock file, and don’t add crates.",
    ];
    let quotes = [
        "never touch the lock file",
        "never touch … don't add crates",
        "Please never touch ... add crates!",
        "nev … t … f",
        "never touch the tests",
        "add crates … never touch",
        "hello … never",
        "Please never touch the lock files",
    ];
    let mut expected = vec![Verdict::Found; 4];
    expected.extend([Verdict::Invented; 4]);
    assert_eq!(verdicts(&quotes, &said, 1 << 20), expected);
}

#[test]
fn a_quote_is_found_wherever_it_stands() {
    let text = "żółw über 用户 the quick brown fox jumps over a lazy dog, said nobody";
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for (from, start) in starts.iter().enumerate() {
        for end in starts[from..].iter().skip(1) {
            let quote = &text[*start..*end];
            if !quote.trim_matches([' ', ',']).is_empty() {
                assert_eq!(
                    verdicts(&[quote], &[text], 9999),
                    [Verdict::Found],
                    "{quote}"
                );
            }
        }
    }
}

#[test]
fn a_quote_that_was_said_later_is_invented() {
    let mut claims = Claims::default();
    let number = claims.add("be quick about it");
    claims.look_up([(3, "now be quick about it".to_owned())].into_iter());
    assert_eq!(claims.verdict(number, 3), Verdict::Invented);
    assert_eq!(claims.verdict(number, 4), Verdict::Found);
}

#[test]
fn quotes_that_are_all_alike_are_not_compared_without_end() {
    let quotes: Vec<String> = (0..4000)
        .map(|n| format!("{}{n} b c", "a ".repeat(150)))
        .collect();
    let quotes: Vec<&str> = quotes.iter().map(String::as_str).collect();
    let text = "a ".repeat(200_000);
    let found = verdicts(&quotes, &["first", &text], 1 << 20);
    assert!(found.iter().all(|verdict| *verdict == Verdict::NotSearched));
    // What was searched before that counts.
    let before = [quotes[0], &text];
    assert_eq!(verdicts(&quotes, &before, 1 << 20)[0], Verdict::Found);
}

#[test]
fn fences_that_are_never_closed_are_looked_at_once() {
    let summary = "```rust\n".repeat(100_000) + "The user said \"delete every backup now\"";
    assert_eq!(quotes_of_user(&summary), ["delete every backup now"]);
}

/// Returns a session whose lines are `role text`, compacted with this summary so that the last message stays.
fn lines(said: &[(&str, &str)], summary: &str) -> Vec<u8> {
    let mut lines = vec![serde_json::json!({"type": "session", "version": 3, "id": "s"})];
    let mut parent = serde_json::Value::Null;
    for (number, (role, text)) in said.iter().enumerate() {
        let id = format!("e{number}");
        let content = match *role {
            "assistant" => serde_json::json!([{"type": "text", "text": text}]),
            _ => serde_json::json!(text),
        };
        lines.push(serde_json::json!({
            "type": "message", "id": id, "parentId": parent,
            "message": {"role": role, "content": content},
        }));
        parent = serde_json::json!(id);
    }
    let kept = parent.clone();
    lines.push(serde_json::json!({
        "type": "compaction", "id": "c", "parentId": parent, "summary": summary,
        "firstKeptEntryId": kept, "tokensBefore": 9,
    }));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    text.into_bytes()
}

fn session(said: &[(&str, &str)], summary: &str) -> LossReport {
    let session = decode_bytes(lines(said, summary));
    let path = session.tree.path(session.tree.leaf());
    let counter = Profile::Own.counter();
    loss_report(&path, ContextRules::Own, counter, &mut || true).unwrap()
}

const SAID: [(&str, &str); 4] = [
    (
        "user",
        "Never touch Cargo.lock. Make src/parse.rs read 3 MB in 20 ms.",
    ),
    (
        "assistant",
        "I change parse_line in src/parse.rs, look at docs/form.md and show \"lines per second\".",
    ),
    ("user", "good"),
    ("assistant", "done; src/parse.rs is fast"),
];

#[test]
fn what_a_summary_leaves_out_is_recoverable() {
    let report = session(
        &SAID,
        "## Goal\nThe user said \"be quick about it\".\nThe user sees \"lines per second\".",
    );
    let loss = &report.compactions[0];
    let kind = |kind: LiteralKind| loss.loss.kinds[kind.name()];
    // The file is named by what stays; the rest is out of context.
    assert_eq!(
        (
            kind(LiteralKind::Path).total,
            kind(LiteralKind::Path).in_context
        ),
        (3, 1)
    );
    assert_eq!(kind(LiteralKind::Path).recoverable, 2);
    assert_eq!(kind(LiteralKind::Number).recoverable, 2);
    assert_eq!(kind(LiteralKind::Identifier).recoverable, 1);
    assert_eq!(
        (
            loss.loss.user_messages.total,
            loss.loss.user_messages.verbatim
        ),
        (2, 0)
    );
    assert_eq!((loss.loss.rules.total, loss.loss.rules.verbatim), (1, 0));
    assert_eq!(loss.invented, ["be quick about it"]);
    assert!(report.totals.loss.kinds.values().all(|kind| kind.gone == 0));
    assert_eq!(report.totals.invented, 1);
}

#[test]
fn what_a_summary_keeps_is_in_the_context() {
    let summary = "## Goal\nThe user said: \"Never touch Cargo.lock. Make src/parse.rs read 3 MB in 20 ms.\"\n\
        - parse_line in /work/src/parse.rs, docs/form.md\n\"good\"";
    let report = session(&SAID, summary);
    let loss = &report.compactions[0];
    for (name, kind) in &loss.loss.kinds {
        assert_eq!(kind.in_context, kind.total, "{name}");
    }
    assert_eq!(loss.loss.user_messages.verbatim, 2);
    assert_eq!(loss.loss.rules.verbatim, 1);
    assert!(loss.invented.is_empty());
}

#[test]
fn a_report_can_be_stopped() {
    let counter = Profile::Own.counter();
    let session = decode_bytes(lines(&SAID, "a summary"));
    let path = session.tree.path(session.tree.leaf());
    assert_eq!(
        loss_report(&path, ContextRules::Own, counter, &mut || false),
        None
    );
}

#[test]
fn what_is_not_searched_for_is_counted_apart() {
    let mut readable = Readable::searching(60);
    readable.add_text("look at the zebra in the herd");
    readable.finish();
    assert_eq!(readable.has_text("the zebra"), Visibility::Seen);
    // What shares no piece with the text costs nothing.
    for _ in 0..9 {
        assert_eq!(readable.has_text("cow and calf"), Visibility::Unseen);
    }
    assert_eq!(readable.has_text("in the herd"), Visibility::Seen);
    assert_eq!(readable.has_text("the zebra"), Visibility::NotSearched);

    let session = decode_bytes(lines(&[("user", "Never touch the lock file.")], "a"));
    let path = session.tree.path(session.tree.leaf());
    let mut removed = Removed::default();
    for (id, message) in build_context(&path, ContextRules::Own).messages() {
        removed.add(message, id);
    }
    let mut readable = Readable::searching(3);
    readable.add_text("Never touch the lock file. That is what was said.");
    readable.finish();
    let loss = removed.look_up(&readable).loss();
    let apart = Verbatim {
        total: 1,
        verbatim: 0,
        gone: 0,
        not_searched: 1,
    };
    assert_eq!((loss.user_messages, loss.rules), (apart, apart));
    assert!(loss.in_part);
}

#[test]
fn defused_tags_are_found_as_they_were_written() {
    let mut readable = Readable::default();
    readable.add_text("the user said: keep the &lt;summary> tag");
    readable.finish();
    assert_eq!(
        readable.has_text("keep the <summary> tag"),
        Visibility::Seen
    );
}
