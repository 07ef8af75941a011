//! Our requests compared with those captured from a real client: the same types in the same order, with the same keys.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{Block, Content, LlmMessage};

use crate::answer::Answer;
use crate::native::in_band_answer;
use crate::request::Request;
use crate::wire::responses::samples::{
    answer, call, image, openai, raw, result, signed, thinking, tool, user,
};
use crate::wire::responses::{encode, encode_compact, encode_in_band, input};

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

/// What we send and the captured client does not, each with its reason.
const OWN: &[(&str, &str)] = &[
    (
        "instructions",
        "a field that every server knows, so that compacted items never hold an old system prompt",
    ),
    ("max_output_tokens", "summaries are bounded"),
    (
        "message/assistant",
        "the captured turns hold no answer in words; id and phase are the service's own",
    ),
    (
        "message/assistant.annotations",
        "an output text without them is refused by servers that check the schema",
    ),
    (
        "message/user.input_image",
        "the captured turns hold no image; as the service documents it",
    ),
    (
        "function_call_output.input_image",
        "the same, for what a tool shows",
    ),
    (
        "function_call_output.input_text",
        "what a tool says beside an image",
    ),
];

/// What the captured client sends and we do not, each with its reason.
const NOT_OURS: &[(&str, &str)] = &[
    ("text", "how wordy an answer is stays the model's choice"),
    ("client_metadata", "who the client is concerns nobody"),
    (
        "internal_chat_message_metadata_passthrough",
        "a field of that client and its own service",
    ),
];

/// Returns the names of what is in a body: top-level fields, items, their keys, and parts.
fn parts_of(body: &Value) -> BTreeSet<String> {
    let mut names = keys(body);
    for item in body["input"].as_array().expect("input is a list") {
        let kind = name(item);
        names.insert(kind.clone());
        names.extend(keys(item).iter().map(|key| format!("{kind}.{key}")));
        for part in [&item["content"], &item["output"]] {
            for part in part.as_array().into_iter().flatten() {
                let own = part["type"].as_str().expect("every part has a type");
                names.insert(format!("{kind}.{own}"));
                names.extend(
                    part.get("annotations")
                        .map(|_| format!("{kind}.annotations")),
                );
            }
        }
    }
    names
}

fn captured() -> BTreeSet<String> {
    let shapes = shapes();
    let mut names: BTreeSet<String> = texts(&shapes["turn"]["top"]).into_iter().collect();
    for (item, keys) in shapes["keys"].as_object().expect("items and their keys") {
        names.insert(item.clone());
        names.extend(texts(keys).iter().map(|key| format!("{item}.{key}")));
    }
    // The parts of the messages that were captured.
    names.extend(["message/developer.input_text", "message/user.input_text"].map(str::to_owned));
    names
}

/// Returns a conversation with everything that this protocol can hold.
fn full() -> Request {
    let mut request = request();
    let shown = vec![Block::text("see"), image("image/png")];
    request.messages.extend([
        LlmMessage::User(Content::Blocks(shown.clone())),
        answer(
            "openai",
            "gpt-5.5",
            vec![
                signed("both", r#"{"v":1,"id":"msg_1","phase":"commentary"}"#),
                call("call_2|fc_2", "exec_command", "{}"),
                call("call_3|fc_3", "exec_command", "{}"),
            ],
        ),
        result("call_2|fc_2", shown),
        result("call_3|fc_3", vec![]),
        user("go on"),
    ]);
    request.system = "Be brief.".to_owned();
    request.max_output = Some(1000);
    request
}

#[test]
fn what_was_not_captured_is_on_the_list() {
    let target = openai("gpt-5.5");
    let captured = captured();
    let mut used = BTreeSet::new();
    for body in [
        encode(&full(), &target),
        encode_in_band(&full(), &target),
        encode_compact(&full(), &target),
        encode(&Request::for_prompt("summarize", "all of it"), &target),
    ] {
        for part in parts_of(&body.to_value()) {
            let own = OWN.iter().map(|(own, _)| *own);
            // An item on the list includes its keys as well.
            let item = part.split('.').next().unwrap_or_default();
            let listed: Vec<&str> = own.filter(|own| *own == part || *own == item).collect();
            assert!(captured.contains(&part) || !listed.is_empty(), "{part}");
            used.extend(listed);
        }
        for (never, _) in NOT_OURS {
            assert!(!body.get().contains(&format!("\"{never}\":{{")), "{never}");
        }
    }
    let listed: BTreeSet<&str> = OWN.iter().map(|(own, _)| *own).collect();
    assert_eq!(used, listed, "the list holds nothing that is not sent");
}

#[test]
fn items_stand_in_the_captured_order() {
    let target = openai("gpt-5.5");
    let body = encode_in_band(&full(), &target).to_value();
    let items = body["input"].as_array().expect("input is a list");
    let order: Vec<String> = items.iter().map(name).collect();
    let captured = texts(&shapes()["in_band"]["order"]);
    // The first turn is the captured one, and the trigger closes what follows it.
    let turn = captured.len() - 1;
    assert_eq!(order[..turn], captured[..turn]);
    assert_eq!(order.last(), captured.last());
    let answered = [
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ];
    assert_eq!(order[turn + 2..turn + 6], answered);
}
