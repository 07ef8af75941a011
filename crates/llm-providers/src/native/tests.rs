//! The models that read a native history, the result of a compaction, and the trimming of a conversation.

use std::cell::Cell;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{Block, Usage};

use crate::answer::Answer;
use crate::native::{NativeAnswer, NativeError, Trimmed, decode_compact, in_band_answer, trim};
use crate::native_history::{NativeHistory, model_family};
use crate::request::Request;
use crate::wire::responses::samples::{self, openai, raw};
use crate::wire::responses::{
    encode_compact_with, encode_in_band_with, encode_with, input, orphans,
};

#[test]
fn a_family_is_an_id_without_its_date() {
    let families = [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-chat-latest", "gpt-5-chat"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("gpt-5-mini", "gpt-5-mini"),
        ("gpt-5.5-codex", "gpt-5.5-codex"),
        ("gpt-4-0613", "gpt-4-0613"),
        ("-2025-08-07", "-2025-08-07"),
        ("é", "é"),
        ("", ""),
    ];
    for (model, family) in families {
        assert_eq!(model_family(model), family);
    }
}

#[test]
fn a_native_history_stays_with_its_provider_and_family() {
    let history = NativeHistory {
        provider: "openai".to_owned(),
        model: "gpt-5.5-2026-03-01".to_owned(),
        replacement_history: vec![],
        compaction_item: None,
    };
    assert!(history.replays_on("openai", "gpt-5.5"));
    assert!(history.replays_on("openai", "gpt-5.5-2026-04-01"));
    assert!(!history.replays_on("openai", "gpt-5.5-codex"));
    assert!(!history.replays_on("azure", "gpt-5.5"));
}

fn show(answer: &Result<NativeAnswer, NativeError>) -> String {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return error.to_string(),
    };
    let history = &answer.history;
    let mut lines = vec![format!("{}/{}", history.provider, history.model)];
    lines.extend(
        history
            .replacement_history
            .iter()
            .map(|item| item.get().to_owned()),
    );
    lines.push(format!("item {:?}", history.compaction_item));
    lines.push(format!(
        "readable {:?} input {}",
        answer.readable, answer.usage.input
    ));
    lines.join("\n")
}

