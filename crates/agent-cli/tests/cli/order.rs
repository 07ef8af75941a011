//! Strategies in their order on session files: the next one takes over as in a session that is lived in, and it is said
//! which one wrote and why those before it did not.

use insta::assert_snapshot;
use serde_json::json;
use test_support::{Reply, streams};

use crate::env::{SMALL, TestEnv};
use crate::faults::{Bench, SUMMARY};

fn busy() -> Reply {
    Reply::text(503, "text/plain", "no healthy upstream")
}

#[test]
fn the_next_strategy_takes_over_when_one_has_nothing_to_do() {
    let env = TestEnv::new();
    // No tool has run, so nothing can be pruned.
    env.session("s.jsonl", "u:300 a:1200 u:300 a:1200 u:300 a:600");
    let list = r#"compaction.strategy=["off","handoff","prune-only","extractive"]"#;
    let from_settings = ["--set", list];
    let named = ["--strategy", "prune-only, extractive"];
    for command in ["plan", "compact"] {
        let dry: &[&str] = match command {
            "plan" => &[],
            _ => &["--dry-run"],
        };
        for (options, passed) in [(from_settings, 3), (named, 1)] {
            let asked = [&[command, "s.jsonl"], dry, &options, &SMALL].concat();
            let document = env.run(&[&asked[..], &["--json"]].concat()).json();
            assert_eq!(document["strategy"], "extractive", "{document}");
            let over = document["passed_over"].as_array().expect("a list");
            assert_eq!(over.len(), passed, "{document}");
            let last = &over[passed - 1];
            assert_eq!(last["strategy"], "prune-only");
            assert_eq!(
                (&last["failed"], &last["model"]),
                (&json!(false), &json!(null))
            );
            let shown = env.run(&asked).success();
            let notes = shown.lines().filter(|line| line.contains("passed over"));
            assert_eq!(notes.count(), passed, "{shown}");
        }
    }
}

#[test]
fn what_the_first_says_counts_when_no_strategy_has_anything_to_do() {
    let env = TestEnv::new();
    env.session("s.jsonl", "u:10 a:10");
    let run = |strategy| env.run(&["compact", "s.jsonl", "--dry-run", "--strategy", strategy]);
    let both = run("prune-only,extractive");
    assert_eq!(both.code, Some(3), "{both}");
    assert_eq!(both.stderr, run("prune-only").stderr);
    assert_ne!(both.stderr, run("extractive").stderr);
}

#[test]
fn the_next_strategy_takes_over_when_one_fails() {
    let bench = Bench::replying(vec![busy()]);
    let output = bench.succeeds(&["--strategy", "context-full,extractive"]);
    let document = output.json();
    let passed = &document["passed_over"][0];
    assert_eq!(passed["strategy"], "context-full");
    assert_eq!(passed["failed"], true);
    assert_eq!(passed["model"]["requests_sent"], 1);
    assert_snapshot!(passed["reason"].as_str().unwrap_or_default(), @"Compaction failed: test/alpha: no healthy upstream (status 503); try again, name another --model, or use --fallback extractive");
    assert_eq!(document["model"], json!(null));
    let details = &bench.compaction()["details"];
    assert_eq!(details["strategy"], "extractive");
    assert_eq!(details["summarizer"], json!({"by": "extractive"}));
    let kept = &details["passedOver"][0];
    assert_eq!(
        (&kept["strategy"], &kept["failed"], &kept["reason"]),
        (&passed["strategy"], &json!(true), &passed["reason"])
    );
    let listed = bench.env.run(&["inspect", "s.jsonl", "--json"]).json();
    let listed = &listed["compactions"][0]["passed_over"];
    assert_eq!(listed, &details["passedOver"]);
}

#[test]
fn the_first_failure_is_told_when_every_strategy_fails() {
    let bench = Bench::replying(vec![busy()]);
    let said = bench.fails(&["--strategy", "context-full,prune-only"]);
    assert!(said.contains("no healthy upstream"), "{said}");
    assert_eq!(bench.count(), 1);
}

/// A mistake in what was asked for is none that another strategy mends.
#[test]
fn no_strategy_takes_over_where_the_command_is_wrong() {
    let env = TestEnv::sample();
    for (names, said) in [
        ("extractive,best", "no strategy best"),
        ("extractive,off", "compaction.strategy is off"),
        ("extractive,", "is empty"),
        ("extractive,handoff", "a handoff begins a new session"),
    ] {
        let shown = env.run(&["compact", "s.jsonl", "--dry-run", "--strategy", names]);
        assert_eq!(shown.code, Some(2), "{shown}");
        assert!(shown.stderr.contains(said), "{shown}");
    }
}

/// What is written without a model for a list is for the window of the model that the list would ask.
#[test]
fn all_strategies_of_a_list_have_one_window() {
    let bench = Bench::replying(vec![busy(), streams::chat_stream(SUMMARY)]);
    let window = r#"models."test/alpha".window=8000"#;
    let run = |names: &str| {
        let asked = [
            "compact",
            "s.jsonl",
            "--dry-run",
            "--json",
            "--model",
            "test/alpha",
        ];
        let url = format!("providers.test.baseUrl={}", bench.server.url());
        let options = [
            "--set",
            window,
            "--set",
            &url,
            "--set",
            "http.attempts=1",
            "--set",
            "compaction.keepRecentTokens=300",
            "--fallback",
            "none",
            "--strategy",
            names,
        ];
        let mut command = bench.env.command(crate::env::BINARY);
        command.args(asked).args(options).args(["--wire", "chat"]);
        command.args(["--api-key-env", "TEST_KEY"]);
        command.env("TEST_KEY", crate::faults::KEY);
        bench.run(&mut command).json()
    };
    let second = run("context-full,extractive");
    assert_eq!(second["strategy"], "extractive", "{second}");
    let first = run("context-full,extractive");
    assert_eq!(first["strategy"], "context-full", "{first}");
    assert!(first["threshold"].as_u64() < Some(8000), "{first}");
    assert_eq!(second["threshold"], first["threshold"]);
}
