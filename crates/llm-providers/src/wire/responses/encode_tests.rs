//! The bodies, one line a field and one line an input item.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;
use session_model::{Block, Content, LlmMessage, RoleOrder, SystemMessage, pair_calls};

use crate::native_history::NativeHistory;
use crate::request::{Reasoning, Request, ToolChoice};
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
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}
    reasoning: {"summary":"auto"}
    max_output_tokens: 1000
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
    assert_snapshot!(check(&request, &llama()), @r#"
    model: "local"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}
    max_output_tokens: 1000
    stream: true
    "#);
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
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"}]}
    input[1] {"type":"function_call","id":"fc_1","name":"read","arguments":"{\"path\":\"a\"}","call_id":"call_1"}
    input[2] {"type":"function_call","id":"fc_2","name":"read","arguments":"{\"arguments\":\"not { json\"}","call_id":"call_2"}
    input[3] {"type":"function_call","name":"shot","arguments":"{}","call_id":"call_3"}
    input[4] {"type":"function_call_output","call_id":"call_1","output":"one\ntwo"}
    input[5] {"type":"function_call_output","call_id":"call_2","output":""}
    input[6] {"type":"function_call_output","call_id":"call_3","output":[{"type":"input_text","text":"shot"},{"type":"input_image","detail":"auto","image_url":"data:image/jpeg;base64,AAAA"}]}
    tools: [{"type":"function","name":"read","description":"runs read","parameters":{"type":"object"},"strict":false},{"type":"function","name":"shot","description":"runs shot","parameters":{"type":"object"},"strict":false}]
    tool_choice: "required"
    parallel_tool_calls: true
    reasoning: {"effort":"high","summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
    request.tool_choice = ToolChoice::None;
    assert_snapshot!(check(&request, &llama()), @r#"
    model: "local"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_text","text":"[image left out: image/png]"}]}
    input[1] {"type":"function_call","name":"read","arguments":"{\"path\":\"a\"}","call_id":"call_1"}
    input[2] {"type":"function_call","name":"read","arguments":"{\"arguments\":\"not { json\"}","call_id":"call_2"}
    input[3] {"type":"function_call","name":"shot","arguments":"{}","call_id":"call_3"}
    input[4] {"type":"function_call_output","call_id":"call_1","output":"one\ntwo"}
    input[5] {"type":"function_call_output","call_id":"call_2","output":""}
    input[6] {"type":"function_call_output","call_id":"call_3","output":"shot\n[image left out: image/jpeg]"}
    tools: [{"type":"function","name":"read","description":"runs read","parameters":{"type":"object"},"strict":false},{"type":"function","name":"shot","description":"runs shot","parameters":{"type":"object"},"strict":false}]
    tool_choice: "none"
    parallel_tool_calls: true
    stream: true
    "#);
}

#[test]
fn reasoning_goes_back_to_its_model_only() {
    let request = request(turn_with_reasoning());
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"list the files"}]}
    input[1] {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"ENC","new_field":1}
    input[2] {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"looking","annotations":[]}],"phase":"commentary"}
    input[3] {"type":"function_call","id":"fc_1","name":"bash","arguments":"{\"cmd\": \"ls\"}","call_id":"call_1"}
    input[4] {"type":"function_call_output","call_id":"call_1","output":"a.rs"}
    input[5] {"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"one file","annotations":[]}]}
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
    assert_snapshot!(check(&request, &openai("gpt-5-mini")), @r#"
    model: "gpt-5-mini"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"list the files"}]}
    input[1] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"hm","annotations":[]}]}
    input[2] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"looking","annotations":[]}]}
    input[3] {"type":"function_call","name":"bash","arguments":"{\"cmd\": \"ls\"}","call_id":"call_1"}
    input[4] {"type":"function_call_output","call_id":"call_1","output":"a.rs"}
    input[5] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"one file","annotations":[]}]}
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
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
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"cut off","annotations":[]}]}
    input[1] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"bare","annotations":[]}]}
    input[2] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"so","annotations":[]}]}
    input[3] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"then","annotations":[]}]}
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
}

#[test]
fn an_item_id_is_sent_once() {
    let blocks = vec![signed("one", "msg_1"), signed("two", "msg_1")];
    let long = signed("three", &"m".repeat(65));
    let request = request(vec![
        answer("openai", "gpt-5.5", blocks),
        answer("openai", "gpt-5.5", vec![long]),
    ]);
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"one","annotations":[]}]}
    input[1] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"two","annotations":[]}]}
    input[2] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"three","annotations":[]}]}
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
}

#[test]
fn what_is_too_large_is_cut_to_what_the_service_takes() {
    let request = Request {
        max_output: Some(u64::MAX),
        cache_key: Some("k".repeat(70)),
        ..request(vec![user("hello")])
    };
    let body = encode(&request, &openai("gpt-5.5")).to_value();
    assert_eq!(body["max_output_tokens"], 128_000);
    assert_eq!(body["prompt_cache_key"], "k".repeat(64));
}

