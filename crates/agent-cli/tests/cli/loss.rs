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
       paths         [==========] 100%  2 of 2 in context
       figures       [..........]   0%  0 of 1 in context
          - 20 ms  e1
       names         [..........]   0%  0 of 1 in context
          - read_herd  e2
       addresses     [..........]   0%  0 of 1 in context
          - https://zebra.example/spec  e2
       your messages [..........]   0%  0 of 1 verbatim
          - Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms.  e1
       your rules    [==========] 100%  1 of 1 verbatim
    -- compaction #2  k2  8 taken out, summary 11 ----------------------------------
       your messages [..........]   0%  0 of 1 verbatim
          - and the cow?  e3
       invented     1 quote that the user never said
                    "please rewrite everything in Go"
    -- all of them, held against the context as it is now  54 taken out ------------
       paths         [..........]   0%  0 of 2 in context
          - src/zebra.rs  e2
          - Cargo.lock  e1
       figures       [..........]   0%  0 of 1 in context
          - 20 ms  e1
       names         [..........]   0%  0 of 1 in context
          - read_herd  e2
       addresses     [..........]   0%  0 of 1 in context
          - https://zebra.example/spec  e2
       your messages [..........]   0%  0 of 2 verbatim
          - and the cow?  e3
          - Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms.  e1
       your rules    [..........]   0%  0 of 1 verbatim
          - Never touch Cargo.lock.  e1
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

