//! Request bodies.

use serde_json::{Value, json};
use session_model::Block;

use crate::capabilities::Capabilities;
use crate::request::{Reasoning, Request, ToolChoice};
use crate::wire::gemini::{encode, path};
use crate::wire::samples::{
    ABLE, answer, call, image, instructed_conversation, lines, request, result, target, thinking,
    thinking_conversation, tool, tool_conversation, user,
};
use crate::wire::{ApiProtocol, ProviderCompat, Target};

fn body(request: &Request) -> String {
    lines(&encode(
        request,
        &target(ApiProtocol::Gemini, &ProviderCompat::default()),
    ))
}

#[test]
fn bodies_have_the_protocols_fields() {
    insta::assert_snapshot!("tools", body(&tool_conversation(ApiProtocol::Gemini)));
    insta::assert_snapshot!(
        "thinking",
        body(&thinking_conversation(ApiProtocol::Gemini))
    );
    insta::assert_snapshot!("instructions", body(&instructed_conversation()));
    let mut plain = request(vec![user("hello")]);
    plain.tools = vec![tool()];
    plain.tool_choice = ToolChoice::Required;
    plain.max_output = Some(u64::MAX);
    insta::assert_snapshot!("plain", body(&plain));
}

#[test]
fn path_names_the_model_once() {
    let want = "/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
    assert_eq!(path("gemini-3.8-flash"), want);
    assert_eq!(path("models/gemini-3.8-flash"), want);
}

#[test]
fn images_of_results_follow_them_in_an_entry_of_their_own() {
    let request = request(vec![
        user("look"),
        answer(
            Some(ApiProtocol::Gemini),
            vec![call("a", "{}"), call("b", "{}")],
        ),
        result("a", vec![image()], false),
        result("b", vec![Block::text("no such file")], true),
    ]);
    let body = encode(
        &request,
        &target(ApiProtocol::Gemini, &ProviderCompat::default()),
    )
    .to_value();
    let results = body["contents"][2]["parts"].as_array().expect("results");
    let kinds = results
        .iter()
        .map(|part| part["functionResponse"].is_object());
    assert_eq!(kinds.collect::<Vec<_>>(), [true, true]);
    assert_eq!(
        results[1]["functionResponse"]["response"],
        json!({"error": "no such file"})
    );
    assert_eq!(
        body["contents"][3]["parts"][1]["inlineData"]["mimeType"],
        "image/png"
    );
}

/// Google: a call of another model goes with a placeholder; only the first of parallel calls has a signature.
#[test]
fn calls_of_another_model_have_the_documented_placeholder() {
    let request = request(vec![
        user("look"),
        answer(
            None,
            vec![
                thinking("hm", Some("FOREIGN"), false),
                call("a", "{}"),
                call("b", "{}"),
            ],
        ),
        result("a", vec![], false),
        result("b", vec![], false),
    ]);
    let compat = ProviderCompat::default();
    let sent = |can: &Capabilities, known| {
        let target = Target {
            capabilities: can,
            known,
            ..target(ApiProtocol::Gemini, &compat)
        };
        let body = encode(&request, &target).to_value();
        assert!(!body.to_string().contains("FOREIGN"));
        let parts = body["contents"][1]["parts"].as_array().cloned();
        let parts = parts.unwrap_or_default().into_iter();
        let calls = parts.filter(|part| part["functionCall"].is_object());
        calls
            .map(|part| part["thoughtSignature"].clone())
            .collect::<Vec<Value>>()
    };
    let by_level = Capabilities {
        adaptive_thinking: true,
        ..ABLE
    };
    let placeholder = json!("skip_thought_signature_validator");
    assert_eq!(sent(&by_level, true), [placeholder.clone(), Value::Null]);
    assert_eq!(
        sent(&Capabilities::default(), false),
        [placeholder, Value::Null]
    );
    assert_eq!(sent(&ABLE, true), [Value::Null, Value::Null]);
}

#[test]
fn levels_are_sent_as_the_model_takes_them() {
    let compat = ProviderCompat::default();
    let by_level = Capabilities {
        adaptive_thinking: true,
        ..ABLE
    };
    let sent = |reasoning, can: &Capabilities, known| {
        let asked = Request {
            reasoning,
            ..request(vec![user("hi")])
        };
        let target = Target {
            capabilities: can,
            known,
            ..target(ApiProtocol::Gemini, &compat)
        };
        encode(&asked, &target).to_value()["generationConfig"]["thinkingConfig"].clone()
    };
    let level = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
    assert_eq!(sent(Reasoning::Minimal, &by_level, true), level("MINIMAL"));
    assert_eq!(sent(Reasoning::High, &by_level, true), level("HIGH"));
    assert_eq!(sent(Reasoning::Off, &by_level, true), level("LOW"));
    assert_eq!(
        sent(Reasoning::Default, &by_level, true),
        json!({"includeThoughts": true})
    );
    let budget = json!({"includeThoughts": true, "thinkingBudget": 8192});
    assert_eq!(sent(Reasoning::Medium, &ABLE, true), budget);
    let unlisted = Capabilities::default();
    assert_eq!(sent(Reasoning::Low, &unlisted, false), level("LOW"));
    assert_eq!(sent(Reasoning::Default, &unlisted, false), Value::Null);
}