#[test]
fn an_id_that_comes_again_and_a_call_without_a_name_are_mended() {
    let nameless = || answer("openai", "gpt-5.5", vec![call("call_1", "", "{}")]);
    let output = || result("call_1", vec![Block::text("r")]);
    let request = request(vec![nameless(), output(), nameless(), output()]);
    let body = encode(&request, &openai("gpt-5.5")).to_value();
    let id = |at: usize| body["input"][at]["call_id"].clone();
    assert_eq!(body["input"][0]["name"], "unknown");
    assert_eq!((id(0), id(2)), (id(1), id(3)));
    assert_ne!(id(0), id(2));
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
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"type":"message","role":"developer","content":[{"type":"input_text","text":"rules\n\nshort"}]}
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
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
    assert_snapshot!(check(&request, &openai("gpt-5.5")), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"content":[{"text":"first","type":"input_text"}],"id":"msg_0","passthrough":{"a":1},"role":"user","type":"message"}
    input[1] {"id":"ws_1","status":"completed","type":"web_search_call"}
    input[2] {"encrypted_content":"ENC","id":"cmp_1","type":"compaction"}
    input[3] {"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
    assert_snapshot!(check(&request, &openai("gpt-5.5-codex")), @r#"
    model: "gpt-5.5-codex"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
    assert_snapshot!(check(&request, &llama()), @r#"
    model: "local"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}
    stream: true
    "#);
}

#[test]
fn standalone_compaction() {
    let mut request = request(turn_with_reasoning());
    request.native = Some(native());
    request.tools = vec![tool("bash")];
    assert_snapshot!(lines(&encode_compact(&request, &openai("gpt-5.5"))), @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"content":[{"text":"first","type":"input_text"}],"id":"msg_0","passthrough":{"a":1},"role":"user","type":"message"}
    input[1] {"id":"ws_1","status":"completed","type":"web_search_call"}
    input[2] {"encrypted_content":"ENC","id":"cmp_1","type":"compaction"}
    input[3] {"type":"message","role":"user","content":[{"type":"input_text","text":"list the files"}]}
    input[4] {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"ENC","new_field":1}
    input[5] {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"looking","annotations":[]}],"phase":"commentary"}
    input[6] {"type":"function_call","id":"fc_1","name":"bash","arguments":"{\"cmd\": \"ls\"}","call_id":"call_1"}
    input[7] {"type":"function_call_output","call_id":"call_1","output":"a.rs"}
    input[8] {"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"one file","annotations":[]}]}
    prompt_cache_key: "session-1"
    "#);
    assert_snapshot!(lines(&encode_compact(&request, &llama())), @r#"
    model: "local"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"list the files"}]}
    input[1] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"hm","annotations":[]}]}
    input[2] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"looking","annotations":[]}]}
    input[3] {"type":"function_call","name":"bash","arguments":"{\"cmd\": \"ls\"}","call_id":"call_1"}
    input[4] {"type":"function_call_output","call_id":"call_1","output":"a.rs"}
    input[5] {"type":"message","role":"assistant","content":[{"type":"output_text","text":"one file","annotations":[]}]}
    "#);
}

#[test]
fn in_band_compaction_is_the_live_turn_with_a_trigger() {
    let mut request = request(turn_with_reasoning());
    request.tools = vec![tool("bash")];
    let live = check(&request, &openai("gpt-5.5"));
    let compacting = lines(&encode_in_band(&request, &openai("gpt-5.5")));
    let trigger = "input[6] {\"type\":\"compaction_trigger\"}\n";
    assert_eq!(compacting.replace(trigger, ""), live);
    assert_snapshot!(compacting, @r#"
    model: "gpt-5.5"
    instructions: "be brief"
    input[0] {"type":"message","role":"user","content":[{"type":"input_text","text":"list the files"}]}
    input[1] {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"ENC","new_field":1}
    input[2] {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"looking","annotations":[]}],"phase":"commentary"}
    input[3] {"type":"function_call","id":"fc_1","name":"bash","arguments":"{\"cmd\": \"ls\"}","call_id":"call_1"}
    input[4] {"type":"function_call_output","call_id":"call_1","output":"a.rs"}
    input[5] {"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"one file","annotations":[]}]}
    input[6] {"type":"compaction_trigger"}
    tools: [{"type":"function","name":"bash","description":"runs bash","parameters":{"type":"object"},"strict":false}]
    tool_choice: "auto"
    parallel_tool_calls: true
    reasoning: {"summary":"auto"}
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    "#);
}

#[test]
fn orphans_are_found() {
    let body = json!({ "input": [
        { "type": "function_call_output", "call_id": "a", "output": "" },
        { "type": "function_call", "call_id": "b" },
        { "type": "function_call", "call_id": "c" },
        { "type": "function_call_output", "call_id": "b", "output": "" },
    ] });
    assert_snapshot!(orphans(&raw(&body)).join("\n"), @"
    input[0]: output a answers no open call
    call c has no output
    ");
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
        let plain = Target { compat: &OPENAI, capabilities: &PLAIN, ..openai("gpt-5.5") };
        for target in [openai("gpt-5.5"), openai("gpt-4.1"), llama(), plain] {
            for body in [encode(&request, &target), encode_in_band(&request, &target)] {
                prop_assert_eq!(orphans(&body), Vec::<String>::new());
            }
            prop_assert_eq!(encode(&request, &target), encode(&request, &target));
        }
    }
}
