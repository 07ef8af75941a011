//! Any conversation, in every protocol, for every provider of the catalog: encoders never fail, and their output keeps
//! calls and results together.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use crate::endpoint::ProviderInfo;
use crate::native_history::NativeHistory;
use crate::request::{Reasoning, Request, ToolChoice};
use crate::wire::samples::{ABLE, any_conversation, request, tool};
use crate::wire::{ApiProtocol, ProviderCompat, Target, chat, gemini, messages, responses};

/// Returns every body that a request can become in a protocol.
fn bodies(request: &Request, target: &Target<'_>) -> Vec<Value> {
    let bodies = match target.wire {
        ApiProtocol::Responses => vec![
            responses::encode(request, target),
            responses::encode_in_band(request, target),
            responses::encode_compact(request, target),
        ],
        ApiProtocol::Chat => vec![chat::encode(request, target)],
        ApiProtocol::Messages => vec![
            messages::encode(request, target),
            messages::encode_compact(request, target),
        ],
        ApiProtocol::Gemini => vec![gemini::encode(request, target)],
        #[cfg(feature = "bedrock")]
        ApiProtocol::Converse => unreachable!("it has tests of its own"),
    };
    let parsed = bodies.iter().map(|body| serde_json::from_str(body.get()));
    parsed.map(|body| body.expect("a body is JSON")).collect()
}

/// Returns the ids of calls and of results, in document order.
fn ids(body: &Value, calls: &mut Vec<String>, results: &mut Vec<String>) {
    match body {
        Value::Array(list) => list.iter().for_each(|item| ids(item, calls, results)),
        Value::Object(members) => {
            let id = |key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
            match id("type").unwrap_or_default().as_str() {
                "function_call" => calls.extend(id("call_id")),
                "function" | "tool_use" => calls.extend(id("id")),
                "function_call_output" => results.extend(id("call_id")),
                "tool_result" => results.extend(id("tool_use_id")),
                _ => results.extend(id("tool_call_id")),
            }
            let part = |key: &str| {
                members
                    .get(key)
                    .and_then(|part| part["id"].as_str())
                    .map(str::to_owned)
            };
            calls.extend(part("functionCall"));
            results.extend(part("functionResponse"));
            let inner = [
                "input",
                "messages",
                "content",
                "tool_calls",
                "contents",
                "parts",
            ];
            let inner = inner.iter().filter_map(|key| members.get(*key));
            inner.for_each(|value| ids(value, calls, results));
        }
        _ => {}
    }
}

fn check(body: &Value, compat: &ProviderCompat, wire: ApiProtocol) -> Result<(), TestCaseError> {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    ids(body, &mut calls, &mut results);
    let once: BTreeSet<&String> = calls.iter().collect();
    prop_assert_eq!(once.len(), calls.len(), "an id is used twice");
    let answered: BTreeSet<&String> = results.iter().collect();
    prop_assert_eq!(answered.len(), results.len(), "a call is answered twice");
    prop_assert_eq!(once, answered);
    for id in &calls {
        let nine = compat.short_tool_ids && wire == ApiProtocol::Chat;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || (!nine && b"_-".contains(&byte));
        prop_assert!(id.bytes().all(plain), "{}", id);
        let lengths = if nine { 9..=9 } else { 1..=64 };
        prop_assert!(lengths.contains(&id.len()), "{}", id);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_conversation_can_be_sent_to_everybody(
        said in any_conversation(),
        choice in prop_oneof![Just(ToolChoice::Auto), Just(ToolChoice::None), Just(ToolChoice::Required)],
        reasoning in prop_oneof![Just(Reasoning::Off), Just(Reasoning::Default), Just(Reasoning::High)],
        able in any::<bool>(),
        most in proptest::option::of(any::<u64>()),
    ) {
        let mut request = request(said);
        request.tools = vec![tool()];
        request.tool_choice = choice;
        request.reasoning = reasoning;
        request.max_output = most;
        let capabilities = if able { ABLE } else { crate::Capabilities::default() };
        let providers = include_str!("../../../../llm-catalog/src/providers.json");
        let providers: Vec<ProviderInfo> = serde_json::from_str(providers).expect("providers");
        for provider in &providers {
            for wire in [ApiProtocol::Responses, ApiProtocol::Chat, ApiProtocol::Messages, ApiProtocol::Gemini] {
                let target = Target {
                    provider: "p",
                    model: "m",
                    wire,
                    compat: &provider.compat,
                    capabilities: &capabilities,
                    known: true,
                };
                for body in bodies(&request, &target) {
                    check(&body, &provider.compat, wire)?;
                }
            }
        }
    }
}

#[test]
fn a_dated_version_replays_what_its_alias_made() {
    let item = r#"{"type":"compaction","content":"So far.","encrypted_content":"ENC"}"#;
    let item = session_model::json::RawJson::parse(item).expect("JSON");
    let request = Request {
        native: Some(NativeHistory {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            replacement_history: vec![item.clone()],
            compaction_item: Some(item),
        }),
        ..request(Vec::new())
    };
    let compat = ProviderCompat::default();
    let target = Target {
        model: "m-20260101",
        ..crate::wire::samples::target(ApiProtocol::Messages, &compat)
    };
    assert!(messages::encode(&request, &target).get().contains("ENC"));
    assert!(messages::replays_compaction(&request, &target));
}
