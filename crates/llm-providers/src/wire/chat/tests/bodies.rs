//! Request bodies: snapshots, and what holds for any conversation.

use proptest::prelude::*;
use serde_json::Value;
use session_model::Block;

use crate::capabilities::Capabilities;
use crate::request::{Reasoning, Request, ToolChoice};
use crate::wire::chat::encode;
use crate::wire::samples::{
    answer, any_conversation, call, instructed_conversation, lines, request, result, target,
    thinking, thinking_conversation, tool, tool_conversation, user,
};
use crate::wire::{ApiProtocol, MaxTokensField, ProviderCompat, ReasoningField, Target};

fn body(request: &Request, compat: &ProviderCompat) -> String {
    lines(&encode(request, &target(ApiProtocol::Chat, compat)))
}

fn mistral() -> ProviderCompat {
    ProviderCompat {
        alternating_roles: true,
        short_tool_ids: true,
        stream_usage: false,
        ..ProviderCompat::default()
    }
}

fn deepseek() -> ProviderCompat {
    ProviderCompat {
        replays_reasoning: true,
        ..ProviderCompat::default()
    }
}

fn openai() -> ProviderCompat {
    ProviderCompat {
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        developer_role: true,
        reasoning_field: ReasoningField::ReasoningEffort,
        openai_extras: true,
        ..ProviderCompat::default()
    }
}

fn openrouter() -> ProviderCompat {
    ProviderCompat {
        reasoning_field: ReasoningField::ReasoningObject,
        ..ProviderCompat::default()
    }
}

#[test]
fn a_plain_request_has_only_what_every_server_knows() {
    let compat = ProviderCompat::default();
    insta::assert_snapshot!("plain", body(&request(vec![user("hello")]), &compat));
    let mut silent = Request::for_prompt(" ", "hello");
    silent.tool_choice = ToolChoice::Required;
    silent.max_output = Some(u64::MAX);
    silent.cache_key = Some("key".to_owned());
    silent.reasoning = Reasoning::High;
    insta::assert_snapshot!("plain_without_system", body(&silent, &compat));
}

#[test]
fn results_stand_together_and_their_images_after_them() {
    let request = tool_conversation(ApiProtocol::Chat);
    insta::assert_snapshot!("tools", body(&request, &ProviderCompat::default()));
    let compat = ProviderCompat::default();
    let blind = Capabilities::default();
    let target = Target {
        capabilities: &blind,
        ..target(ApiProtocol::Chat, &compat)
    };
    insta::assert_snapshot!("tools_without_images", lines(&encode(&request, &target)));
}

#[test]
fn thinking_goes_back_only_where_it_is_wanted_and_from_where_it_came() {
    let request = thinking_conversation(ApiProtocol::Chat);
    insta::assert_snapshot!(
        "thinking_dropped",
        body(&request, &ProviderCompat::default())
    );
    insta::assert_snapshot!("thinking_deepseek", body(&request, &deepseek()));
}

#[test]
fn roles_alternate_where_they_must() {
    let tools = tool_conversation(ApiProtocol::Chat);
    insta::assert_snapshot!("mistral_tools", body(&tools, &mistral()));
    let instructed = instructed_conversation();
    insta::assert_snapshot!("mistral_instructions", body(&instructed, &mistral()));
    insta::assert_snapshot!(
        "instructions",
        body(&instructed, &ProviderCompat::default())
    );
}

