//! With `--json`, standard output holds exactly one document, whatever happens.

use serde_json::Value;

use crate::commands::VERSION_1;
use crate::env::{Output, SMALL, TestEnv};

/// Returns a folder with a session `s.jsonl`, an old one, a small one, and what is no session.
fn env() -> TestEnv {
    let env = TestEnv::sample();
    env.write("old.jsonl", VERSION_1);
    env.session("small.jsonl", "u:5 a:5");
    env.write("text.jsonl", "no session\n");
    env
}

/// Runs a command with `--json`, which must exit with `code`; returns its document.
fn document(arguments: &[&str], code: i32) -> Value {
    let output = env().run_with(arguments, &["--json"]);
    checked(&output, code, arguments)
}

/// Returns the document. Standard error has a word about every code but 0, warnings of damage aside.
fn checked(output: &Output, code: i32, arguments: &[&str]) -> Value {
    assert_eq!(output.code, Some(code), "{arguments:?}: {output}");
    let document = output.json();
    assert!(document.is_object(), "{arguments:?}: {output}");
    let mut said = output.stderr.lines();
    assert_eq!(
        said.all(|line| line.starts_with("warning ")),
        code == 0,
        "{arguments:?}: {output}"
    );
    let error = &document["error"];
    match code {
        0 => assert!(
            error.is_null() && document["nothing_to_do"].is_null(),
            "{output}"
        ),
        3 => assert!(
            error.is_null() && document["nothing_to_do"].is_string(),
            "{output}"
        ),
        _ => {
            assert_eq!(error["exit_code"], code, "{output}");
            let message = error["message"].as_str().unwrap_or_default();
            let stderr = output
                .stderr
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            assert!(!message.is_empty() && stderr.contains(message), "{output}");
        }
    }
    document
}

#[test]
fn done() {
    let compact = |strategy| {
        let compact = ["compact", "s.jsonl", "--in-place", "--strategy", strategy];
        [&compact[..], &SMALL].concat()
    };
    let plan = [&["plan", "s.jsonl"], &SMALL[..]].concat();
    let small = ["--set", "compaction.prune.minimumSavings=1"];
    let none = ["--set", "compaction.prune.protectTokens=0"];
    for arguments in [
        vec!["inspect", "s.jsonl"],
        vec!["inspect", "old.jsonl"],
        vec!["context", "s.jsonl"],
        vec!["context", "s.jsonl", "--llm"],
        vec!["tree", "s.jsonl"],
        plan,
        compact("extractive"),
        compact("context-full"),
        [
            &[
                "compact",
                "s.jsonl",
                "--in-place",
                "--strategy",
                "prune-only",
            ],
            &small[..],
            &none[..],
        ]
        .concat(),
        [&["compact", "s.jsonl", "--dry-run"], &SMALL[..]].concat(),
        [&["compact", "s.jsonl", "--out", "new.jsonl"], &SMALL[..]].concat(),
        vec!["branch", "s.jsonl", "--to", "e17", "--in-place"],
        vec![
            "branch",
            "s.jsonl",
            "--to",
            "e17",
            "--in-place",
            "--summarize",
        ],
        vec!["undo", "s.jsonl", "--any", "--in-place"],
        vec!["pin", "s.jsonl", "--text", "keep this", "--in-place"],
        vec!["pin", "s.jsonl", "e2", "--dry-run"],
        vec!["pin", "s.jsonl", "--list"],
        vec!["migrate", "old.jsonl", "--out", "new.jsonl"],
        vec!["doctor", "s.jsonl"],
        vec!["models"],
        vec!["sessions", "list", "--session-dir", "none"],
        vec!["sessions", "path", "--session-dir", "none"],
        vec!["gc", "--session-dir", "none"],
        vec!["models", "--provider", "ollama"],
        vec!["completions", "bash"],
    ] {
        document(&arguments, 0);
    }
}

