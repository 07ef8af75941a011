//! The schemas of the tools, and how calls become arguments of the program.

use insta::assert_snapshot;
use rmcp::model::{JsonObject, object};
use serde_json::{Value, json};

use super::bounded;
use super::tools::{Offered, TOOLS};

fn line(tool: &str, call: Value) -> String {
    let tool = TOOLS.iter().find(|known| known.name == tool).unwrap();
    let call: JsonObject = object(call);
    match tool.command_line(&call, Some("s.jsonl")) {
        Ok(line) => line.join(" "),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn every_argument_of_a_tool_is_one_of_its_command() {
    for tool in TOOLS {
        let listed = serde_json::to_value(tool.listed()).unwrap();
        let properties = listed["inputSchema"]["properties"].as_object().unwrap();
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        for name in tool.argument_names() {
            assert!(names.contains(&name), "{}: {name}", tool.name);
        }
    }
}

#[test]
fn what_is_always_offered_takes_less_than_350_tokens_and_is_loaded_without_a_search() {
    let tools = TOOLS.iter().filter(|tool| tool.offered == Offered::Always);
    let tools: Vec<Value> = tools
        .map(|tool| serde_json::to_value(tool.listed()).unwrap())
        .collect();
    assert_eq!(tools.len(), 2);
    for tool in &tools {
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true);
    }
    // Four letters are counted as a token.
    let text = serde_json::to_string(&tools).unwrap();
    assert!(text.len() < 4 * 350, "{} characters: {text}", text.len());
}

#[test]
fn calls_become_arguments() {
    assert_snapshot!(line("recall", json!({ "queries": ["--flag x", "y"], "kind": "user" })), @"agent-cli recall --for-tools --kind=user --query=--flag x --query=y -- s.jsonl");
    assert_snapshot!(line("recall", json!({ "query": "x", "session": "ab" })), @"agent-cli recall --for-tools --query=x -- s.jsonl");
    assert_snapshot!(line("recall_read", json!({ "ids": ["a@3", "b..c"] })), @"agent-cli recall --for-tools --read=a@3 --read=b..c -- s.jsonl");
    assert_snapshot!(line("pin", json!({ "text": "--remove" })), @"agent-cli pin --in-place --by-model --text=--remove -- s.jsonl");
    assert_snapshot!(line("recall_read", json!({})), @"error: ids: is missing");
    assert_snapshot!(line("loss", json!({ "out": "x" })), @"error: out: loss has no such argument");
    assert_snapshot!(line("recall", json!({ "query": {} })), @"error: query: cannot be {}");
}

#[test]
fn answers_end_at_a_line_within_their_bound() {
    let text = "one line of text\n".repeat(10);
    assert_eq!(bounded(&text, 100), text);
    assert_snapshot!(bounded(&text, 10), @"
    one line of text
    one line of text
    ... 8 more lines; a larger max_tokens shows them
    ");
}

#[test]
fn errors_repeat_no_long_argument() {
    let long = "y".repeat(5000);
    let text = super::brief(&format!("no session is called {long}\u{1b}[2J; list them"));
    assert!(
        text.starts_with("no session is called yyy") && text.ends_with("; list them"),
        "{text}"
    );
    assert!(text.len() <= 280 && !text.contains('\u{1b}'), "{text}");
    assert_eq!(super::brief(&"z\n".repeat(5000)).lines().count(), 8);
}
