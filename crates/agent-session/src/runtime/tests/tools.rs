//! Which calls run beside each other, and in which order the others do.

use std::collections::BTreeSet;

use llm_providers::ToolChoice;
use serde_json::json;

use super::*;

/// Returns what was going on at once, a line for each time: the calls that began before one of them ended.
async fn groups(made: Value) -> String {
    let mut harness = Harness::new(&[calls(made), answer("done")].concat());
    let log = harness.slow_tools();
    std::fs::create_dir(harness.work().join("sub")).unwrap();
    let mut life = harness.live();
    life.ask("work").await;
    life.close().await;
    let log = log.lock().unwrap();
    let mut groups: Vec<BTreeSet<&str>> = Vec::new();
    let mut ended = true;
    for line in &*log {
        match line.strip_suffix(" begins") {
            Some(call) if ended => groups.push(BTreeSet::from([call])),
            Some(call) => drop(groups.last_mut().unwrap().insert(call)),
            None => {}
        }
        ended = line.ends_with("ends");
    }
    let groups = groups
        .into_iter()
        .map(|group| group.into_iter().collect::<Vec<_>>().join(", "));
    groups.collect::<Vec<_>>().join("\n")
}

fn call(name: &str, path: &str) -> Value {
    let key = if name == "bash" { "command" } else { "path" };
    json!({ "name": name, "arguments": { key: path } })
}

#[test]
fn reads_run_at_once() {
    run(async {
        let groups = groups(json!([
            call("read", "a"),
            call("read", "b"),
            call("read", "a")
        ]))
        .await;
        insta::assert_snapshot!(groups, @"read a, read b");
    });
}

#[test]
fn changes_of_one_file_run_in_their_order_however_it_is_spelt() {
    run(async {
        let made = json!([
            call("edit", "a"),
            call("edit", "./a"),
            call("read", "sub/../a"),
            call("write", "b"),
            call("edit", "a"),
        ]);
        insta::assert_snapshot!(groups(made).await, @"
        edit a
        edit ./a
        read sub/../a, write b
        edit a
        ");
    });
}

#[test]
fn searches_run_beside_reads_and_not_beside_changes() {
    run(async {
        let made = json!([
            call("read", "a"),
            call("grep", "sub"),
            call("ls", "sub"),
            call("write", "b"),
            call("edit", "a"),
            call("find", "sub"),
            call("read", "b"),
            call("bash", "make"),
            call("grep", "a"),
        ]);
        insta::assert_snapshot!(groups(made).await, @"
        grep sub, ls sub, read a
        edit a, write b
        find sub, read b
        bash make
        grep a
        ");
    });
}

#[test]
fn a_command_runs_alone() {
    run(async {
        let made = json!([
            call("read", "a"),
            call("bash", "make"),
            call("bash", "make test"),
            call("read", "b"),
            call("edit", "c"),
        ]);
        insta::assert_snapshot!(groups(made).await, @"
        read a
        bash make
        bash make test
        edit c, read b
        ");
    });
}

#[test]
fn calls_of_a_tool_that_may_change_anything_run_alone() {
    run(async {
        let made = json!([
            call("srv__put", "a"),
            call("srv__put", "b"),
            call("edit", "c"),
            call("srv__put", "d"),
            call("read", "e"),
        ]);
        insta::assert_snapshot!(groups(made).await, @"
        srv__put a
        srv__put b
        edit c
        srv__put d
        read e
        ");
    });
}

#[test]
fn results_stand_in_the_order_of_their_calls() {
    run(async {
        let made = json!([
            call("read", "b.txt"),
            call("bash", "echo hi"),
            call("read", "a.txt"),
            call("dance", "")
        ]);
        let harness = Harness::new(&[calls(made), answer("done")].concat());
        harness.put("a.txt", "text of a");
        harness.put("b.txt", "text of b");
        let mut life = harness.live();
        life.ask("work").await;
        insta::assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: work
        assistant (toolUse): read({"path":"b.txt"}) bash({"command":"echo hi"}) read({"pa
        toolResult: text of b
        toolResult: hi 
        toolResult: text of a
        toolResult: there is no tool dance; call one of read, write, edit, bash
        assistant (stop): done
        "#);
        let asked = harness.asked.lock().unwrap().clone();
        assert!(
            asked
                .iter()
                .all(|request| request.tool_choice == ToolChoice::Auto)
        );
        life.close().await;
    });
}

#[test]
fn every_call_of_a_batch_that_is_stopped_gets_a_result() {
    run(async {
        let made = json!([
            call("bash", "sleep 1000"),
            call("bash", "touch ran"),
            call("read", "a.txt")
        ]);
        let harness = Harness::new(&[calls(made), answer("then this")].concat());
        harness.put("a.txt", "text of a");
        let mut life = harness.live();
        life.say("work");
        life.until(|event| matches!(event, SessionEvent::ToolStart { .. }))
            .await;
        insta::assert_snapshot!(life.command_and(Command::Abort).await, @"
        user: work
        answer (tool_use):  +3
        tool bash failed
        tool bash failed
        tool read failed
        turn aborted
        ");
        assert!(!harness.work().join("ran").exists());
        insta::assert_snapshot!(life.ask("and now").await, @"
        user: and now
        answer (stop): then this
        turn done
        ");
        insta::assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: work
        assistant (toolUse): bash({"command":"sleep 1000"}) bash({"command":"touch ran"})
        toolResult: cancelled
        toolResult: cancelled before it ran
        toolResult: cancelled before it ran
        user: and now
        assistant (stop): then this
        "#);
        life.close().await;
    });
}