#[test]
fn openai_and_openrouter_have_fields_of_their_own() {
    let mut request = instructed_conversation();
    request.tools = vec![tool()];
    request.tool_choice = ToolChoice::None;
    request.max_output = Some(1000);
    request.cache_key = Some("k".repeat(70));
    request.reasoning = Reasoning::Medium;
    insta::assert_snapshot!("openai", body(&request, &openai()));
    request.messages.truncate(1);
    request.reasoning = Reasoning::Off;
    request.tool_choice = ToolChoice::Required;
    insta::assert_snapshot!("openai_off", body(&request, &openai()));
    insta::assert_snapshot!("openrouter_off", body(&request, &openrouter()));
    request.reasoning = Reasoning::Default;
    insta::assert_snapshot!("openrouter_default", body(&request, &openrouter()));
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

fn check(messages: &[Value], compat: &ProviderCompat) -> Result<(), TestCaseError> {
    let mut open: Vec<&str> = Vec::new();
    let mut used: Vec<&str> = Vec::new();
    for message in messages {
        if role(message) == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let place = open.iter().position(|known| *known == id);
            prop_assert!(place.is_some(), "{id} answers no call");
            place.map(|place| open.remove(place));
            prop_assert_ne!(&message["content"], "");
            continue;
        }
        prop_assert!(open.is_empty(), "{open:?} not answered");
        let content = &message["content"];
        prop_assert!(content != "" && *content != Value::Array(Vec::new()));
        let calls = message["tool_calls"].as_array();
        if role(message) == "assistant" {
            prop_assert!(calls.is_some() || content.is_string());
        } else {
            prop_assert!(!content.is_null());
        }
        for call in calls.into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            let form = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            match compat.short_tool_ids {
                true => {
                    prop_assert!(id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()));
                }
                false => prop_assert!((1..=64).contains(&id.len()) && id.bytes().all(form)),
            }
            prop_assert!(!used.contains(&id), "{id} is used twice");
            used.push(id);
            open.push(id);
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
            prop_assert!(arguments.is_object());
        }
    }
    prop_assert!(open.is_empty());
    Ok(())
}

/// What the templates of such models check: without results and calls, user and assistant take turns.
fn check_alternation(messages: &[Value]) -> Result<(), TestCaseError> {
    let mut wanted = "user";
    for (at, message) in messages.iter().enumerate() {
        match role(message) {
            "system" => prop_assert_eq!(at, 0),
            "tool" => {}
            "assistant" if message["tool_calls"].is_array() => {}
            role => {
                prop_assert_eq!(role, wanted);
                wanted = if role == "user" { "assistant" } else { "user" };
            }
        }
        let pair = (role(message), messages.get(at + 1).map(role));
        prop_assert_ne!(pair, ("tool", Some("user")));
        prop_assert_ne!(pair, ("assistant", Some("assistant")));
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_result_answers_a_call_of_the_answer_before_it(messages in any_conversation()) {
        let request = request(messages);
        for compat in [ProviderCompat::default(), mistral(), deepseek(), openai()] {
            let body = encode(&request, &target(ApiProtocol::Chat, &compat));
            prop_assert_eq!(&body, &encode(&request, &target(ApiProtocol::Chat, &compat)));
            let body: Value = serde_json::from_str(body.get()).expect("JSON");
            let messages = body["messages"].as_array().expect("messages");
            check(messages, &compat)?;
            if compat.alternating_roles {
                check_alternation(messages)?;
            }
        }
    }
}

/// pi 0.87 keeps an encrypted detail of the message as the signature of the call with its id.
#[test]
fn metadata_goes_back_to_its_model_alone() {
    let compat = ProviderCompat::default();
    let detail = r#"{"type":"reasoning.encrypted","id":"c1","data":"ENC=="}"#;
    let signed = |wire| {
        let mut call = call("c1", "{}");
        if let Block::ToolCall(call) = &mut call {
            call.signature = Some(detail.to_owned());
        }
        let own = thinking("", Some(r#"{"extra_content":{"a":{"b":"S+/="}}}"#), true);
        request(vec![
            user("go"),
            answer(wire, vec![own, call]),
            result("c1", vec![], false),
        ])
    };
    let sent = |wire| encode(&signed(wire), &target(ApiProtocol::Chat, &compat)).to_value();
    let body = sent(Some(ApiProtocol::Chat));
    let message = &body["messages"][2];
    assert_eq!(
        message["reasoning_details"].to_string(),
        format!(
            "[{}]",
            r#"{"data":"ENC==","id":"c1","type":"reasoning.encrypted"}"#
        )
    );
    assert_eq!(message["extra_content"]["a"]["b"], "S+/=");
    assert!(message["tool_calls"][0]["data"].is_null());
    let elsewhere = sent(None).to_string();
    assert!(
        !elsewhere.contains("ENC") && !elsewhere.contains("S+/="),
        "{elsewhere}"
    );
}
