//! The strategies that settings name, the pruning before a check, and when automatic compactions stop.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

/// Commands with much output, then a turn without.
const OUTPUT: &str =
    "u:10 call:1:5 res:1:1500 call:2:5 res:2:1500 call:3:5 res:3:1500 a:10 u:10 a:10";

fn harness(script: &str, strategy: Value) -> Harness {
    let mut settings = json!({ "keepRecentTokens": 500 });
    settings["strategy"] = strategy;
    Harness::new(script).compaction(settings)
}

#[test]
fn the_next_strategy_takes_over_when_one_has_nothing_to_do() {
    run(async {
        let harness = harness(
            &summaries(),
            json!(["prune-only", "extractive", "context-full"]),
        );
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual prune-only
        compacted extractive by extractive
        ");
        assert!(harness.summaries.lock().unwrap().is_empty());
        let text = std::fs::read_to_string(life.path()).expect("a session");
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).expect("an entry");
        let passed = &last["details"]["passedOver"];
        assert_eq!(passed.as_array().map(Vec::len), Some(1), "{last}");
        assert_eq!(
            (&passed[0]["strategy"], &passed[0]["failed"]),
            (&json!("prune-only"), &json!(false))
        );
        life.close().await;
    });
}

#[test]
fn the_first_failure_is_told_when_every_strategy_fails() {
    run(async {
        let harness = harness(&summaries(), json!(["prune-only", "context-full"]));
        let mut life = harness.open_session("u:10 a:10");
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual prune-only
        compacted: pruning would save 0 tokens, less than 13600 (compaction.prune.minimumSavings, at most an eighth of the threshold)
        ");
        life.close().await;
    });
}

