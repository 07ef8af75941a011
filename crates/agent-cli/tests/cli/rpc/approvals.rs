//! Calls that have to be allowed, and what is said while tools run.
#![cfg(unix)]

use insta::assert_snapshot;
use serde_json::json;

use super::Client;
use crate::run::Runs;

/// Calls two commands, each in an answer of its own.
const CALLS: &str = r#"{"script":1,"name":"calls","window":16000}
{"answer":{"calls":[{"id":"one","name":"bash","arguments":{"command":"echo done > first"}}]}}
{"answer":{"calls":[{"id":"two","name":"bash","arguments":{"command":"echo done > second"}}]}}
{"answer":{"text":"That is all."}}
"#;

#[test]
fn a_command_runs_once_it_is_allowed_and_not_when_it_is_denied() {
    let runs = Runs::of(CALLS);
    let mut client = Client::start(&runs, &[]);
    client.call("prompt", json!({ "text": "go" }));
    let asked = client.event("approval_request");
    assert_eq!(
        (&asked["call_id"], &asked["subject"]),
        (&json!("one"), &json!("echo done > first"))
    );
    let state = client.call("get_state", json!({}));
    assert_eq!(state["state"], "tools");
    assert_eq!(state["approvals"][0]["call_id"], "one");
    assert!(!runs.env.path("first").exists());
    client.call("approve", json!({ "call_id": "one", "decision": "once" }));
    assert_eq!(client.event("approval_end")["decision"], "once");
    // The next one is asked about again, and what steers goes to the model behind it.
    client.event("approval_request");
    assert!(runs.env.path("first").exists());
    let steer = client.call("steer", json!({ "text": "not that" }));
    client.call("approve", json!({ "call_id": "two", "decision": "deny" }));
    let steered = client.wait(|line| line["type"] == "message" && line["text"] == "not that");
    assert_eq!(steered["entry_id"], steer["message_id"]);
    client.event("idle");
    assert!(!runs.env.path("second").exists());
    assert_snapshot!(client.refused("approve", json!({ "call_id": "two", "decision": "once" })), @"refused: no call two waits to be allowed");
    assert_eq!(client.call("get_state", json!({}))["approvals"], json!([]));
    assert_eq!(client.end().0, Some(0));
    assert_snapshot!(runs.said(&runs.session()), @r#"
    user: go
    assistant: bash({"command":"echo done > first"})
    toolResult: [no output]

    assistant: bash({"command":"echo done > second"})
    toolResult: the user does not allow this; do it another way, or ask what to do instead
    user: not that
    assistant: That is all.
    "#);
}

#[test]
fn a_question_ends_with_what_it_was_about() {
    let runs = Runs::of(CALLS);
    let mut client = Client::start(&runs, &[]);
    client.call("prompt", json!({ "text": "go" }));
    client.event("approval_request");
    client.call("abort", json!({}));
    assert_eq!(client.event("approval_end")["decision"], json!(null));
    assert_eq!(client.event("turn_end")["end"], "aborted");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn what_was_allowed_in_advance_is_not_asked_about() {
    let runs = Runs::of(CALLS);
    let mut client = Client::start(&runs, &["--allow", "bash"]);
    client.prompt("go");
    let (code, left, _) = client.end();
    assert_eq!(code, Some(0));
    assert!(left.iter().all(|line| line["type"] != "approval_request"));
    assert!(runs.env.path("second").exists());
}
