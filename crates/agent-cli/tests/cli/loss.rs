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
       paths         [==========] 100%  2 of 2 in sight
       figures       [..........]   0%  0 of 1 in sight
       names         [..........]   0%  0 of 1 in sight
       addresses     [..........]   0%  0 of 1 in sight
       your messages [..........]   0%  0 of 1 word for word
       your rules    [==========] 100%  1 of 1 word for word
    -- compaction #2  k2  8 taken out, summary 11 ----------------------------------
       your messages [..........]   0%  0 of 1 word for word
       invented     1 quote that the user never said
                    "please rewrite everything in Go"
    -- all of them, held against the context as it is now  54 taken out ------------
       paths         [..........]   0%  0 of 2 in sight
       figures       [..........]   0%  0 of 1 in sight
       names         [..........]   0%  0 of 1 in sight
       addresses     [..........]   0%  0 of 1 in sight
       your messages [..........]   0%  0 of 2 word for word
       your rules    [..........]   0%  0 of 1 word for word
    what is out of sight is in the session: recall SESSION WORDS finds it, undo takes a compaction back
    "#);
}

#[test]
fn programs_get_every_figure() {
    let env = TestEnv::new();
    env.write("s.jsonl", LINES);
    let document = env.run(&["loss", "s.jsonl", "--json"]).json();
    let first = &document["compactions"][0];
    assert_eq!(first["entry_id"], "k1");
    let kind = |total: usize, in_context: usize| {
        let recoverable = total - in_context;
        json!({ "total": total, "in_context": in_context, "recoverable": recoverable, "gone": 0 })
    };
    assert_eq!(first["kinds"]["path"], kind(2, 2));
    assert_eq!(first["kinds"]["number"], kind(1, 0));
    assert_eq!(first["kinds"]["url"], kind(1, 0));
    assert_eq!(first["kinds"]["identifier"], kind(1, 0));
    assert_eq!(first["user_messages"], json!({ "total": 1, "verbatim": 0 }));
    assert_eq!(first["rules"], json!({ "total": 1, "verbatim": 1 }));
    assert_eq!(first["invented"], json!([]));
    let second = &document["compactions"][1];
    assert_eq!(
        second["invented"],
        json!(["please rewrite everything in Go"])
    );
    let totals = &document["totals"];
    assert_eq!(totals["compactions"], 2);
    // What the first summary had kept is out of sight since the second.
    assert_eq!(totals["kinds"]["path"], kind(2, 0));
    assert_eq!(totals["rules"], json!({ "total": 1, "verbatim": 0 }));
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
    assert_eq!(edits[0]["kinds"], told["strategies"][0]["kinds"]);
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
