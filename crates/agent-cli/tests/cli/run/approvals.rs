//! Approvals that are remembered: the commands over them, and runs that follow them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Runs;
use crate::env::TestEnv;

/// Returns the rules of the test's folder, as `TOOL SUBJECT`.
fn rules(env: &TestEnv) -> (Vec<String>, Vec<String>) {
    let document = env.json(&["approvals", "list"]);
    let list = |member: &str| {
        let rules = document[member].as_array().expect("a list").iter();
        let text = |rule: &Value| {
            let subject = rule.get("exact").or_else(|| rule.get("pattern"));
            let text =
                |value: Option<&Value>| value.and_then(Value::as_str).expect("a text").to_owned();
            format!("{} {}", text(rule.get("tool")), text(subject))
        };
        rules.map(text).collect()
    };
    (list("allow"), list("deny"))
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn rules_are_written_listed_and_forgotten() {
    let env = TestEnv::new();
    let run = |arguments: &[&str]| {
        let all: Vec<&str> = std::iter::once("approvals")
            .chain(arguments.iter().copied())
            .collect();
        env.run(&all)
    };
    assert_snapshot!(run(&["list"]), @"");
    run(&["allow", "cargo test *"]).success();
    run(&["deny", "git push *"]).success();
    run(&["allow", "--exact", "ls *"]).success();
    run(&["allow", "--tool", "server__search", "*"]).success();
    assert_snapshot!(run(&["list"]), @"");
    assert_eq!(
        rules(&env),
        (
            texts(&["bash cargo test *", "bash ls *", "server__search *"]),
            texts(&["bash git push *"])
        )
    );
    // What is said last holds.
    run(&["allow", "git push *"]).success();
    assert_eq!(rules(&env).1, texts(&[]));
    assert_snapshot!(run(&["forget", "git push *"]), @"");
    // The exact command and the pattern are two rules.
    assert_eq!(run(&["forget", "ls *"]).code, Some(3));
    run(&["forget", "ls *", "--exact"]).success();
    assert_eq!(
        rules(&env).0,
        texts(&["bash cargo test *", "server__search *"])
    );
    // Another folder is another project.
    env.write("other/file", "");
    let other = env.json(&["approvals", "list", "--cwd", "other"]);
    assert_eq!(other["allow"], json!([]));
}

#[test]
fn rules_that_cannot_be_kept_are_refused() {
    let env = TestEnv::new();
    let run = |arguments: &[&str]| env.run(arguments);
    assert_snapshot!(run(&["approvals", "allow", "make; rm *"]), @"");
    assert_snapshot!(run(&["approvals", "allow", ""]), @"");
    assert_snapshot!(run(&["approvals", "list", "--cwd", "nowhere"]), @"");
    env.write("config/approvals.json", "{");
    assert_snapshot!(run(&["approvals", "list"]), @"");
    assert_eq!(run(&["approvals", "allow", "ls"]).code, Some(1));
    assert_eq!(env.read("config/approvals.json"), b"{");
}

/// A script that calls a tool of no server, whose commands are the user's own.
const COMMANDS: &str = r#"{"script":1,"name":"commands"}
{"answer":{"calls":[{"name":"bash","arguments":{"command":"echo one"}},{"name":"bash","arguments":{"command":"echo two; echo three"}}]}}
{"answer":{"text":"Done."}}
"#;

#[test]
fn what_is_denied_for_good_runs_in_no_script() {
    let runs = Runs::of(COMMANDS);
    runs.run(&["approvals", "deny", "echo three*"]).success();
    runs.play(&["-p", "go"]).success();
    assert_snapshot!(runs.said(&runs.session()), @"");
}

#[test]
fn a_garbled_file_is_told_of_and_left_alone() {
    let runs = Runs::of(COMMANDS);
    runs.env.write("config/approvals.json", "[]");
    let output = runs.play(&["-p", "go"]);
    assert_snapshot!(output, @"");
    assert_eq!(runs.env.read("config/approvals.json"), b"[]");
}

#[test]
fn only_tools_that_there_are_can_be_allowed() {
    let runs = Runs::of(COMMANDS);
    assert_snapshot!(runs.refused(2, &["-p", "go", "--allow", "fly"]), @"");
    runs.play(&[
        "-p",
        "go",
        "--allow",
        "write",
        "--allow",
        "server__tool",
        "--allow",
        "server__*",
    ])
    .success();
}