#[test]
fn off_refuses_manual_compactions_and_runs_no_others() {
    run(async {
        let script = [
            window(8192),
            summaries(),
            answer("a"),
            error("context_overflow"),
        ];
        let harness = harness(&script.concat(), json!("off"));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual off
        compacted: compaction.strategy is off; set another to compact
        ");
        assert_snapshot!(life.ask(&words(3000)).await, @"
        user: lorem ipsum dolor sit amet lorem ipsum d
        answer (stop): a
        turn done
        ");
        assert_snapshot!(life.ask("more").await, @"
        user: more
        answer (error):  context overflow: scripted/script: the script says context_overflow
        turn failed: Context overflow recovery failed: scripted/script: the script says context_overflow; tokens of system prompt 4, tools 653, messages 6826; begin a new session or use a larger window (automatic compaction is switched off)
        ");
        life.send(Command::SetAutomatic(true));
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        assert_snapshot!(life.news(), @"error: compaction.strategy is off; set another to compact");
        life.close().await;
    });
}

#[test]
fn a_failed_model_is_followed_by_the_built_in_rules() {
    run(async {
        let script = line_of(&json!({ "summary": { "error": { "kind": "overloaded" } } }));
        let harness = harness(&script, json!("context-full"));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual context-full
        progress: scripted/script (summary): the script says overloaded
        compacted context-full by extractive
        ");
        life.close().await;
    });
}

#[test]
fn the_next_candidate_is_asked_when_one_fails() {
    run(async {
        let script = line_of(&json!({ "summary": { "error": { "kind": "overloaded" } } }));
        let mut harness = harness(&script, json!("context-full"));
        harness.summarizer(
            &[
                line_of(&json!({ "script": 1, "name": "second" })),
                summaries(),
            ]
            .concat(),
        );
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual context-full
        progress: scripted/script (summary): the script says overloaded
        compacted context-full by scripted/second
        ");
        life.close().await;
    });
}

#[test]
fn prune_only_shortens_output_and_writes_no_summary() {
    run(async {
        let mut harness = harness(&answer("on"), json!("prune-only"));
        let prune = &mut harness.settings.compaction.prune;
        prune.protect_tokens = TokenCount(1000);
        prune.minimum_savings = TokenCount(500);
        let mut life = harness.open_session(OUTPUT);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual prune-only
        compacted prune-only by extractive
        ");
        assert_snapshot!(life.written(), @r##"
        user: #1
        assistant (toolUse): bash({"command":"#2 lorem ipsum dolor"})
        toolResult: #3
        assistant (toolUse): bash({"command":"#4 lorem ipsum dolor"})
        toolResult: #5
        assistant (toolUse): bash({"command":"#6 lorem ipsum dolor"})
        toolResult: #7
        assistant (stop): #8
        user: #9
        assistant (stop): #10
        edit
        edit
        edit
        custom agent-cli/prune
        "##);
        life.close().await;
    });
}

#[test]
fn what_pruning_saved_makes_a_compaction_unnecessary() {
    run(async {
        let script = [window(8192), answer("on"), summaries()].concat();
        let mut harness = harness(&script, json!("context-full"));
        let prune = &mut harness.settings.compaction.prune;
        prune.protect_tokens = TokenCount(1000);
        prune.minimum_savings = TokenCount(500);
        let mut life = harness.open_session(OUTPUT);
        assert_snapshot!(life.ask(&words(4200)).await, @"
        pruned 3
        user: lorem ipsum dolor sit amet lorem ipsum d
        answer (stop): on
        turn done
        ");
        assert_snapshot!(life.written(), @r##"
        user: #1
        assistant (toolUse): bash({"command":"#2 lorem ipsum dolor"})
        toolResult: #3
        assistant (toolUse): bash({"command":"#4 lorem ipsum dolor"})
        toolResult: #5
        assistant (toolUse): bash({"command":"#6 lorem ipsum dolor"})
        toolResult: #7
        assistant (stop): #8
        user: #9
        assistant (stop): #10
        edit
        edit
        edit
        custom agent-cli/prune
        system: 
        user: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        assistant (stop): on
        "##);
        life.close().await;
        // Without it there is one.
        harness.settings.compaction.prune.enabled = false;
        let script = [window(8192), answer("on"), summaries()].concat();
        let models = Harness::new(&script).models;
        harness.models = models;
        let mut life = harness.open_session(OUTPUT);
        let told = life.ask(&words(4200)).await;
        assert!(told.starts_with("auto-compaction threshold"), "{told}");
        life.close().await;
    });
}

#[test]
fn one_turn_that_is_too_large_is_shortened_where_it_stands() {
    run(async {
        let script = [window(8192), answer("on")].concat();
        let harness = Harness::new(&script);
        let mut life = harness.open_session("u:10 call:1:5 res:1:7500 call:2:5 res:2:10 a:10");
        assert_snapshot!(life.ask("go on").await, @"
        pruned 1
        user: go on
        answer (stop): on
        turn done
        ");
        assert_snapshot!(life.written(), @r##"
        user: #1
        assistant (toolUse): bash({"command":"#2 lorem ipsum dolor"})
        toolResult: #3
        assistant (toolUse): bash({"command":"#4 lorem ipsum dolor"})
        toolResult: #5
        assistant (stop): #6
        edit
        custom agent-cli/prune
        system: 
        user: go on
        assistant (stop): on
        "##);
        life.close().await;
    });
}

#[test]
fn a_live_compaction_says_what_stays_in_context_and_where_it_comes_from() {
    run(async {
        let harness = harness(&summaries(), json!("context-full"));
        let mut life = harness.open_session(OUTPUT);
        life.command_and(compact()).await;
        let messages = life.result().user_messages;
        let file = harness.files().into_values().map(|bytes| {
            let text = String::from_utf8(bytes).expect("text");
            let line = text.lines().find(|line| line.contains("\"compaction\""));
            line.map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        });
        let entry = file.flatten().next().expect("a compaction");
        let details = &entry["details"];
        assert!(messages.is_some());
        assert_eq!(details["loss"]["kinds"]["user_messages"], json!(messages));
        assert_eq!(details["ended"], "complete");
        assert_eq!(
            details["seconds"].as_f64().map(|seconds| seconds < 600.0),
            Some(true)
        );
        assert_eq!(details["promptHash"].as_str().map(str::len), Some(16));
        assert_eq!(details["planHash"].as_str().map(str::len), Some(32));
        life.close().await;
    });
}
