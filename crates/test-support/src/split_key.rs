//! A model that says a key in pieces, and what can be read when pieces are put together again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::fault_server::FaultServer;
use crate::streams;

/// Returns a key in pieces: split in two behind each of its bytes, and split behind every byte. It must be ASCII.
pub fn splits(key: &str) -> Vec<Vec<&str>> {
    let in_two = (1..key.len()).map(|at| vec![&key[..at], &key[at..]]);
    let in_bytes = (0..key.len()).map(|at| &key[at..=at]).collect();
    in_two.chain([in_bytes]).collect()
}

/// Returns a server of Chat Completions whose model says the key in thinking, text and arguments, in pieces of every
/// length, and answers "Done." afterwards.
pub fn splitting_server(key: &str) -> FaultServer {
    let mut deltas = vec![json!({ "role": "assistant", "content": null })];
    for member in ["reasoning_content", "content"] {
        for pieces in splits(key) {
            let pieces = [&["<"], &*pieces, &["> "]].concat();
            deltas.extend(pieces.iter().map(|piece| json!({ member: piece })));
        }
    }
    for (index, pieces) in splits(key).iter().enumerate() {
        let call = |members: Value| json!({ "tool_calls": [members] });
        let id = format!("call_{index}");
        let function = json!({ "name": "read", "arguments": "{\"path\":\"no/" });
        deltas.push(call(
            json!({ "index": index, "id": id, "type": "function", "function": function }),
        ));
        deltas.extend(
            pieces
                .iter()
                .chain(&["\"}"])
                .map(|piece| call(json!({ "index": index, "function": { "arguments": piece } }))),
        );
    }
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice] }).to_string()
    };
    let mut events: Vec<String> = deltas
        .iter()
        .map(|delta| chunk(delta, Value::Null))
        .collect();
    events.extend([chunk(&json!({}), json!("tool_calls")), "[DONE]".to_owned()]);
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let first = streams::sse_reply(&events);
    FaultServer::start(move |nth, _| match nth {
        0 => first.clone(),
        _ => streams::chat_stream("Done."),
    })
}

/// Appends the strings of a document to those at the same path of earlier documents.
fn add(at: &str, value: &Value, texts: &mut BTreeMap<String, String>) {
    match value {
        Value::String(text) => texts.entry(at.to_owned()).or_default().push_str(text),
        Value::Array(items) => items.iter().for_each(|item| add(at, item, texts)),
        Value::Object(members) => {
            let kind = members
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            for (name, member) in members {
                add(&format!("{at} {kind}/{name}"), member, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a file or a stream of JSON lines, followed by the concatenated strings at each path of its lines, as a
/// reader could put them together; also those of a record's bodies.
pub fn concatenated(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut texts = BTreeMap::new();
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        add("", &value, &mut texts);
        let body = value["answer_body"].as_str().unwrap_or_default();
        let events = body
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok());
        events.for_each(|event: Value| add("event", &event, &mut texts));
    }
    texts
        .values()
        .fold(text.into_owned(), |all, text| all + "\n" + text)
}
