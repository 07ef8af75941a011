//! Our requests beside those captured from a real client: the same types in the same order, with the same keys.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{Block, Content, LlmMessage};

use crate::native::in_band_answer;
use crate::provider::{Answer, Request};
use crate::wire::responses::samples::{answer, call, openai, raw, result, thinking, tool, user};
use crate::wire::responses::{encode, encode_in_band, input};

const SHAPES: &str = include_str!("data/shapes.json");
const REASONING: &str =
    r#"{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"ENC"}"#;

fn shapes() -> Value {
    serde_json::from_str(SHAPES).expect("the shapes are JSON")
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().expect("a list of names");
    list.iter()
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

fn name(item: &Value) -> String {
    let kind = item["type"].as_str().expect("every item has a type");
    match item["role"].as_str() {
        Some(role) => format!("{kind}/{role}"),
        None => kind.to_owned(),
    }
}

fn keys(value: &Value) -> BTreeSet<String> {
    let members = value.as_object().expect("an object");
    members.keys().cloned().collect()
}

fn check(body: &RawJson, shape: &str) {
    let (body, shapes) = (body.to_value(), shapes());
    let items = body["input"].as_array().expect("input is a list");
    let order: Vec<String> = items.iter().map(name).collect();
    assert_eq!(order, texts(&shapes[shape]["order"]));
    let client_ids = texts(&shapes["ids_of_the_client"]);
    for item in items {
        let name = name(item);
        let mut expected: BTreeSet<String> = texts(&shapes["keys"][&name]).into_iter().collect();
        if client_ids.contains(&name) && item.get("id").is_none() {
            expected.remove("id"); // that client numbers its own items; a server does not need it
        }
        assert_eq!(keys(item), expected, "{name}");
    }
}

fn request() -> Request {
    let blocks = vec![
        thinking("", Some(REASONING)),
        call("call_1|fc_1", "exec_command", r#"{"cmd": "seq 1 30000"}"#),
    ];
    Request {
        messages: vec![
            LlmMessage::Developer(Content::Text("rules".to_owned())),
            user("first user message"),
            answer("openai", "gpt-5.5", blocks),
            result("call_1|fc_1", vec![Block::text("1")]),
        ],
        tools: vec![tool("exec_command")],
        cache_key: Some("key".to_owned()),
        ..Request::default()
    }
}

#[test]
fn a_turn_has_the_captured_shape() {
    let mut request = request();
    request.messages.push(user("summarize"));
    let body = encode(&request, &openai("gpt-5.5"));
    check(&body, "turn");
    let top = texts(&shapes()["turn"]["top"]).into_iter().collect();
    assert_eq!(keys(&body.to_value()), top);
}

#[test]
fn an_in_band_compaction_has_the_captured_shape() {
    let body = encode_in_band(&request(), &openai("gpt-5.5"));
    check(&body, "in_band");
}

#[test]
fn the_turn_after_an_in_band_compaction_has_the_captured_shape() {
    let target = openai("gpt-5.5");
    let item = json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "ENC" });
    let said = Answer {
        native: vec![raw(&item)],
        ..Answer::default()
    };
    let compacted = in_band_answer(&input(&request(), &target), &said, &target);
    let after = Request {
        native: Some(compacted.expect("one item").history),
        ..Request::default()
    };
    check(&encode(&after, &target), "after_in_band");
}
