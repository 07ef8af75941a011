//! The bodies, one line a field and one line an input item.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;
use session_model::{Block, Content, LlmMessage, RoleOrder, SystemMessage, pair_calls};

use crate::native::NativeHistory;
use crate::provider::{Reasoning, Request, ToolChoice};
use crate::wire::Target;
use crate::wire::responses::samples::{
    OPENAI, PLAIN, answer, call, image, lines, llama, openai, raw, result, signed, thinking, tool,
    user,
};
use crate::wire::responses::{encode, encode_compact, encode_in_band, orphans};

const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"ENC","status":"completed","new_field":1}"#;

fn request(messages: Vec<LlmMessage>) -> Request {
    Request {
        system: "be brief".to_owned(),
        messages,
        cache_key: Some("session-1".to_owned()),
        ..Request::default()
    }
}

fn check(request: &Request, target: &Target<'_>) -> String {
    let body = encode(request, target);
    assert_eq!(orphans(&body), Vec::<String>::new());
    lines(&body)
}

fn turn_with_reasoning() -> Vec<LlmMessage> {
    let blocks = vec![
        thinking("hm", Some(REASONING)),
        signed("looking", r#"{"v":1,"id":"msg_1","phase":"commentary"}"#),
        call("call_1|fc_1", "bash", r#"{"cmd": "ls"}"#),
    ];
    vec![
        user("list the files"),
        answer("openai", "gpt-5.5", blocks),
        result("call_1|fc_1", vec![Block::text("a.rs")]),
        answer("openai", "gpt-5.5", vec![signed("one file", "msg_2")]),
    ]
}

#[test]
fn a_plain_turn() {
    let mut request = request(vec![user("hello")]);
    request.max_output = Some(1_000);
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @"");
    assert_snapshot!(check(&request, &llama()), @"");
}

#[test]
fn tools_parallel_calls_results_and_images() {
    let calls = vec![
        call("call_1|fc_1", "read", r#"{"path":"a"}"#),
        call("call_2|fc_2", "read", "\"not { json\""),
        call("call_3", "shot", "null"),
    ];
    let mut request = request(vec![
        LlmMessage::User(Content::Blocks(vec![
            Block::text("see"),
            image("image/png"),
        ])),
        answer("openai", "gpt-5.5", calls),
        result("call_1|fc_1", vec![Block::text("one"), Block::text("two")]),
        result("call_2|fc_2", vec![]),
        result("call_3", vec![Block::text("shot"), image("image/jpeg")]),
    ]);
    request.tools = vec![tool("read"), tool("shot")];
    request.tool_choice = ToolChoice::Required;
    request.reasoning = Reasoning::High;
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @"");
    request.tool_choice = ToolChoice::None;
    assert_snapshot!(check(&request, &llama()), @"");
}

#[test]
fn reasoning_goes_back_to_its_model_only() {
    let request = request(turn_with_reasoning());
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @"");
    assert_snapshot!(check(&request, &openai("gpt-5-mini")), @"");
}

#[test]
fn reasoning_without_what_it_led_to_or_without_its_encrypted_form_is_told_as_text() {
    let bare = r#"{"type":"reasoning","id":"rs_2","summary":[]}"#;
    let request = request(vec![
        answer(
            "openai",
            "gpt-5.5",
            vec![thinking("cut off", Some(REASONING))],
        ),
        answer(
            "openai",
            "gpt-5.5",
            vec![thinking("bare", Some(bare)), signed("so", "msg_1")],
        ),
        answer(
            "openai",
            "gpt-5.5",
            vec![thinking("", None), signed("then", "msg_2")],
        ),
    ]);
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @"");
}

#[test]
fn an_item_id_is_sent_once() {
    let blocks = vec![signed("one", "msg_1"), signed("two", "msg_1")];
    let long = signed("three", &"m".repeat(65));
    let request = request(vec![
        answer("openai", "gpt-5.5", blocks),
        answer("openai", "gpt-5.5", vec![long]),
    ]);
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @"");
}

