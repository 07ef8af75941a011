//! Sessions that a program drives, while their servers start.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Home, one};
use crate::runner::Test;
use crate::surroundings::{Marks, wait};

pub const TESTS: [Test; 1] = [(
    "while_servers_start_messages_are_kept_and_a_close_gives_the_servers_up",
    early,
)];

fn early() {
    let mut marks = Marks::new();
    let more = json!({ "args": ["--serve", "deaf", marks.port], "startTimeoutSeconds": 300 });
    let home = Home::new(&one("deaf", &more), "test__slow", &json!({}));
    let mut child = home
        .command(&["rpc", "--provider", "scripted:script.jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    assert_eq!(marks.blocking_next().as_deref(), Some("heard"));
    let mut input = child.stdin.take().expect("a pipe");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut lines = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
    let mut response = |request: Value| {
        writeln!(input, "{request}").expect("the program reads");
        let mut between = Vec::new();
        let response = loop {
            let line = lines.next().expect("a response");
            match line["type"] == "response" {
                true => break line,
                false => between.push(line),
            }
        };
        assert_eq!(response["success"], true, "{response}");
        (response["data"].clone(), between)
    };
    let (kept, _) = response(json!({ "type": "prompt", "text": "go" }));
    let (state, between) = response(json!({ "type": "get_state" }));
    assert_eq!(between, Vec::<Value>::new());
    assert_eq!(state["queue"][0]["id"], kept["message_id"]);
    let (_, between) = response(json!({ "type": "close" }));
    let server = between.iter().find(|event| event["type"] == "tool_server");
    let server = server.expect("the start of the server ends");
    assert_eq!(server["error"], "its start was cancelled");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    wait(marks.gone());
}
