//! Request bodies: snapshots, and what holds for any conversation.

use proptest::prelude::*;
use serde_json::Value;
use session_model::json::RawJson;
use session_model::{Block, RoleOrder, pair_calls};

use crate::capabilities::Capabilities;
use crate::native_history::NativeHistory;
use crate::request::{Reasoning, Request, ToolChoice};
use crate::wire::messages::{encode, encode_compact, replays_compaction};
use crate::wire::samples::{
    answer, any_conversation, call, instructed_conversation, lines, request, result, target,
    thinking, thinking_conversation, tool, tool_conversation, user,
};
use crate::wire::{ApiProtocol, ProviderCompat, Target};

fn plain() -> ProviderCompat {
    ProviderCompat::default()
}

fn marks() -> ProviderCompat {
    ProviderCompat {
        cache_control: crate::wire::CacheControlModels::Always,
        ..ProviderCompat::default()
    }
}

fn body(request: &Request, compat: &ProviderCompat) -> String {
    lines(&encode(request, &target(ApiProtocol::Messages, compat)))
}

fn blind(request: &Request) -> String {
    let capabilities = Capabilities::default();
    let compat = plain();
    let target = Target {
        capabilities: &capabilities,
        ..target(ApiProtocol::Messages, &compat)
    };
    lines(&encode(request, &target))
}

#[test]
fn a_plain_request_has_only_what_the_wire_demands() {
    insta::assert_snapshot!("plain", body(&request(vec![user("hello")]), &plain()));
    insta::assert_snapshot!("plain_unknown_model", blind(&request(vec![user("hello")])));
    insta::assert_snapshot!("empty", body(&Request::default(), &marks()));
}

#[test]
fn results_stand_first_in_the_turn_after_their_calls() {
    let request = tool_conversation(ApiProtocol::Messages);
    insta::assert_snapshot!("tools", body(&request, &plain()));
    insta::assert_snapshot!("tools_marked", body(&request, &marks()));
    insta::assert_snapshot!("tools_without_images", blind(&request));
}

#[test]
fn signed_thinking_goes_back_only_to_where_it_came_from() {
    let request = thinking_conversation(ApiProtocol::Messages);
    insta::assert_snapshot!("thinking", body(&request, &marks()));
}

#[test]
fn instructions_are_told_in_their_place() {
    insta::assert_snapshot!("instructions", body(&instructed_conversation(), &marks()));
}

#[test]
fn thinking_is_asked_for_where_the_service_takes_it() {
    let budget = |change: &dyn Fn(&mut Request)| {
        let mut request = request(vec![user("hello")]);
        request.tools = vec![tool()];
        request.reasoning = Reasoning::High;
        change(&mut request);
        let body = encode(&request, &target(ApiProtocol::Messages, &plain())).to_value();
        body["thinking"]["budget_tokens"].as_u64()
    };
    assert_eq!(budget(&|_| {}), Some(16_000));
    assert_eq!(budget(&|r| r.reasoning = Reasoning::Low), Some(2048));
    assert_eq!(budget(&|r| r.reasoning = Reasoning::Medium), Some(8192));
    assert_eq!(budget(&|r| r.reasoning = Reasoning::Off), None);
    assert_eq!(budget(&|r| r.reasoning = Reasoning::Default), None);
    assert_eq!(budget(&|r| r.max_output = Some(1025)), Some(1024));
    assert_eq!(budget(&|r| r.max_output = Some(1024)), None);
    assert_eq!(budget(&|r| r.tool_choice = ToolChoice::Required), None);
    let in_calls = |blocks: Vec<Block>| {
        budget(&|r| {
            r.messages
                .push(answer(Some(ApiProtocol::Messages), blocks.clone()));
            r.messages.push(result("c", vec![Block::text("r")], false));
        })
    };
    assert_eq!(in_calls(vec![call("c", "{}")]), None);
    let thought = thinking("t", Some("s"), false);
    assert_eq!(in_calls(vec![thought, call("c", "{}")]), Some(16_000));
}

