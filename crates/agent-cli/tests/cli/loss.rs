//! `loss`: what compactions put out of sight, for people and as JSON.

use insta::assert_snapshot;
use serde_json::json;

use crate::env::TestEnv;

/// A session that was compacted twice by summaries of another agent, the second with words that nobody said.
const LINES: &str = r###"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}
{"type":"message","id":"e1","parentId":null,"message":{"role":"user","content":"Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms."}}
{"type":"message","id":"e2","parentId":"e1","message":{"role":"assistant","content":[{"type":"text","text":"I change read_herd in src/zebra.rs, see https://zebra.example/spec."}],"stopReason":"stop"}}
{"type":"message","id":"e3","parentId":"e2","message":{"role":"user","content":"and the cow?"}}
{"type":"compaction","id":"k1","parentId":"e3","summary":"## Goal\nThe user said \"Never touch Cargo.lock.\" They work on src/zebra.rs.","firstKeptEntryId":"e3","tokensBefore":10}
{"type":"message","id":"e4","parentId":"k1","message":{"role":"assistant","content":[{"type":"text","text":"the cow is in docs/cow.md"}],"stopReason":"stop"}}
{"type":"compaction","id":"k2","parentId":"e4","summary":"The user asked \"please rewrite everything in Go\".","firstKeptEntryId":"e4","tokensBefore":10}
"###;

