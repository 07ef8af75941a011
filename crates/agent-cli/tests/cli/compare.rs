//! `compare`: strategies side by side, for people and for programs; nothing is changed.

use insta::assert_snapshot;

use test_support::Reply;

use crate::env::TestEnv;
use crate::faults::Bench;

/// Copies the example session and returns where it is.
fn env() -> TestEnv {
    let env = TestEnv::new();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/sessions/long.jsonl"
    );
    env.write(
        "s.jsonl",
        std::fs::read(example).expect("the example session"),
    );
    env
}

#[test]
fn strategies_stand_side_by_side() {
    let env = env();
    let before = env.read("s.jsonl");
    let shown = env.run(&[
        "compare",
        "s.jsonl",
        "--strategies",
        "extractive,prune-only",
    ]);
    assert_eq!(shown.code, Some(0), "{shown}");
    let lines = shown
        .stdout
        .lines()
        .filter(|line| !line.starts_with("seconds"));
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
                    extractive        prune-only
    tokens before   190.1k            190.1k
    tokens after    25.9k             79.8k
    summary         6.0k              -
    written by      extractive        -
    your messages   100% of 18        -
    failing runs    100% of 4         -
    files           97% of 37         -
    answers         40% of 61         -
    tool output     27% of 289        77% of 100
    shares are of what would leave the context: what can still be read, whole or in part; nothing was changed
    ");
    assert_eq!(env.read("s.jsonl"), before);
}

#[test]
fn programs_get_what_loss_gives_and_what_it_takes() {
    let env = env();
    let document = env.run(&["compare", "s.jsonl", "--json"]).json();
    let rows = document["strategies"].as_array().expect("rows");
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["strategy"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["context-full", "extractive", "prune-only"]);
    let extractive = &rows[1];
    assert_eq!(extractive["model"], serde_json::Value::Null);
    assert!(extractive["tokens_after"].as_u64() < extractive["context_tokens"].as_u64());
    // The same as loss says of the compaction once it is done.
    env.run(&[
        "compact",
        "s.jsonl",
        "--strategy",
        "extractive",
        "--out",
        "c.jsonl",
    ]);
    let loss = env.run(&["loss", "c.jsonl", "--json"]).json();
    for member in ["kinds", "removed_tokens"] {
        assert_eq!(
            extractive["loss"][member], loss["compactions"][0][member],
            "{member}"
        );
    }
}

#[test]
fn what_cannot_be_compared_is_said() {
    let env = env();
    let run = |names: &str| env.run(&["compare", "s.jsonl", "--strategies", names]);
    assert_snapshot!(run("magic").stderr.trim(), @"error: no strategy magic; there are context-full, restore, prune-only, extractive");
    assert_snapshot!(run("extractive,").stderr.trim(), @"error: the name of the strategy is empty; there are context-full, restore, prune-only, extractive");
    assert_eq!(run("extractive,handoff").code, Some(2));
    env.write(
        "small.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
    );
    let nothing = env.run(&["compare", "small.jsonl"]);
    assert_eq!(nothing.code, Some(3), "{nothing}");
    assert!(nothing.stderr.contains("; prune-only: "), "{nothing}");
    let narrow = env.run(&["plan", "s.jsonl", "--window", "300"]);
    assert_eq!(narrow.code, Some(2), "{narrow}");
    assert!(narrow.stderr.contains("name a larger --window"), "{narrow}");
}

#[test]
fn a_window_that_is_too_small_for_a_strategy_is_a_row() {
    let env = env();
    let names = "context-full,restore,extractive,prune-only";
    let asked = [
        "compare",
        "s.jsonl",
        "--window",
        "300",
        "--strategies",
        names,
    ];
    let shown = env.run(&asked);
    assert_eq!(shown.code, Some(0), "{shown}");
    let said = shown.stdout.lines();
    let said = said.filter(|line| line.ends_with("name a larger --window"));
    assert_eq!(said.count(), 3, "{shown}");
    let document = env.run(&[&asked[..], &["--json"]].concat()).json();
    let rows = document["strategies"].as_array().expect("rows");
    assert!(rows[0]["nothing_to_do"].is_string(), "{document}");
    assert!(rows[3]["tokens_after"].is_number(), "{document}");
}

#[test]
fn a_strategy_that_fails_is_a_row_of_the_others() {
    let bench = Bench::replying(vec![Reply::text(401, "text/plain", "no")]);
    let url = bench.server.url();
    let provider = format!("providers.test.baseUrl={url}");
    let with = |names: &str, more: &[&str]| {
        let asked = [
            "compare",
            "s.jsonl",
            "--strategies",
            names,
            "--set",
            &provider,
        ];
        bench.run(&mut bench.asked(&[&asked[..], more].concat()))
    };
    let shown = with("context-full,extractive", &[]);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert!(
        shown
            .stdout
            .contains("context-full failed: Compaction failed"),
        "{shown}"
    );
    let document = with("context-full,extractive", &["--json"]).json();
    let rows = &document["strategies"];
    assert!(rows[0]["failed"].is_string(), "{document}");
    assert_eq!(rows[0]["model"]["requests_sent"], 1);
    assert_eq!(rows[1]["failed"], serde_json::Value::Null);
    assert!(rows[1]["summary"].is_string(), "{document}");
    assert_eq!(with("context-full", &[]).code, Some(5));
}