fn compacted(model: &str) -> Request {
    let item =
        r#"{"type":"compaction","content":"Summary.","encrypted_content":"opaque","later":1}"#;
    let items = [item, r#"{"type":"message","role":"user"}"#];
    let items = items.map(|item| RawJson::parse(item).expect("JSON"));
    let mut request = tool_conversation(ApiProtocol::Messages);
    request.messages.drain(..7);
    request.native = Some(NativeHistory {
        provider: "p".to_owned(),
        model: model.to_owned(),
        compaction_item: Some(items[0].clone()),
        replacement_history: items.to_vec(),
    });
    request
}

#[test]
fn compaction_is_asked_for_and_replayed_verbatim() {
    let request = compacted("m");
    let compat = marks();
    let target = target(ApiProtocol::Messages, &compat);
    assert!(replays_compaction(&request, &target));
    insta::assert_snapshot!("compact", lines(&encode_compact(&request, &target)));
    let foreign = compacted("other");
    assert!(!replays_compaction(&foreign, &target));
    insta::assert_snapshot!("compact_foreign", lines(&encode(&foreign, &target)));
}

#[test]
fn a_compaction_request_begins_like_a_turn() {
    let request = tool_conversation(ApiProtocol::Messages);
    let compat = marks();
    let target = target(ApiProtocol::Messages, &compat);
    let turn = encode(&request, &target);
    let compact = encode_compact(&request, &target);
    let shared = turn.get().trim_end_matches('}');
    assert!(compact.get().starts_with(shared));
}

fn check(messages: &[Value]) -> Result<(), TestCaseError> {
    let mut wanted = "user";
    let mut open: Vec<&str> = Vec::new();
    let mut used: Vec<&str> = Vec::new();
    for message in messages {
        prop_assert_eq!(&message["role"], wanted);
        wanted = if wanted == "user" {
            "assistant"
        } else {
            "user"
        };
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        prop_assert!(!blocks.is_empty());
        let mut results_over = false;
        for block in blocks {
            match block["type"].as_str().unwrap_or_default() {
                "text" => {
                    let text = block["text"].as_str().unwrap_or_default();
                    prop_assert!(!text.trim().is_empty());
                    results_over = true;
                }
                "image" => results_over = true,
                "tool_result" => {
                    prop_assert!(!results_over, "a result after something else");
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    let place = open.iter().position(|known| *known == id);
                    prop_assert!(place.is_some(), "{id} answers no call");
                    place.map(|place| open.remove(place));
                    let parts = block["content"].as_array().map_or(0, Vec::len);
                    prop_assert!(parts > 0);
                }
                "thinking" => prop_assert_eq!(&block["signature"], "sig"),
                "redacted_thinking" => prop_assert_eq!(&block["data"], "sig"),
                "tool_use" => {}
                other => prop_assert!(false, "unexpected {other}"),
            }
        }
        prop_assert!(open.is_empty(), "{open:?} not answered in the next message");
        for call in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let id = call["id"].as_str().unwrap_or_default();
            let form = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            prop_assert!((1..=64).contains(&id.len()) && id.bytes().all(form));
            prop_assert!(!used.contains(&id), "{id} is used twice");
            prop_assert!(call["input"].is_object());
            used.push(id);
            open.push(id);
        }
    }
    prop_assert!(open.is_empty());
    Ok(())
}

proptest! {
    #[test]
    fn roles_alternate_and_every_call_is_answered_in_the_next_turn(messages in any_conversation()) {
        let mut request = request(messages);
        request.tools = vec![tool()];
        let compat = marks();
    let target = target(ApiProtocol::Messages, &compat);
        let body = encode(&request, &target);
        prop_assert_eq!(&body, &encode(&request, &target));
        let marks = body.get().matches("\"cache_control\"").count();
        prop_assert!((3..=4).contains(&marks), "{} marks", marks);
        let value: Value = serde_json::from_str(body.get()).expect("JSON");
        check(value["messages"].as_array().expect("messages"))?;
        let (merged, _) = pair_calls(request.messages.clone(), RoleOrder::Alternating);
        request.messages = merged;
        let value = encode(&request, &target).to_value();
        check(value["messages"].as_array().expect("messages"))?;
    }
}
