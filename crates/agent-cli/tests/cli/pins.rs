//! `pin` and `redo`: what they write, what they refuse, and what comes back.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{SMALL, TestEnv, without_figures, without_ids};

/// Runs a command that must change nothing; returns what it says.
fn refused(env: &TestEnv, code: i32, arguments: &[&str]) -> String {
    let before = env.listing();
    let output = env.run(arguments);
    assert_eq!(output.code, Some(code), "{output}");
    assert!(before == env.listing(), "{arguments:?}");
    output.stderr.trim_end().to_owned()
}

fn pinned(env: &TestEnv) -> Value {
    env.json(&["pin", "s.jsonl", "--list"])["pins"].clone()
}

#[test]
fn a_text_and_an_entry_are_pinned_listed_and_unpinned() {
    let env = TestEnv::sample();
    let messages = env.messages("s.jsonl");
    let before = env.read("s.jsonl");
    let preview = env.run(&[
        "pin",
        "s.jsonl",
        "--text",
        "never push to main",
        "--dry-run",
    ]);
    assert_snapshot!(preview, @"
    exit 0
    --- stdout
    would be pinned: a text   18 tokens
       text         never push to main
       budget       18 of 2.0k tokens used
    ");
    assert_eq!(env.read("s.jsonl"), before);
    let text = env.json(&[
        "pin",
        "s.jsonl",
        "--text",
        "never push to main",
        "--in-place",
    ]);
    assert_snapshot!(env.run(&["pin", "s.jsonl", "e2", "--in-place"]), @"
    exit 0
    --- stdout
    pinned: e2   31 tokens
       text         #2 lorem ipsum dolor sit amet lorem ipsum dolor sit amet ...
       budget       49 of 2.0k tokens used
    ");
    let listed = env.run(&["pin", "s.jsonl", "--list"]);
    assert_snapshot!(without_ids(&listed.to_string()), @"
    exit 0
    --- stdout
    2 pins
       e2               31  #2 lorem ipsum dolor sit amet lorem ipsum dolor sit amet ...
       [ID]         18  never push to main
       budget       49 of 2.0k tokens used
    ");
    // Nothing is said to the model.
    assert_eq!(env.messages("s.jsonl"), messages);
    let lines = env.lines("s.jsonl");
    let [.., custom, label] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(custom["customType"], "agent-cli/pin");
    assert_eq!(custom["data"], json!({ "text": "never push to main" }));
    assert_eq!(custom["id"], text["pinned"]);
    assert_eq!(
        (&label["type"], &label["targetId"], &label["label"]),
        (&json!("label"), &json!("e2"), &json!("pin"))
    );

    let id = text["pinned"].as_str().expect("an id");
    let removed = env.run(&["pin", "s.jsonl", "--remove", id, "--in-place"]);
    assert_snapshot!(without_ids(&removed.to_string()), @"
    exit 0
    --- stdout
    unpinned: [ID]   18 tokens
       text         never push to main
       budget       31 of 2.0k tokens used
    ");
    let copy = env.json(&["pin", "s.jsonl", "--remove", "e2", "--out", "copy.jsonl"]);
    assert_eq!(copy["unpinned"], "e2");
    assert_eq!(pinned(&env).as_array().map(Vec::len), Some(1));
    assert_eq!(
        env.json(&["pin", "copy.jsonl", "--list"])["pins"],
        json!([])
    );
}

#[test]
fn a_pin_seen_from_another_leaf_does_not_move_the_session() {
    let env = TestEnv::sample();
    let before = env.messages("s.jsonl");
    let arguments = ["pin", "s.jsonl", "--leaf", "e2", "--in-place"];
    let with = |more: &[&'static str]| [&arguments[..], more].concat();
    env.run(&with(&["--text", "-1 is not an index"])).success();
    assert_eq!(env.messages("s.jsonl"), before);
    env.run(&with(&["e2"])).success();
    assert_eq!(env.messages("s.jsonl"), before);
    env.run(&with(&["--remove", "e2"])).success();
    assert_eq!(env.messages("s.jsonl"), before);
    assert_eq!(pinned(&env)[0]["text"], "-1 is not an index");
    let usage = env.run(&["pin"]).stderr;
    assert!(
        usage.contains("pin [OPTIONS] <SESSION> <ENTRY-ID"),
        "{usage}"
    );
}

#[test]
fn pins_that_are_over_the_budget_are_marked() {
    let env = TestEnv::sample();
    for text in ["one two three four five", "six", "seven eight nine"] {
        let arguments = ["pin", "s.jsonl", "--text", text, "--in-place"];
        env.run(&arguments).success();
    }
    let small = ["--set", "compaction.pins.maxTokens=45"];
    let listed = env.run(&[&["pin", "s.jsonl", "--list"], &small[..]].concat());
    assert_snapshot!(without_ids(&listed.to_string()), @"
    exit 0
    --- stdout
    3 pins
       [ID]         18  not kept: one two three four five
       [ID]         15  not kept: six
       [ID]         16  not kept: seven eight nine
       budget       49 of 45 tokens used; what has no room is not kept: unpin some, or raise compaction.pins.maxTokens
    ");
    let none = ["--set", "compaction.pins.maxTokens=0"];
    let text = ["pin", "s.jsonl", "--text", "ten", "--dry-run"];
    assert_snapshot!(refused(&env, 2, &[&text[..], &none].concat()), @"error: the pin takes 14 tokens with its id, and 0 of the 0 for pins are left; raise compaction.pins.maxTokens (at most a quarter of the threshold)");
}

#[test]
fn a_model_that_was_set_later_stays_set() {
    let env = TestEnv::sample();
    env.run_with(&["compact", "s.jsonl", "--in-place"], &SMALL)
        .success();
    let leaf = env.lines("s.jsonl").last().map(|line| line["id"].clone());
    let mut text = String::from_utf8(env.read("s.jsonl")).expect("text");
    let set = json!({"type": "model_change", "id": "m1", "parentId": leaf, "timestamp": "2026-01-01T00:00:00.000Z", "provider": "test", "modelId": "later"});
    text.push_str(&format!("{set}\n"));
    env.write("s.jsonl", text);
    let redo = ["redo", "s.jsonl", "--strategy", "extractive", "--in-place"];
    let document = env.json(&[&redo[..], &SMALL].concat());
    assert_eq!(document["carried"], json!(["model"]));
    assert_eq!(document["left_behind"], json!([]));
    let model = &env.json(&["context", "s.jsonl"])["model"];
    assert!(model.to_string().contains("later"), "{model}");
}

#[test]
fn what_cannot_be_pinned_is_refused() {
    let env = TestEnv::sample();
    env.run(&["pin", "s.jsonl", "e2", "--in-place"]).success();
    let small = ["--set", "compaction.pins.maxTokens=20"];
    let with = |arguments: &[&'static str]| [arguments, &small].concat();
    let said = [
        refused(&env, 2, &["pin", "s.jsonl", "nope", "--in-place"]),
        refused(&env, 2, &["pin", "s.jsonl", "e1", "--in-place"]),
        refused(&env, 2, &["pin", "s.jsonl", "--text", " ", "--in-place"]),
        refused(
            &env,
            2,
            &with(&[
                "pin",
                "s.jsonl",
                "--text",
                "a text of more than four tokens",
                "--in-place",
            ]),
        ),
        refused(&env, 3, &["pin", "s.jsonl", "e2", "--in-place"]),
        refused(&env, 3, &["pin", "s.jsonl", "--remove", "e5", "--in-place"]),
        refused(
            &env,
            2,
            &["pin", "s.jsonl", "--remove", "nope", "--in-place"],
        ),
        refused(&env, 2, &["pin", "s.jsonl", "e5"]),
        refused(
            &env,
            2,
            &["pin", "s.jsonl", "e5", "--window", "0", "--in-place"],
        ),
    ];
    assert_snapshot!(said.join("\n"), @"
    error: no entry nope in this session; agent-cli tree lists the ids
    error: entry e1 has no text to pin; name a message, a tool result or a summary, or pin a text
    error: the text to pin is empty; say what to keep
    error: the pin takes 20 tokens with its id, and 0 of the 20 for pins are left; pin a shorter text, or raise compaction.pins.maxTokens (at most a quarter of the threshold)
    nothing to do: that is pinned already, by entry e2
    nothing to do: entry e5 is not pinned; list the pins to see what is
    error: no entry nope in this session; agent-cli tree lists the ids
    error: pin writes: say where with --out FILE, --in-place or --dry-run
    error: invalid value '0' for '--window <TOKENS>': must be a number of tokens, at least 1

    For more information, try '--help'.
    ");
    for arguments in [
        &["pin", "s.jsonl"][..],
        &["pin", "s.jsonl", "e2", "--text", "both", "--in-place"],
        &["pin", "s.jsonl", "--list", "--in-place"],
    ] {
        refused(&env, 2, arguments);
    }
}

#[test]
fn the_budget_is_a_share_of_the_window() {
    let env = TestEnv::sample();
    let budget = |window: &str| {
        let document = env.json(&["pin", "s.jsonl", "--list", "--window", window]);
        document["budget_tokens"].as_u64()
    };
    assert_eq!(budget("1000000"), Some(10_000));
    assert_eq!(budget("50000"), Some(1000));
}

#[test]
fn undo_and_redo_go_back_and_forth() {
    let env = TestEnv::sample();
    let before = env.messages("s.jsonl");
    assert_snapshot!(refused(&env, 3, &["redo", "s.jsonl", "--in-place"]), @"nothing to do: nothing was undone on the path");
    env.run_with(&["compact", "s.jsonl", "--in-place"], &SMALL)
        .success();
    let after = env.messages("s.jsonl");
    for _ in 0..2 {
        env.run(&["undo", "s.jsonl", "--any", "--in-place"])
            .success();
        assert_eq!(env.messages("s.jsonl"), before);
        let preview = env.json(&["redo", "s.jsonl", "--dry-run"]);
        assert_eq!(preview["leaf_entry_id"], json!(null));
        assert_eq!(env.messages("s.jsonl"), before);
        let redone = env.json(&["redo", "s.jsonl", "--in-place"]);
        assert_eq!(redone["redone"], preview["redone"]);
        assert_eq!(env.messages("s.jsonl"), after);
    }
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    env.run(&["redo", "s.jsonl", "--in-place"]).success();
    assert_eq!(env.messages("s.jsonl"), before);
    let redone = env.run(&["redo", "s.jsonl", "--in-place"]);
    assert_snapshot!(without_figures(&without_ids(&redone.to_string())), @"
    exit 0
    --- stdout
    redone: compaction [ID]   # -> # tokens
       forward to   [ID]
    ");
    assert_eq!(env.messages("s.jsonl"), after);
    refused(&env, 3, &["redo", "s.jsonl", "--in-place"]);
    refused(
        &env,
        2,
        &["redo", "s.jsonl", "--in-place", "--model", "openai/gpt-5.4"],
    );
    refused(
        &env,
        2,
        &["redo", "s.jsonl", "--in-place", "--focus", "tests"],
    );
}

#[test]
fn another_strategy_takes_the_place_of_the_newest_compaction() {
    let env = TestEnv::sample();
    let before = env.messages("s.jsonl");
    let by = |strategy: &'static str, more: &[&'static str]| {
        let arguments = ["redo", "s.jsonl", "--strategy", strategy, "--in-place"];
        [&arguments[..], &SMALL[..], more].concat()
    };
    // The sample has a compaction, and work after it.
    let said = refused(&env, 2, &by("extractive", &[]));
    assert_snapshot!(said, @"error: 11 entries came after e11 and would be left behind, as by undo; give --leave-later to do it anyway");
    let first = env.json(&[&["compact", "s.jsonl", "--in-place"], &SMALL[..]].concat());
    let lines = env.lines("s.jsonl").len();
    let document = env.json(&by("extractive", &[]));
    assert_eq!(document["replaced"], first["compaction_entry_id"]);
    assert_eq!(document["left_behind"], json!([]));
    let written = env.lines("s.jsonl").split_off(lines);
    let kinds: Vec<_> = written
        .iter()
        .map(|line| line["type"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(kinds, ["custom", "compaction"]);
    assert_eq!(
        written[0]["data"],
        json!({ "reason": "redo", "from": first["compaction_entry_id"] })
    );
    assert_eq!(written[0]["parentId"], "e24");
    // What was planned is what a plan of the session before it says.
    assert_eq!(written[1]["details"]["undoTo"], "e24");
    assert_eq!(written[1]["details"]["strategy"], "extractive");
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    assert_eq!(env.messages("s.jsonl"), before);
    // After an undo there is nothing to move.
    let document = env.json(&by("context-full", &[]));
    assert_eq!(document["replaced"], written[1]["id"]);
    assert_eq!(env.lines("s.jsonl").len(), lines + 4);
    for strategy in ["handoff", "off", "unknown"] {
        refused(&env, 2, &by(strategy, &[]));
    }
}

#[test]
fn later_entries_are_left_when_that_is_asked_for() {
    let env = TestEnv::sample();
    let arguments = [
        "redo",
        "s.jsonl",
        "--strategy",
        "prune-only",
        "--leave-later",
        "--dry-run",
    ];
    let pruned = [
        "--set",
        "compaction.prune.minimumSavings=1",
        "--set",
        "compaction.prune.protectTokens=1",
    ];
    let document = env
        .run(&[&arguments[..], &pruned, &["--json"]].concat())
        .json();
    assert_eq!(document["replaced"], "e11");
    env.session("small.jsonl", "u:10 a:10");
    let left = document["left_behind"].as_array().map(Vec::len);
    assert_eq!(left, Some(11), "{document}");
    assert_snapshot!(refused(&env, 3, &["redo", "small.jsonl", "--strategy", "extractive", "--in-place"]), @"nothing to do: no compaction or pruning on the path");
}

#[test]
fn the_document_and_the_session_of_a_handoff_have_the_pins() {
    let env = TestEnv::sample();
    let said = "never push to main";
    env.run(&["pin", "s.jsonl", "--text", said, "--in-place"])
        .success();
    let document = env.json(&["handoff", "s.jsonl", "--out", "new.jsonl"])["document"].clone();
    let document = document.as_str().expect("a text");
    assert!(document.contains(said), "{document}");
    let there = env.json(&["pin", "new.jsonl", "--list"])["pins"].clone();
    assert_eq!(there[0]["text"], said, "{there}");
    // Nothing of it is the model's before a compaction needs it.
    let messages = env.messages("new.jsonl");
    assert_eq!(messages.as_array().map(Vec::len), Some(1), "{messages}");
}