#[test]
fn usage() {
    for arguments in [
        vec![],
        vec!["unknown"],
        vec!["inspect"],
        vec!["inspect", "s.jsonl", "--unknown"],
        vec!["inspect", "s.jsonl", "--window", "many"],
        vec!["inspect", "s.jsonl", "--window", "0"],
        vec!["context", "s.jsonl", "--leaf", "nope"],
        vec!["tree", "s.jsonl", "--leaf", "nope"],
        vec!["plan", "s.jsonl", "--strategy", "handoff"],
        vec!["compact", "s.jsonl"],
        vec!["compact", "s.jsonl", "--in-place", "--dry-run"],
        vec!["branch", "s.jsonl", "--to", "nope", "--in-place"],
        vec![
            "branch",
            "s.jsonl",
            "--to",
            "e17",
            "--in-place",
            "--budget",
            "-5",
        ],
        vec!["undo", "s.jsonl", "--any", "--out", "old.jsonl"],
        vec!["undo", "-", "--any", "--in-place"],
        vec!["redo", "s.jsonl", "--in-place", "--focus", "tests"],
        vec!["pin", "s.jsonl", "nope", "--in-place"],
        vec!["migrate", "old.jsonl", "--out", "s.jsonl"],
        vec!["doctor", "s.jsonl", "--set", "unknown=1"],
        vec!["models", "--provider", "unknown"],
        vec!["completions", "unknown"],
    ] {
        document(&arguments, 2);
    }
}

#[test]
fn nothing_to_do() {
    for arguments in [
        vec!["plan", "small.jsonl"],
        vec!["plan", "small.jsonl", "--strategy", "prune-only"],
        vec!["compact", "small.jsonl", "--in-place"],
        vec!["compact", "small.jsonl", "--dry-run"],
        vec!["compact", "small.jsonl", "--out", "new.jsonl"],
        vec!["undo", "small.jsonl", "--any", "--in-place"],
        vec!["redo", "small.jsonl", "--in-place"],
        vec![
            "redo",
            "small.jsonl",
            "--strategy",
            "extractive",
            "--in-place",
        ],
        vec!["pin", "small.jsonl", "--remove", "e1", "--in-place"],
        vec!["migrate", "small.jsonl", "--in-place"],
        vec!["models", "nothing-like-it"],
    ] {
        document(&arguments, 3);
    }
}

#[test]
fn sessions_that_cannot_be_used() {
    for arguments in [
        vec!["inspect", "text.jsonl"],
        vec!["context", "text.jsonl"],
        vec!["tree", "missing.jsonl"],
        vec!["plan", "missing.jsonl"],
        vec!["compact", "text.jsonl", "--in-place"],
        vec!["branch", "text.jsonl", "--to", "root", "--in-place"],
        vec!["undo", "text.jsonl", "--any", "--in-place"],
        vec!["redo", "text.jsonl", "--in-place"],
        vec!["pin", "text.jsonl", "--list"],
        vec!["migrate", "text.jsonl", "--in-place"],
        vec!["doctor", "text.jsonl"],
    ] {
        assert_eq!(document(&arguments, 4)["error"]["kind"], "session");
    }
}

#[test]
fn a_failure() {
    let document = document(&["undo", "s.jsonl", "--any", "--out", "new/s.jsonl"], 1);
    assert_eq!(document["error"]["kind"], "failure");
}

#[test]
fn diagnostics_are_in_the_document() {
    let env = env();
    let mut bytes = env.read("s.jsonl");
    bytes.extend_from_slice(b"{\"type\":\"mess");
    env.write("s.jsonl", bytes);
    for arguments in [
        vec!["inspect", "s.jsonl"],
        vec!["context", "s.jsonl"],
        vec!["tree", "s.jsonl"],
        [&["plan", "s.jsonl"], &SMALL[..]].concat(),
        [&["compact", "s.jsonl", "--dry-run"], &SMALL[..]].concat(),
        vec!["branch", "s.jsonl", "--to", "e17", "--dry-run"],
        vec!["undo", "s.jsonl", "--any", "--dry-run"],
        vec!["pin", "s.jsonl", "e2", "--dry-run"],
        vec!["pin", "s.jsonl", "--list"],
    ] {
        let output = env.run_with(&arguments, &["--json"]);
        let document = checked(&output, 0, &arguments);
        assert_torn(&document, &arguments);
    }
    let doctor = ["doctor", "s.jsonl"];
    let output = env.run_with(&doctor, &["--json"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert_torn(&output.json(), &doctor);
    for arguments in [
        vec!["plan", "s.jsonl"],
        vec!["undo", "s.jsonl", "--any", "--leaf", "e1", "--dry-run"],
    ] {
        let output = env.run_with(&arguments, &["--json"]);
        let document = checked(&output, 3, &arguments);
        assert_torn(&document, &arguments);
    }
}

fn assert_torn(document: &Value, arguments: &[&str]) {
    let said = document["diagnostics"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let torn = said.iter().any(|said| said["kind"] == "torn_tail");
    assert!(torn, "{arguments:?}: {:?}", document["diagnostics"]);
}

#[test]
fn help_is_for_people() {
    let output = env().run(&["--json", "--help"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stdout.contains("Usage: agent-cli"), "{output}");
}
