//! Approvals that are remembered: the commands over them, and runs that follow them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Runs, filtered};
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
fn a_rule_that_allows_more_than_it_says_is_added_with_a_warning() {
    let env = TestEnv::new();
    assert_snapshot!(env.run(&["approvals", "allow", "find *"]), @"
    exit 0
    --- stdout
    bash: find * runs without a question in [DIR]
    warning: what find * allows can run any command by its arguments; allow a longer beginning, or exact commands
    ");
    let warnings = env.json(&["approvals", "deny", "sed *"])["warnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1));
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
    assert_snapshot!(run(&["list"]), @"
    exit 0
    --- stdout
    nothing is allowed or denied for good in [DIR]
    [DIR]/config/approvals.json
    ");
    run(&["allow", "cargo test *"]).success();
    run(&["deny", "git push *"]).success();
    run(&["allow", "--exact", "ls *"]).success();
    run(&["allow", "--tool", "server__search", "*"]).success();
    assert_snapshot!(run(&["list"]), @"
    exit 0
    --- stdout
    never   bash  git push *
    always  bash  cargo test *
    always  bash  ls *  (exactly)
    always  server__search  *
    [DIR]/config/approvals.json
    ");
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
    assert_snapshot!(run(&["forget", "git push *"]), @"
    exit 0
    --- stdout
    1 rule forgotten
    ");
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
    let run = |arguments: &[&str]| filtered(&env.run(arguments));
    assert_snapshot!(run(&["approvals", "allow", "make; rm *"]), @"
    exit 2
    --- stderr
    error: make; rm *: a rule that ends in * holds for single commands only, and this joins or redirects them, has a variable or an open quote; leave that out, or name the whole command with --exact
    ");
    assert_snapshot!(run(&["approvals", "allow", ""]), @"
    exit 2
    --- stderr
    error: a rule needs what it is about: a command, or its beginning and *
    ");
    assert_snapshot!(run(&["approvals", "deny", "--tool", "wirte", "x"]), @"
    exit 2
    --- stderr
    error: --tool wirte: there is no such tool; choose from [TOOLS], or SERVER__TOOL or SERVER__* for those of a server
    ");
    assert_snapshot!(run(&["approvals", "allow", "--tool", "s__a", "x"]), @"
    exit 2
    --- stderr
    error: a rule for s__a holds for all its calls, since their arguments vary; give * as the rule
    ");
    assert_snapshot!(run(&["approvals", "deny", "--tool", "s__*", "--exact", "*"]), @"
    exit 2
    --- stderr
    error: a rule for s__* holds for all its calls, since their arguments vary; give * as the rule
    ");
    for rule in [
        ["s__a", "*"],
        ["s__*", "*"],
        ["write", "./sub/*"],
        ["edit", "./sub/a"],
    ] {
        let kept = run(&["approvals", "deny", "--tool", rule[0], rule[1]]);
        assert_eq!(kept.code, Some(0), "{rule:?}");
    }
    assert_snapshot!(run(&["approvals", "list"]), @"
    exit 0
    --- stdout
    never   s__a  *
    never   s__*  *
    never   write  sub/*
    never   edit  sub/a
    [DIR]/config/approvals.json
    ");
    assert_snapshot!(run(&["approvals", "list", "--cwd", "nowhere"]), @"
    exit 2
    --- stderr
    error: --cwd nowhere: there is no such folder; name that of a project
    ");
    env.write("config/approvals.json", "{");
    assert_snapshot!(run(&["approvals", "list"]), @"
    exit 1
    --- stderr
    error: [DIR]/config/approvals.json cannot be understood (EOF while parsing an object at line 1 column 1); fix it or move it away to have answers remembered
    ");
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
    assert_snapshot!(runs.said(&runs.session()), @r#"
    user: go
    assistant: bash({"command":"echo one"})
    bash({"command":"echo two; echo three"})
    toolResult: one

    toolResult: the user never allows this in this project; do it another way, or ask what to do instead
    assistant: Done.
    "#);
}

#[test]
fn a_garbled_file_is_told_of_and_left_alone() {
    let runs = Runs::of(COMMANDS);
    runs.env.write("config/approvals.json", "[]");
    let output = runs.play(&["-p", "go"]);
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    Done.
    --- stderr
    scripted/commands, window 128.0k, in [DIR], session [SESSION]
    > go
    note: [DIR]/config/approvals.json cannot be understood (invalid length 0, expected struct Contents with 2 elements at line 1 column 2); fix it or move it away to have answers remembered
      bash echo one
        x the rules of the project cannot be read and no user can be asked; ask the
          user to fix the file or move it away: [DIR]/config/approvals....
      bash echo two; echo three
        x the rules of the project cannot be read and no user can be asked; ask the
          user to fix the file or move it away: [DIR]/config/approvals....
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p ...
    ");
    assert_eq!(runs.env.read("config/approvals.json"), b"[]");
}

#[test]
fn only_tools_that_there_are_can_be_allowed() {
    let runs = Runs::of(COMMANDS);
    assert_snapshot!(runs.refused(2, &["-p", "go", "--allow", "fly"]), @"error: --allow fly: there is no such tool; choose from [TOOLS], or SERVER__TOOL or SERVER__* for those of a server");
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
