//! `recall`: searching and reading, bounded, on every branch and behind compactions.

use serde_json::Value;

use crate::env::TestEnv;

/// A session whose first turn was compacted away, with a branch that was left.
const LINES: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}
{"type":"message","id":"e1","parentId":null,"message":{"role":"user","content":"use the zebra protocol, never the horse protocol"}}
{"type":"message","id":"e2","parentId":"e1","message":{"role":"assistant","content":[{"type":"text","text":"the zebra protocol it is; src/zebra.rs has it"}],"stopReason":"stop"}}
{"type":"message","id":"e3","parentId":"e2","message":{"role":"user","content":"now the second question about a cow"}}
{"type":"message","id":"x1","parentId":"e2","message":{"role":"user","content":"an abandoned question about a walrus"}}
{"type":"compaction","id":"k1","parentId":"e3","summary":"they talked about protocols","firstKeptEntryId":"e3","tokensBefore":10}
{"type":"message","id":"e4","parentId":"k1","message":{"role":"assistant","content":[{"type":"text","text":"the cow answer"}],"stopReason":"stop"}}
"#;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("s.jsonl", LINES);
    env
}

fn found(env: &TestEnv, arguments: &[&str]) -> Vec<(String, String)> {
    let mut all = vec!["recall", "s.jsonl", "--json"];
    all.extend(arguments);
    let document = env.run(&all).json();
    let rows = document["found"].as_array().expect("a list");
    let text = |row: &Value, member: &str| row[member].as_str().expect("text").to_owned();
    rows.iter()
        .map(|row| (text(row, "entry_id"), text(row, "place")))
        .collect()
}

fn row(id: &str, place: &str) -> (String, String) {
    (id.to_owned(), place.to_owned())
}

#[test]
fn what_a_compaction_took_out_is_found_and_told_apart() {
    let env = env();
    assert_eq!(
        found(&env, &["zebra", "protocol"]),
        [
            row("e2", "out_of_context"),
            row("e1", "out_of_context"),
            row("k1", "in_context"),
        ]
    );
    assert_eq!(found(&env, &["walrus"]), [row("x1", "other_branch")]);
    assert_eq!(found(&env, &["cow"])[0].1, "in_context");
}

#[test]
fn patterns_give_the_newest_first_and_words_the_rarest() {
    let env = env();
    let ids: Vec<String> = found(&env, &["--regex", r"\b(cow|zebra)\b"])
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids, ["e4", "e3", "e2", "e1"]);
    // "the" is everywhere, "horse" is not.
    assert_eq!(found(&env, &["the", "horse", "--limit", "1"])[0].0, "e1");
}

#[test]
fn an_entry_is_read_in_bounded_pieces() {
    let env = env();
    let read = |offset: &str| {
        let arguments = [
            "recall", "s.jsonl", "--id", "e1", "--chars", "20", "--offset", offset, "--json",
        ];
        env.run(&arguments).json()
    };
    let first = read("0");
    assert_eq!(first["text"], "use the zebra protoc");
    assert_eq!(first["next_offset"], 20);
    let last = read("40");
    assert_eq!(last["text"], "protocol");
    assert_eq!(last["next_offset"], Value::Null);
    assert_eq!(read("4000")["text"], "");
}

#[test]
fn what_cannot_be_searched_is_said() {
    let env = env();
    let run = |arguments: &[&str]| {
        let mut all = vec!["recall", "s.jsonl"];
        all.extend(arguments);
        env.run(&all)
    };
    assert_eq!(run(&["nowhere-to-be-found"]).code, Some(3));
    assert_eq!(run(&["--id", "nope"]).code, Some(2));
    assert_eq!(run(&[]).code, Some(2));
    let unclosed = run(&["--regex", "(a"]);
    assert_eq!(unclosed.code, Some(2));
    assert!(unclosed.stderr.contains("unclosed group"), "{unclosed}");
    for none in [
        &["cow", "--limit", "0"][..],
        &["cow", "--chars", "0"],
        &["cow", "--offset", "4"],
        &[" "],
    ] {
        let refused = run(none);
        assert_eq!(refused.code, Some(2), "{none:?}: {refused}");
    }
    // A pattern that would be huge is refused; one that explodes elsewhere takes linear time here.
    let huge = run(&["--regex", "((a{100}){100}){100}"]);
    assert_eq!(huge.code, Some(2), "{huge}");
    let long = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
        "a".repeat(100_000)
    );
    env.write("long.jsonl", long);
    let exploding = env.run(&["recall", "long.jsonl", "--regex", "(a+)+$b"]);
    assert_eq!(exploding.code, Some(3), "{exploding}");
}

#[test]
fn a_pattern_that_reads_a_text_again_for_each_match_ends_and_says_so() {
    let env = env();
    let long = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
        "A".repeat(1_000_000)
    );
    env.write("long.jsonl", long);
    let arguments = ["recall", "long.jsonl", "--regex", ".*[^A-Z]|[A-Z]"];
    let shown = env.run(&arguments);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert!(shown.stdout.contains("there may be more"), "{shown}");
    let document = env.run(&[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(document["in_part"], true);
    assert_eq!(document["found"][0]["matches"], 17);
    let words = env.run(&["recall", "s.jsonl", "cow", "--json"]).json();
    assert_eq!(words["in_part"], false);
}
