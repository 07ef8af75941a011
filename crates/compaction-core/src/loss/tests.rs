//! Quotes, and reports on small sessions.

use session_model::{ContextRules, Leaf, decode_bytes};

use super::quote_search::{Claims, Verdict};
use super::quotes::quotes;
use super::readable::{Readable, Visibility};
use super::{KindLoss, LossKind, LossReport, loss_report};
use crate::rules::Profile;

#[test]
fn what_is_in_marks_and_behind_signs_is_a_quote() {
    let summary = "## Goal\nThe user said \"never touch the lock file\" and “keep it small, please”.\n\
        > make the parser fast\n> ok\nThe tool printed \"x\". 「設定を変えないでくださいと言いました」";
    assert_eq!(
        quotes(summary),
        [
            "never touch the lock file",
            "keep it small, please",
            "make the parser fast",
            "設定を変えないでくださいと言いました"
        ]
    );
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
    loss_report(&path, ContextRules::Own, counter)
}

const SAID: [(&str, &str); 4] = [
    (
        "user",
        "Never touch Cargo.lock. Make src/parse.rs read 3 MB in 20 ms, whatever the form of the input is.\n\nThat is all.",
    ),
    (
        "assistant",
        "I change parse_line in src/parse.rs, look at docs/form.md and show \"lines per second\".",
    ),
    ("user", "good"),
    ("assistant", "done; src/parse.rs is fast"),
];

/// Writes the figures of a kind: total, verbatim, shortened, named, gone.
fn figures(report: &LossReport, kind: LossKind) -> [usize; 5] {
    let KindLoss {
        total,
        verbatim,
        shortened,
        named,
        gone,
        ..
    } = report.compactions[0].loss.of(kind);
    [total, verbatim, shortened, named, gone]
}

#[test]
fn messages_are_verbatim_shortened_named_or_gone() {
    let check = |summary: &str, want| {
        let report = session(&SAID, summary);
        assert_eq!(figures(&report, LossKind::UserMessage), want, "{summary}");
    };
    check("nothing", [2, 0, 0, 0, 2]);
    // Quotes follow their marks, and blank lines are skipped.
    let whole = "user [e0]\n> Never touch Cargo.lock. Make src/parse.rs read 3 MB in 20 ms, whatever the form of the input is.\n> That is all.\nuser [e2]\n> good";
    check(whole, [2, 2, 0, 0, 0]);
    let cut = "user [e0]\n> Never touch Cargo.lock. Make src/parse.rs read\n[... 40 characters left out, entry e0]";
    check(cut, [2, 0, 1, 0, 1]);
    check("see [e0] and [e2]", [2, 0, 0, 2, 0]);
    let report = session(&SAID, "nothing");
    let texts = &report.compactions[0].loss.weightiest["user_messages"];
    assert_eq!(texts[0].entry_id.as_str(), "e0");
    assert_eq!(texts[1].text, "good");
}

#[test]
fn a_short_message_is_read_where_a_line_has_nothing_else() {
    let said = [
        ("user", "yes"),
        ("assistant", "ok"),
        ("user", "2\nB"),
        ("user", "a last one that stays as it is"),
    ];
    let check = |summary: &str, want| {
        let report = session(&said, summary);
        let kinds = [LossKind::UserMessage, LossKind::Answer];
        assert_eq!(
            kinds.map(|kind| figures(&report, kind)[1]),
            want,
            "{summary}"
        );
    };
    check("Bob had 2 tokens yesterday.", [0, 0]);
    check("user [e0]\n> yes\nagent [e1]\n> ok", [1, 1]);
    check("> 2\n> B", [1, 0]);
}

#[test]
fn a_quote_that_no_entry_contains_is_invented() {
    let report = session(
        &SAID,
        "The user said \"never touch cargo.lock\" and \"delete every backup now\"; it shows \"lines per second\".",
    );
    assert_eq!(report.compactions[0].invented, ["delete every backup now"]);
    assert_eq!(report.totals.invented, 1);
}

#[test]
fn a_text_that_was_pinned_on_another_branch_before_is_no_invented_quote() {
    let pin = r#"{"type":"custom","id":"p","parentId":"e3","customType":"agent-cli/pin","data":{"text":"never push to main"}}"#;
    let text = String::from_utf8(lines(&SAID, "> never push to main")).unwrap();
    let (start, last) = text.trim_end().rsplit_once('\n').unwrap();
    let before = format!("{start}\n{pin}\n{last}\n");
    let invented = |text: String| {
        let session = decode_bytes(text.into_bytes());
        let path = session.tree.path(Leaf::At(session.tree.find("c").unwrap()));
        loss_report(&path, ContextRules::Own, Profile::Own.counter())
            .totals
            .invented
    };
    assert_eq!(invented(before), 0);
    assert_eq!(invented(text + pin + "\n"), 1);
}

#[test]
fn what_was_searched_too_much_is_not_searched() {
    let mut readable = Readable::searching(40);
    readable.add_summary("look at the zebra in the herd");
    readable.finish();
    assert_eq!(readable.has_text("the zebra"), Visibility::Seen);
    assert_eq!(readable.has_text("an okapi"), Visibility::Unseen);
    assert_eq!(readable.has_text("the herd"), Visibility::NotSearched);
}