#[test]
fn a_standalone_compaction_is_kept_verbatim() {
    let target = openai("gpt-5.5");
    let body = r#"{"id":"resp_1","object":"response.compaction","created_at":1,"output":[
        {"id":"msg_1","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"hi"}]},
        {"id":"cmp_1", "type":"compaction","encrypted_content":"ENC","odd":1.0}
    ],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":2,"total_tokens":12}}"#;
    assert_snapshot!(show(&decode_compact(body, &target)), @r#"
    openai/gpt-5.5
    {"id":"msg_1","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"hi"}]}
    {"id":"cmp_1", "type":"compaction","encrypted_content":"ENC","odd":1.0}
    item Some({"id":"cmp_1", "type":"compaction","encrypted_content":"ENC","odd":1.0})
    readable None input 6
    "#);
    let bodies = [
        "<html>",
        r#"{"id":"x"}"#,
        r#"{"output":[]}"#,
        r#"{"output":[{"type":"compaction","encrypted_content":"A"},{"type":"context_compaction","encrypted_content":"B"}]}"#,
        r#"{"output":[{"type":"compaction","encrypted_content":""}]}"#,
        r#"{"error":{"message":"no"},"output":[]}"#,
        r#"{"output":[{"type":"compaction_summary","summary":[{"type":"summary_text","text":"did this"}]}]}"#,
    ];
    let told = bodies.map(|body| show(&decode_compact(body, &target)));
    assert_snapshot!(told.join("\n"), @r#"
    the answer is not a compacted history: no JSON object
    the answer is not a compacted history: no output
    the answer has 0 compaction items instead of one
    the answer has 2 compaction items instead of one
    the answer is not a compacted history: the compaction item is empty
    the service could not compact: {"message":"no"}
    openai/gpt-5.5
    {"type":"compaction_summary","summary":[{"type":"summary_text","text":"did this"}]}
    item Some({"type":"compaction_summary","summary":[{"type":"summary_text","text":"did this"}]})
    readable Some("did this") input 0
    "#);
}

#[test]
fn an_in_band_compaction_keeps_what_the_user_and_the_harness_said() {
    let target = openai("gpt-5.5");
    let input: Vec<RawJson> = [
        json!({ "type": "message", "role": "developer", "content": [] }),
        json!({ "type": "message", "id": "msg_u", "role": "user", "content": [], "extra": true }),
        json!({ "type": "compaction", "id": "cmp_0", "encrypted_content": "OLD" }),
        json!({ "type": "reasoning", "id": "rs_1" }),
        json!({ "type": "message", "role": "assistant", "content": [] }),
        json!({ "type": "function_call", "call_id": "call_1" }),
        json!({ "type": "function_call_output", "call_id": "call_1", "output": "" }),
        json!({ "role": "user", "content": "typeless" }),
        json!({ "type": "compaction_trigger" }),
    ]
    .iter()
    .map(raw)
    .collect();
    let item = raw(&json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "ENC" }));
    let mut answer = Answer {
        native: vec![item.clone()],
        usage: Usage {
            input: 9,
            ..Usage::default()
        },
        ..Answer::default()
    };
    assert_snapshot!(show(&in_band_answer(&input, &answer, &target)), @r#"
    openai/gpt-5.5
    {"content":[],"role":"developer","type":"message"}
    {"content":[],"extra":true,"id":"msg_u","role":"user","type":"message"}
    {"content":"typeless","role":"user"}
    {"encrypted_content":"ENC","id":"cmp_1","type":"compaction"}
    item Some({"encrypted_content":"ENC","id":"cmp_1","type":"compaction"})
    readable None input 9
    "#);
    answer.native.push(item);
    assert_eq!(
        in_band_answer(&input, &answer, &target),
        Err(NativeError::Items(2))
    );
    answer.native.clear();
    assert_eq!(
        in_band_answer(&input, &answer, &target),
        Err(NativeError::Items(0))
    );
}

/// Four characters are a token here.
fn tokens(text: &str) -> u64 {
    text.len() as u64 / 4
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": text })
}

fn call(id: usize, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": format!("fc_{id}"), "name": "bash", "arguments": arguments, "call_id": format!("call_{id}") })
}

fn output(id: usize, text: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": format!("call_{id}"), "output": text })
}

fn total(items: &[RawJson]) -> u64 {
    items.iter().map(|item| tokens(item.get())).sum()
}

fn show_trimmed(trimmed: &Trimmed) -> String {
    let items = trimmed.items.iter().map(|item| {
        let text = item.get();
        if text.len() > 200 {
            format!("{}... {}", &text[..60], text.len())
        } else {
            text.to_owned()
        }
    });
    let mut lines: Vec<String> = items.collect();
    lines.push(format!(
        "{} rewritten, {} tokens",
        trimmed.rewritten,
        total(&trimmed.items)
    ));
    lines.join("\n")
}

#[test]
fn the_oldest_outputs_are_shortened_first_then_the_arguments() {
    let long = "x".repeat(4_000);
    let items: Vec<RawJson> = [
        message(&long),
        call(1, &long),
        output(1, &long),
        call(2, &long),
        output(2, "short"),
        call(3, &long),
        output(3, &long),
        message("last"),
    ]
    .iter()
    .map(raw)
    .collect();
    assert_snapshot!(show_trimmed(&trim(items.clone(), 5_500, &tokens)), @r#"
    {"content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4045
    {"arguments":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4084
    {"call_id":"call_1","output":"[about 1015 tokens left out to fit the context window]","type":"function_call_output"}
    {"arguments":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4084
    {"call_id":"call_2","output":"short","type":"function_call_output"}
    {"arguments":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4084
    {"call_id":"call_3","output":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4062
    {"content":"last","role":"user","type":"message"}
    1 rewritten, 5146 tokens
    "#);
    assert_snapshot!(show_trimmed(&trim(items.clone(), 4_500, &tokens)), @r#"
    {"content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4045
    {"arguments":"{\"note\":\"[about 1021 tokens left out to fit the context window]\"}","call_id":"call_1","id":"fc_1","name":"bash","type":"function_call"}
    {"call_id":"call_1","output":"[about 1015 tokens left out to fit the context window]","type":"function_call_output"}
    {"arguments":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4084
    {"call_id":"call_2","output":"short","type":"function_call_output"}
    {"arguments":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4084
    {"call_id":"call_3","output":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4062
    {"content":"last","role":"user","type":"message"}
    2 rewritten, 4163 tokens
    "#);
    assert_snapshot!(show_trimmed(&trim(items, 10, &tokens)), @r#"
    {"content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4045
    {"arguments":"{\"note\":\"[about 1021 tokens left out to fit the context window]\"}","call_id":"call_1","id":"fc_1","name":"bash","type":"function_call"}
    {"call_id":"call_1","output":"[about 1015 tokens left out to fit the context window]","type":"function_call_output"}
    {"arguments":"{\"note\":\"[about 1021 tokens left out to fit the context window]\"}","call_id":"call_2","id":"fc_2","name":"bash","type":"function_call"}
    {"call_id":"call_2","output":"short","type":"function_call_output"}
    {"arguments":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4084
    {"call_id":"call_3","output":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... 4062
    {"content":"last","role":"user","type":"message"}
    3 rewritten, 3180 tokens
    "#);
}

#[test]
fn every_item_is_measured_once() {
    let long = "x".repeat(600);
    let items: Vec<RawJson> = (0..10_000)
        .flat_map(|id| [raw(&call(id, "{}")), raw(&output(id, &long))])
        .collect();
    let asked = Cell::new(0);
    let count = |text: &str| {
        asked.set(asked.get() + 1);
        tokens(text)
    };
    let before = items.len();
    let trimmed = trim(items, 700_000, &count);
    assert!(total(&trimmed.items) <= 700_000);
    assert_eq!(asked.get(), before + trimmed.rewritten);
}

#[test]
fn a_trimmed_conversation_is_sent_in_either_form() {
    let long = "x".repeat(4_000);
    let messages = (0..3).flat_map(|id| {
        let id = format!("call_{id}|fc_{id}");
        let blocks = vec![samples::call(&id, "bash", "{}")];
        let said = samples::answer("openai", "gpt-5.5", blocks);
        [said, samples::result(&id, vec![Block::text(long.clone())])]
    });
    let request = Request {
        messages: messages.collect(),
        ..Request::default()
    };
    let target = openai("gpt-5.5");
    let trimmed = trim(input(&request, &target), 1_500, &tokens);
    assert_eq!(trimmed.rewritten, 2);
    let bodies = [
        encode_with(&request, &target, &trimmed.items),
        encode_compact_with(&request, &target, &trimmed.items),
        encode_in_band_with(&request, &target, trimmed.items.clone()),
    ];
    for body in bodies {
        assert_eq!(orphans(&body), Vec::<String>::new());
        assert!(body.get().len() < 6_500);
    }
}

fn any_items() -> impl Strategy<Value = Vec<RawJson>> {
    let turn = (0_usize..4, 0_usize..400, 0_usize..400);
    proptest::collection::vec(turn, 0..12).prop_map(|turns| {
        let mut items = Vec::new();
        for (id, (kind, first, second)) in turns.into_iter().enumerate() {
            let (first, second) = ("é".repeat(first), "y".repeat(second));
            match kind {
                0 => items.push(message(&first)),
                1 => items.extend([call(id, &first), output(id, &second)]),
                2 => {
                    let (a, b) = (id * 2 + 100, id * 2 + 101);
                    items.extend([
                        call(a, "{}"),
                        call(b, &second),
                        output(b, &first),
                        output(a, &second),
                    ]);
                }
                _ => items.push(json!({ "type": "reasoning", "encrypted_content": first })),
            }
        }
        items.iter().map(raw).collect()
    })
}

fn of_type<'a>(items: &'a [RawJson], kinds: &'a [&str]) -> Vec<&'a RawJson> {
    let is = |item: &&RawJson| {
        item.string_member("type")
            .is_some_and(|kind| kinds.contains(&&*kind))
    };
    items.iter().filter(is).collect()
}

proptest! {
    #[test]
    fn trimming_keeps_pairs_order_and_messages(items in any_items(), budget in 0_u64..3_000) {
        let trimmed = trim(items.clone(), budget, &tokens);
        let least = total(&trim(items.clone(), 0, &tokens).items);

        prop_assert_eq!(orphans(&raw(&json!({ "input": trimmed.items }))), Vec::<String>::new());
        let keys = |items: &[RawJson]| -> Vec<_> {
            items.iter().map(|item| (item.string_member("type").map(String::from), item.string_member("call_id").map(String::from))).collect()
        };
        prop_assert_eq!(keys(&items), keys(&trimmed.items));
        let kept = ["message", "reasoning"];
        prop_assert_eq!(of_type(&items, &kept), of_type(&trimmed.items, &kept));
        let outputs = ["function_call_output"];
        prop_assert_eq!(of_type(&items, &outputs).pop(), of_type(&trimmed.items, &outputs).pop());
        for call in of_type(&trimmed.items, &["function_call"]) {
            let arguments = call.string_member("arguments").expect("a call has arguments");
            let known = items.iter().any(|item| item == call);
            prop_assert!(known || serde_json::from_str::<Value>(&arguments).is_ok());
        }
        let changed = items.iter().zip(&trimmed.items).filter(|(old, new)| old != new).count();
        prop_assert_eq!(changed, trimmed.rewritten);
        prop_assert!(total(&trimmed.items) <= budget || total(&trimmed.items) == least);
        if total(&items) <= budget {
            prop_assert_eq!(trimmed.rewritten, 0);
        }
        let again = trim(trimmed.items.clone(), budget, &tokens);
        prop_assert_eq!(again.rewritten, 0);
        prop_assert_eq!(again.items, trimmed.items);
    }
}