#[test]
fn empty_messages_give_no_items() {
    let empty = Content::Blocks(vec![Block::text("")]);
    let request = request(vec![
        LlmMessage::User(Content::Text(String::new())),
        LlmMessage::Developer(empty.clone()),
        LlmMessage::User(empty),
        answer(
            "openai",
            "gpt-5.5",
            vec![Block::text(""), thinking("", None)],
        ),
        LlmMessage::System(SystemMessage {
            content: Content::Text("rules".to_owned()),
            sections: vec![
                ("style".to_owned(), Some("short".to_owned())),
                ("old".to_owned(), None),
            ],
            tools_added: vec![],
            tools_removed: vec![],
            timestamp: None,
        }),
    ]);
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @"");
}

fn native() -> NativeHistory {
    let message = json!({ "type": "message", "id": "msg_0", "role": "user", "status": "completed",
        "content": [{ "type": "input_text", "text": "first" }], "passthrough": { "a": 1 } });
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let item = json!({ "type": "context_compaction", "id": "cmp_1", "encrypted_content": "ENC" });
    NativeHistory {
        provider: "openai".to_owned(),
        model: "gpt-5.5-2026-03-01".to_owned(),
        replacement_history: vec![raw(&message), raw(&search), raw(&item)],
        compaction_item: Some(raw(&item)),
    }
}

#[test]
fn a_native_history_is_replayed_to_its_model_family_only() {
    let mut request = request(vec![user("go on")]);
    request.native = Some(native());
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @"");
    assert_snapshot!(check(&request, &openai("gpt-5.5-codex")), @"");
    assert_snapshot!(check(&request, &llama()), @"");
}

#[test]
fn standalone_compaction() {
    let mut request = request(turn_with_reasoning());
    request.native = Some(native());
    request.tools = vec![tool("bash")];
    assert_snapshot!(lines(&encode_compact(&request, &openai("gpt-5.5"))), @"");
    assert_snapshot!(lines(&encode_compact(&request, &llama())), @"");
}

#[test]
fn in_band_compaction_is_the_live_turn_with_a_trigger() {
    let mut request = request(turn_with_reasoning());
    request.tools = vec![tool("bash")];
    let live = check(&request, &openai("gpt-5.5"));
    let compacting = lines(&encode_in_band(&request, &openai("gpt-5.5")));
    let trigger = "input[5] {\"type\":\"compaction_trigger\"}\n";
    assert_eq!(compacting.replace(trigger, ""), live);
    assert_snapshot!(compacting, @"");
}

#[test]
fn orphans_are_found() {
    let body = json!({ "input": [
        { "type": "function_call_output", "call_id": "a", "output": "" },
        { "type": "function_call", "call_id": "b" },
        { "type": "function_call", "call_id": "c" },
        { "type": "function_call_output", "call_id": "b", "output": "" },
    ] });
    assert_snapshot!(orphans(&raw(&body)).join("\n"), @"");
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        "[a-z]{0,3}".prop_map(Block::text),
        Just(image("image/png")),
        Just(thinking("hm", Some(REASONING))),
        "[a-z]{0,3}".prop_map(|text| thinking(&text, None)),
        "[ab]\\|?[12é]?".prop_map(|id| call(&id, "bash", "{}")),
        "[a-z]{0,2}".prop_map(|id| signed("text", &id)),
    ]
}

fn any_message() -> impl Strategy<Value = LlmMessage> {
    let blocks = || proptest::collection::vec(any_block(), 0..5);
    prop_oneof![
        blocks().prop_map(|blocks| LlmMessage::User(Content::Blocks(blocks))),
        blocks().prop_map(|blocks| LlmMessage::Developer(Content::Blocks(blocks))),
        blocks().prop_map(|blocks| answer("openai", "gpt-5.5", blocks)),
        blocks().prop_map(|blocks| answer("other", "else", blocks)),
        ("[ab]\\|?[12é]?", blocks()).prop_map(|(id, blocks)| result(&id, blocks)),
    ]
}

proptest! {
    #[test]
    fn every_output_answers_a_call(messages in proptest::collection::vec(any_message(), 0..12)) {
        let (messages, _) = pair_calls(messages, RoleOrder::Any);
        let request = request(messages);
        let plain = Target { quirks: &OPENAI, capabilities: &PLAIN, ..openai("gpt-5.5") };
        for target in [openai("gpt-5.5"), openai("gpt-4.1"), llama(), plain] {
            for body in [encode(&request, &target), encode_in_band(&request, &target)] {
                prop_assert_eq!(orphans(&body), Vec::<String>::new());
            }
            prop_assert_eq!(encode(&request, &target), encode(&request, &target));
        }
    }
}
