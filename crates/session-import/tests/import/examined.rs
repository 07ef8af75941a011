//! Damage of other agents' sessions: found with its line and effect, and gone from a repaired copy.

use insta::assert_snapshot;
use serde_json::json;
use session_import::{Examined, Input, detect, examine};

use crate::support::Fixture;

fn examined(bytes: &[u8]) -> Examined {
    let format = detect(bytes).expect("a known format");
    examine(format, &Input::of_bytes(bytes.to_vec())).expect("it is read")
}

fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let input = Input::of_bytes(bytes.to_vec());
    let examined = examined(bytes);
    examined.repair(&input, &mut out).expect("it is repaired");
    out
}

/// Returns what is found, then what is found in the repaired copy.
fn check(bytes: &[u8]) -> String {
    let list = |bytes: &[u8]| {
        let found = examined(bytes).diagnostics.into_iter();
        let lines = found.map(|found| format!("{:?} {found}\n", found.severity));
        lines.collect::<String>()
    };
    let copy = repaired(bytes);
    assert!(repaired(&copy) == copy, "a repaired copy is repaired again");
    format!("{}repaired:\n{}", list(bytes), list(&copy))
}

fn lines(records: &[serde_json::Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn claude(
    uuid: &str,
    parent: Option<&str>,
    kind: &str,
    content: &serde_json::Value,
) -> serde_json::Value {
    json!({
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/w",
        "timestamp": "2026-01-01T00:00:00.000Z", "message": { "role": kind, "content": content },
    })
}

#[test]
fn sessions_without_damage_have_none() {
    for name in [
        "claude-compaction.jsonl",
        "codex-compaction.jsonl",
        "codex-fork-parent.jsonl",
        "qwen-compression.jsonl",
        "gemini-document.json",
        "gemini-journal.jsonl",
        "opencode-export.json",
    ] {
        let bytes = Fixture::named(name).bytes;
        let found = examined(&bytes).diagnostics;
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn damage_of_claude_code() {
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Read", "input": {} }]);
    let orphan = json!([{ "type": "tool_result", "tool_use_id": "t9", "content": "lost" }]);
    let image = "x".repeat(6 * 1024 * 1024);
    let image = json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": image } }]);
    let text = lines(&[
        claude("u1", None, "user", &json!("first")),
        claude("a1", Some("u1"), "assistant", &call),
        claude(
            "u2",
            Some("a1"),
            "user",
            &json!("went on without the result"),
        ),
        claude(
            "u2",
            Some("a1"),
            "user",
            &json!("went on without the result"),
        ),
        claude("u3", Some("u2"), "user", &orphan),
        claude("u4", Some("gone"), "user", &json!("no parent")),
        claude("u5", Some("u4"), "user", &image),
    ]);
    assert_snapshot!(check(format!("{text}{{\"type\":\"user\",\"uuid\":\"u6").as_bytes()), @"
    Warning line 2: a call without a result (t1); a service refuses a request that has one without the other, unless the agent fills it in
    Note line 4: a second record with the same uuid; the file grows with each compaction, and tools that sum it up count it twice
    Warning line 5: a result without its call (t9); a service refuses a request that has one without the other, unless the agent fills it in
    Warning line 6: its parent gone is not in the file; when the agent resumes, the conversation begins here
    Error line 7: an image of 6291456 characters of base64, 5242880 is the most; the service refuses every request that has it
    Error line 8: the last line is cut off; agents leave it out, and what is appended next would join it
    repaired:
    ");
    let copy = repaired(text.as_bytes());
    let copy = String::from_utf8(copy).expect("text");
    // What followed the call follows its result.
    let result: serde_json::Value =
        serde_json::from_str(copy.lines().nth(2).expect("a line")).expect("JSON");
    let next: serde_json::Value =
        serde_json::from_str(copy.lines().nth(3).expect("a line")).expect("JSON");
    assert_eq!(result["message"]["content"][0]["tool_use_id"], "t1");
    assert_eq!(result["parentUuid"], "a1");
    assert_eq!(next["parentUuid"], result["uuid"]);
}

#[test]
fn damage_of_codex() {
    let item = |item: serde_json::Value| json!({ "timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": item });
    let text = lines(&[
        json!({ "timestamp": "2026-01-01T00:00:00.000Z", "type": "turn_context", "payload": { "cwd": "/w", "model": "m" } }),
        item(
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" }] }),
        ),
        item(json!({ "type": "function_call", "name": "x", "arguments": "{}", "call_id": "c1" })),
        item(json!({ "type": "function_call_output", "call_id": "c9", "output": "lost" })),
    ]);
    let damaged = text.replacen('\n', "\n{\"type\":\n", 1);
    assert_snapshot!(check(damaged.as_bytes()), @"
    Error line 1: the session does not begin with session_meta; Codex does not open it
    Error line 2: not readable as a JSON object; agents leave it out, and what it said is lost to them
    Warning line 4: a call without an output; Codex tells the model that it was aborted
    Warning line 5: an output without its call; Codex leaves it out when it resumes
    repaired:
    ");
}

#[test]
fn damage_of_qwen_code_and_documents() {
    let bytes = Fixture::named("qwen-compression.jsonl").bytes;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let is_result = |line: &&&[u8]| line.windows(18).any(|part| part == b"\"functionResponse\"");
    let result = lines.iter().find(is_result).expect("a result");
    let without: Vec<&[u8]> = lines
        .iter()
        .filter(|line| *line != result)
        .copied()
        .collect();
    let found = check(&without.concat());
    assert!(found.contains("a call without a result"), "{found}");
    assert!(found.ends_with("repaired:\n"), "{found}");
    let bytes = Fixture::named("opencode-export.json").bytes;
    assert_snapshot!(check(&bytes[..bytes.len() * 2 / 3]), @"
    Error line 477: the document is cut off or damaged; the agent does not open it
    repaired:
    ");
}

#[test]
fn records_of_qwen_code_that_are_written_twice_are_left_out_once() {
    let bytes = Fixture::named("qwen-compression.jsonl").bytes;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let is_user = |line: &&[u8]| line.windows(13).any(|part| part == b"\"type\":\"user\"");
    let place = lines.iter().position(is_user).expect("a prompt");
    let repeated = [&lines[..=place], &lines[place..]].concat().concat();
    let found = check(&repeated);
    assert!(
        found.contains("a second record with the same uuid and content"),
        "{found}"
    );
    assert!(repaired(&repeated) == bytes);
}

#[test]
fn calls_and_messages_of_opencode_are_ended_and_told_once() {
    let bytes = Fixture::named("opencode-export.json").bytes;
    let mut document: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let messages = document["messages"].as_array_mut().expect("messages");
    let parts = messages.iter_mut();
    let parts = parts.flat_map(|message| message["parts"].as_array_mut().expect("parts"));
    let mut calls = parts.filter(|part| part["type"] == "tool");
    let state = &mut calls.next().expect("a call")["state"];
    *state = json!({ "status": "running", "input": { "path": "a" }, "time": { "start": 7 } });
    messages.push(messages[0].clone());
    let text = serde_json::to_string_pretty(&document).expect("text");
    assert_snapshot!(check(text.as_bytes()), @"
    Warning line 81: a call without a result (call_2); opencode tells the model that it was interrupted
    Warning line 694: a second message with the same id; opencode takes one of them
    repaired:
    ");
    let copy: serde_json::Value = serde_json::from_slice(&repaired(text.as_bytes())).expect("JSON");
    document["messages"].as_array_mut().map(Vec::pop);
    let copied = copy["messages"].as_array().map(Vec::len);
    assert_eq!(copied, document["messages"].as_array().map(Vec::len));
    assert!(copy.to_string().contains("the call was interrupted"));
}
