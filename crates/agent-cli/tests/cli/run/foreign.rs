//! Sessions of other agents are continued with every protocol: the calls of before and new ones, each with its result.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::{FaultServer, Reply, streams};

use super::Runs;

macro_rules! session {
    ($name:literal) => {
        include_str!(concat!("../../../../session-import/tests/fixtures/", $name))
    };
}

/// Sessions with calls, each with a message of the user that the model must see and how many calls it sees.
const SESSIONS: [(&str, &str, usize); 3] = [
    (
        session!("claude-branches.jsonl"),
        "second request, other wording",
        3,
    ),
    (session!("codex-compaction.jsonl"), "SUMMARY-TEXT", 0),
    (session!("codex-fork-parent.jsonl"), "base question", 1),
];

type Call = fn(&str, &Value) -> Reply;
type Text = fn(&str) -> Reply;

const PROTOCOLS: [(&str, Call, Text); 4] = [
    (
        "responses",
        streams::responses_tool_call,
        streams::responses_stream,
    ),
    ("chat", streams::chat_tool_call, streams::chat_stream),
    (
        "messages",
        streams::messages_tool_call,
        streams::messages_stream,
    ),
    ("gemini", streams::gemini_tool_call, streams::gemini_stream),
];

/// Adds the ids of calls and of results in a body, of whichever protocol.
fn ids(body: &Value, calls: &mut Vec<String>, results: &mut Vec<String>) {
    match body {
        Value::Array(list) => list.iter().for_each(|item| ids(item, calls, results)),
        Value::Object(members) => {
            let id = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
            match body["type"].as_str().unwrap_or_default() {
                "function_call" => calls.extend(id(body, "call_id")),
                "function" | "tool_use" => calls.extend(id(body, "id")),
                "function_call_output" => results.extend(id(body, "call_id")),
                "tool_result" => results.extend(id(body, "tool_use_id")),
                _ => results.extend(id(body, "tool_call_id")),
            }
            calls.extend(id(&body["functionCall"], "id"));
            results.extend(id(&body["functionResponse"], "id"));
            members
                .values()
                .for_each(|value| ids(value, calls, results));
        }
        _ => {}
    }
}

#[test]
fn a_foreign_session_takes_three_rounds_of_calls_on_each_protocol() {
    for (session, words, before) in SESSIONS {
        for (protocol, call, text) in PROTOCOLS {
            let server = FaultServer::start(move |nth, _| match nth {
                0..3 => call("read", &json!({"path": "notes.txt"})),
                _ => text("All three were read."),
            });
            let runs = Runs::of("");
            runs.env.write("notes.txt", "a note\n");
            runs.env.write("foreign.jsonl", session);
            runs.output(&mut runs.bare(&["import", "foreign.jsonl", "--out", "own.jsonl"]));
            let mut command = runs.bare(&[
                "-p",
                "Read the notes",
                "--session",
                "own.jsonl",
                "--cwd",
                ".",
            ]);
            command
                .args(["--model", "test/alpha", "--wire", protocol])
                .args(["--window", "200000", "--base-url", &server.url()])
                .args(["--api-key-env", "TEST_KEY"])
                .env("TEST_KEY", "planted-0123456789");
            let output = runs.output(&mut command);
            assert!(
                output.stdout.contains("All three were read."),
                "{protocol}: {output}"
            );
            let received = server.received();
            assert_eq!(received.len(), 4, "{protocol}: {output}");
            for (round, received) in received.iter().enumerate() {
                let body = received.json();
                let (mut calls, mut results) = (Vec::new(), Vec::new());
                ids(&body, &mut calls, &mut results);
                assert_eq!(calls.len(), before + round, "{protocol}: {body}");
                let unique: BTreeSet<&String> = calls.iter().collect();
                assert_eq!(unique.len(), calls.len(), "{protocol}: {body}");
                assert_eq!(unique, results.iter().collect(), "{protocol}: {body}");
                assert!(body.to_string().contains(words), "{protocol}: {body}");
                let notes = body.to_string().matches("a note").count();
                assert_eq!(notes, round, "{protocol}: {body}");
            }
        }
    }
}
