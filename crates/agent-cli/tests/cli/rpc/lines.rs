//! Lines that are no requests: each gets one response, and the session goes on.

use serde_json::{Value, json};

use super::{Client, error};
use crate::run::{Runs, TWICE};

/// Sends a line and returns the error that it gets.
fn said_to(client: &mut Client, line: &[u8]) -> String {
    client.send_bytes(line);
    client.send_bytes(b"\n");
    let response = client.wait(|line| line["type"] == "response");
    assert_eq!(response["success"], false, "{response}");
    error(&response)
}

#[test]
fn bad_lines_are_answered_and_the_session_goes_on() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    let bad: [&[u8]; 7] = [
        b"{",
        b"null",
        b"\xff\xfe",
        b"{}",
        b"{\"type\":\"nothing\"}",
        b"{\"type\":\"prompt\",\"text\":[]}",
        b"{\"type\":\"undo\",\"really\":true}",
    ];
    let said: Vec<String> = bad.iter().map(|line| said_to(&mut client, line)).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    malformed: line 1: this is not JSON: EOF while parsing an object at column 1
    malformed: line 2: a request is a JSON object, such as {"type":"get_state"}
    malformed: line 3: byte 1 is not UTF-8; a request is a JSON object in one line
    invalid (type): line 4: it is missing; name the command, such as get_state
    invalid (type): line 5: unknown command `nothing`, expected one of `prompt`, `steer`, `follow_up`, `take_back`, `resume`, `abort`, `compact`, `review_compaction`, `abort_compaction`, `set_auto_compaction`, `set_model`, `get_state`, `get_context`, `get_plan`, `get_tree`, `navigate_tree`, `fork`, `undo`, `redo`, `pin`, `unpin`, `pins`, `approve`, `subscribe`, `handoff`, `label`, `close`
    invalid (text): line 6: invalid type: sequence, expected a string
    invalid (really): line 7: unknown field `really`, expected `any`
    "#);
    client.send_bytes(b"\n \r\n");
    client.prompt("hi");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn a_line_that_is_too_long_is_refused_and_one_that_is_not_is_taken() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &["--no-session"]);
    let long = format!(
        "{{\"type\":\"prompt\",\"text\":\"{}\"}}",
        "x".repeat(10_000_000)
    );
    insta::assert_snapshot!(said_to(&mut client, long.as_bytes()), @"malformed: line 1: it is longer than 10 MB; put the text into a file and name it");
    let text = "x".repeat(1_000_000);
    let id = client.send("follow_up", json!({ "text": text }));
    let queued = client.event("queued");
    assert_eq!(queued["text"], Value::from(text));
    assert_eq!(client.response(id)["data"]["message_id"], queued["id"]);
    assert_eq!(client.end().0, Some(0));
}