#[test]
fn people_see_what_is_out_of_sight_and_what_was_invented() {
    let env = TestEnv::new();
    env.write("s.jsonl", LINES);
    let shown = env.run(&["loss", "s.jsonl"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert_snapshot!(shown.stdout, @r#"
    -- compaction #1  k1  46 taken out, summary 22 ---------------------------------
       your messages [..........] 0 of 1 verbatim
          - Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms.  e1
       answers       [..........] 0 of 1 verbatim
          - I change read_herd in src/zebra.rs, see https://zebra.example/spec.  e2
    -- compaction #2  k2  8 taken out, summary 11 ----------------------------------
       your messages [..........] 0 of 1 verbatim
          - and the cow?  e3
       invented     1 quote that no entry contains
                    "please rewrite everything in Go"
    -- all of them, held against the context as it is now  54 taken out ------------
       your messages [..........] 0 of 2 verbatim
          - Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms.  e1
          - and the cow?  e3
       answers       [..........] 0 of 1 verbatim
          - I change read_herd in src/zebra.rs, see https://zebra.example/spec.  e2
    what is out of context is in the session: recall SESSION WORDS finds it, undo takes a compaction back
    "#);
}

#[test]
fn programs_get_every_figure() {
    let env = TestEnv::new();
    env.write("s.jsonl", LINES);
    let document = env.run(&["loss", "s.jsonl", "--json"]).json();
    let first = &document["compactions"][0];
    assert_eq!(first["entry_id"], "k1");
    let kind = |total: usize, verbatim: usize, named: usize| {
        json!({ "total": total, "verbatim": verbatim, "shortened": 0, "named": named,
                "gone": total - verbatim - named, "not_searched": 0 })
    };
    assert_eq!(first["kinds"]["user_messages"], kind(1, 0, 0));
    assert_eq!(first["kinds"]["answers"], kind(1, 0, 0));
    assert_eq!(first["invented"], json!([]));
    let second = &document["compactions"][1];
    assert_eq!(
        second["invented"],
        json!(["please rewrite everything in Go"])
    );
    let totals = &document["totals"];
    assert_eq!(totals["compactions"], 2);
    assert_eq!(totals["kinds"]["user_messages"], kind(2, 0, 0));
}

#[test]
fn a_session_without_compactions_has_no_loss() {
    let env = TestEnv::new();
    let first: String = LINES
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    env.write("s.jsonl", first);
    let shown = env.run(&["loss", "s.jsonl"]);
    assert_eq!(shown.code, Some(3), "{shown}");
}

#[test]
fn a_pruning_counts_by_itself_and_with_the_compaction_that_follows() {
    let env = TestEnv::new();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/sessions/long.jsonl"
    );
    env.write(
        "s.jsonl",
        std::fs::read(example).expect("the example session"),
    );
    let plain = [
        "compact",
        "s.jsonl",
        "--strategy",
        "extractive",
        "--out",
        "plain.jsonl",
    ];
    env.run(&plain).success();
    env.run(&[
        "compact",
        "s.jsonl",
        "--strategy",
        "prune-only",
        "--in-place",
    ])
    .success();
    let pruned = env.run(&["loss", "s.jsonl", "--json"]).json();
    let edits = pruned["edits"].as_array().expect("rows");
    assert_eq!(
        (edits.len(), pruned["compactions"].as_array().map(Vec::len)),
        (1, Some(0))
    );
    // What compare foretold.
    env.write(
        "t.jsonl",
        std::fs::read(example).expect("the example session"),
    );
    let told = env
        .run(&["compare", "t.jsonl", "--strategies", "prune-only", "--json"])
        .json();
    assert_eq!(edits[0]["kinds"], told["strategies"][0]["loss"]["kinds"]);
    // A compaction right behind the pruning takes its account over.
    env.run(&[
        "compact",
        "s.jsonl",
        "--strategy",
        "extractive",
        "--in-place",
    ])
    .success();
    let both = env.run(&["loss", "s.jsonl", "--json"]).json();
    let alone = env.run(&["loss", "plain.jsonl", "--json"]).json();
    assert_eq!(both["edits"], json!([]));
    let removed = |document: &serde_json::Value| {
        document["compactions"][0]["kinds"]["error"]["total"].clone()
    };
    assert_eq!(removed(&both), removed(&alone));
}

#[test]
fn the_card_says_what_loss_says_afterwards() {
    let env = TestEnv::new();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/sessions/long.jsonl"
    );
    env.write(
        "s.jsonl",
        std::fs::read(example).expect("the example session"),
    );
    let rules = ["--strategy", "extractive"];
    let planned = env.json(&[&["plan", "s.jsonl"], &rules[..]].concat());
    let document = env
        .run(
            &[
                &["compact", "s.jsonl", "--out", "c.jsonl", "--json"],
                &rules[..],
            ]
            .concat(),
        )
        .json();
    assert_eq!(planned["extractive"]["loss"], document["loss"]);
    let told = env.run(&["loss", "c.jsonl", "--json"]).json();
    assert_eq!(document["loss"]["kinds"], told["compactions"][0]["kinds"]);
    let card = env.run(&[&["compact", "s.jsonl", "--dry-run"], &rules[..]].concat());
    let line = card.stdout.lines().find(|line| line.contains("messages "));
    assert_snapshot!(line.expect("a line").trim(), @"messages    18 of 18 verbatim");
}

#[test]
fn each_summary_says_where_it_comes_from() {
    let env = TestEnv::new();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/sessions/long.jsonl"
    );
    env.write(
        "s.jsonl",
        std::fs::read(example).expect("the example session"),
    );
    env.run(&[
        "compact",
        "s.jsonl",
        "--strategy",
        "extractive",
        "--in-place",
    ])
    .success();
    let document = env.json(&["inspect", "s.jsonl"]);
    let rows = document["compactions"].as_array().expect("rows");
    let row = rows.last().expect("a compaction");
    assert_eq!(
        (&row["by"], &row["ended"]),
        (&json!("extractive"), &json!("extractive"))
    );
    assert_eq!(
        (&row["strategy"], &row["trigger"]),
        (&json!("extractive"), &json!("manual"))
    );
    assert_eq!(row["prompt_hash"], json!(null));
    assert!(row["seconds"].is_number() && row["tokens_after"].is_number());
    // What the entry of another program does not say is not made up.
    env.write("t.jsonl", LINES);
    let shown = env.run(&["inspect", "t.jsonl"]).success();
    let shown = shown.lines().filter(|line| line.starts_with("compaction"));
    assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @"
    compaction  k1  10 tokens before, summary 22
    compaction  k2  10 tokens before, summary 11
    ");
    // One that was taken back is listed, and marked.
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    let undone = env.json(&["inspect", "s.jsonl"]);
    let rows = undone["compactions"].as_array().expect("rows");
    assert_eq!(rows.last().expect("a row")["on_path"], json!(false));
}