/// Returns a session that was compacted twice by somebody whose summaries are long and say nothing.
fn twice(env: &TestEnv) {
    let nothing =
        "they went on with this and that and some more of it until it was done. ".repeat(30);
    let said = [
        (
            "e1",
            "Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms.",
        ),
        ("e2", "and the cow?"),
        ("e3", "and the pig in src/pig.rs?"),
        ("e4", "and the hen?"),
    ];
    let mut lines = vec![
        json!({"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}),
    ];
    let mut parent = serde_json::Value::Null;
    let mut put = |mut line: serde_json::Value| {
        line["parentId"] = parent.clone();
        parent = line["id"].clone();
        lines.push(line);
    };
    for (place, (id, text)) in said.iter().enumerate() {
        // Enough talk that the ledger has room.
        let text = format!(
            "{text} {}",
            "so it is, we say, and so it shall be. ".repeat(250)
        );
        put(json!({"type":"message","id":id,"message":{"role":"user","content":text}}));
        if place % 2 == 1 {
            let id = format!("k{place}");
            put(
                json!({"type":"compaction","id":id,"summary":nothing,"firstKeptEntryId":said[place].0,"tokensBefore":10}),
            );
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    env.write("t.jsonl", text);
}

#[test]
fn summaries_of_others_stand_beside_ours_of_the_same_size() {
    let env = TestEnv::new();
    twice(&env);
    let before = env.read("t.jsonl");
    let document = env
        .run(&["loss", "t.jsonl", "--against", "extractive", "--json"])
        .json();
    let rows = document["compactions"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        let (own, ours) = (&row["summary_tokens"], &row["ours"]["summary_tokens"]);
        assert!(ours.as_u64() <= own.as_u64(), "{ours} of {own}");
        assert_eq!(row["ours"]["entry_id"], row["entry_id"]);
        assert_eq!(row["ours"]["removed_tokens"], row["removed_tokens"]);
        assert_eq!(row["kinds"]["path"]["in_context"], 0);
        let kinds = &row["ours"]["kinds"]["path"];
        assert_eq!(kinds["in_context"], kinds["total"]);
        assert_eq!(row["rules"]["verbatim"], 0);
        assert_eq!(row["ours"]["rules"]["verbatim"], row["rules"]["total"]);
    }
    // Ours build on ours: the rule of the first is there after the second.
    assert_eq!(
        document["totals"]["rules"],
        json!({ "total": 1, "verbatim": 0 })
    );
    let ours = &document["totals"]["ours"];
    assert_eq!(ours["rules"], json!({ "total": 1, "verbatim": 1 }));
    assert_eq!(env.read("t.jsonl"), before);
}

#[test]
fn people_see_ours_beside_and_why_there_is_none() {
    let env = TestEnv::new();
    twice(&env);
    let shown = env.run(&["loss", "t.jsonl", "--against", "extractive"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert_snapshot!(shown.stdout, @"
    -- compaction #1  k1  3.3k taken out, summary 511 ------------------------------
       paths         [..........]   0%  0 of 2 in context   ours 100%  2 of 2
          - Cargo.lock  e1
          - src/zebra.rs  e1
       figures       [..........]   0%  0 of 1 in context   ours 100%  1 of 1
          - 20 ms  e1
       your messages [..........]   0%  0 of 1 verbatim   ours   0%  0 of 1
          - Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms. so it ...  e1
       your rules    [..........]   0%  0 of 1 verbatim   ours 100%  1 of 1
          - Never touch Cargo.lock.  e1
       ours         summary 410, 41 of it ledger
    -- compaction #2  k3  6.5k taken out, summary 511 ------------------------------
       paths         [..........]   0%  0 of 1 in context   ours 100%  1 of 1
          - src/pig.rs  e3
       your messages [..........]   0%  0 of 2 verbatim   ours   0%  0 of 2
          - and the pig in src/pig.rs? so it is, we say, and so it shall be. ...  e3
          - and the cow? so it is, we say, and so it shall be. so it is, we s...  e2
       ours         summary 402, 53 of it ledger
    -- all of them, held against the context as it is now  9.8k taken out ----------
       paths         [..........]   0%  0 of 3 in context   ours 100%  3 of 3
          - src/pig.rs  e3
          - Cargo.lock  e1
          - src/zebra.rs  e1
       figures       [..........]   0%  0 of 1 in context   ours 100%  1 of 1
          - 20 ms  e1
       your messages [..........]   0%  0 of 3 verbatim   ours   0%  0 of 3
          - and the pig in src/pig.rs? so it is, we say, and so it shall be. ...  e3
          - and the cow? so it is, we say, and so it shall be. so it is, we s...  e2
          - Never touch Cargo.lock. Make src/zebra.rs answer in 20 ms. so it ...  e1
       your rules    [..........]   0%  0 of 1 verbatim   ours 100%  1 of 1
          - Never touch Cargo.lock.  e1
    what is out of context is in the session: recall SESSION WORDS finds it, undo takes a compaction back
    ");
    env.write("s.jsonl", LINES);
    let shown = env.run(&["loss", "s.jsonl", "--against", "extractive"]);
    let said = shown
        .stdout
        .lines()
        .filter(|line| line.starts_with("   ours "));
    assert_snapshot!(said.collect::<Vec<_>>().join("\n"), @"
    ours         none: its own summary takes 22 tokens, and ours takes at least 200
    ours         none: its own summary takes 11 tokens, and ours takes at least 200
    ");
    let document = env
        .run(&["loss", "s.jsonl", "--against", "extractive", "--json"])
        .json();
    assert_eq!(document["compactions"][0]["ours"]["entry_id"], "k1");
    assert!(document["compactions"][0]["ours"]["reason"].is_string());
    // Where there is none of ours, the session's own counts.
    let totals = &document["totals"];
    assert_eq!(totals["ours"]["kinds"], totals["kinds"]);
    assert_eq!(
        env.run(&["loss", "s.jsonl", "--against", "magic"]).code,
        Some(2)
    );
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
    let line = card
        .stdout
        .lines()
        .find(|line| line.contains("in context "));
    assert_snapshot!(line.expect("a line").trim(), @"in context  50% of 219 facts that can be checked, 22 of 22 rules; recall");
    // What is said is what is stored.
    let summaries = env.run(&["summaries", "c.jsonl", "--json"]).json();
    let last = summaries["summaries"]
        .as_array()
        .and_then(|rows| rows.last());
    assert_eq!(
        last.expect("a row")["in_context_percent"],
        document["in_context_percent"]
    );
}

#[test]
fn a_gate_refuses_and_writes_nothing() {
    let env = TestEnv::new();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/sessions/long.jsonl"
    );
    env.write(
        "s.jsonl",
        std::fs::read(example).expect("the example session"),
    );
    let before = env.listing();
    let gate = |minimum: &str, budget: &str| {
        env.run(&[
            "compact",
            "s.jsonl",
            "--strategy",
            "extractive",
            "--set",
            "compaction.verify.mode=gate",
            "--set",
            &format!("compaction.verify.minimumPercent={minimum}"),
            "--set",
            &format!("compaction.ledger.maxTokens={budget}"),
            "--in-place",
        ])
    };
    let refused = gate("100", "0");
    assert_eq!(refused.code, Some(1), "{refused}");
    assert_snapshot!(refused.stderr.trim(), @"error: Compaction failed: only 49% of what can be checked would stay in context; compaction.verify.minimumPercent asks for 100%; lower it, or set compaction.verify.mode=repair to accept what can be kept");
    assert!(env.listing() == before, "something was written");
    assert_eq!(gate("20", "2000").code, Some(0));
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
    let document = env.run(&["summaries", "s.jsonl", "--json"]).json();
    let rows = document["summaries"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["kind"] == "compaction");
    let row = row.expect("a compaction");
    assert_eq!(
        (&row["by"], &row["ended"]),
        (&json!("rules"), &json!("rules"))
    );
    assert_eq!(
        (&row["strategy"], &row["trigger"]),
        (&json!("extractive"), &json!("manual"))
    );
    assert_eq!(row["prompt_hash"], json!(null));
    assert!(row["seconds"].is_number() && row["tokens_after"].is_number());
    // What the entry of another program does not say is not made up.
    env.write("t.jsonl", LINES);
    let shown = env.run(&["summaries", "t.jsonl"]);
    assert_snapshot!(shown.stdout, @"
    compaction  k1  at an unknown time
       by         unknown
       tokens     10 before, summary 22
    compaction  k2  at an unknown time
       by         unknown
       tokens     10 before, summary 11
    ");
    // One that was taken back is listed, and marked.
    env.run(&["undo", "s.jsonl", "--in-place"]).success();
    let undone = env.run(&["summaries", "s.jsonl", "--json"]).json();
    let rows = undone["summaries"].as_array().expect("rows");
    let on_path = rows.iter().map(|row| (&row["kind"], &row["on_path"]));
    let compaction = on_path.clone().find(|(kind, _)| *kind == "compaction");
    assert_eq!(compaction, Some((&json!("compaction"), &json!(false))));
    let none = env.run(&["summaries", "none.jsonl"]);
    assert_eq!(none.code, Some(4), "{none}");
}
