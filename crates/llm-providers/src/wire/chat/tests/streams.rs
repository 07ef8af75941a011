//! Streams of answers, as servers really send them.

use proptest::prelude::*;
use serde_json::{Value, json};
use session_model::json::RawJson;

use crate::answer::Event;
use crate::wire::chat::Decoder;
use crate::wire::samples::{decoded, gathered, outcome, split};
use crate::wire::{Decode, WireError};

fn delta(delta: &Value) -> String {
    json!({"id": "a1", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
        .to_string()
}

fn finish(reason: &str) -> String {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string()
}

fn say(text: &str) -> String {
    delta(&json!({"content": text}))
}

fn check(events: &[String]) -> String {
    let (pieces, end) = decoded(Decoder::new(), events);
    if let Ok(answer) = &end {
        let (text, _, calls) = gathered(&pieces);
        assert_eq!(text, answer.text());
        assert_eq!(calls.len(), answer.tool_calls().count());
    }
    outcome(&end)
}

#[test]
fn texts_end_for_many_reasons() {
    let end = |reason: &str| check(&[say("hel"), say("lo"), finish(reason)]);
    let reasons = [
        "stop",
        "length",
        "tool_calls",
        "content_filter",
        "model_length",
        "eos",
    ];
    insta::assert_snapshot!("endings", reasons.map(end).join("\n"));
}

#[test]
fn contents_come_in_many_forms() {
    insta::assert_snapshot!(
        "contents",
        check(&[
            delta(&json!({"role": "assistant", "content": null})),
            delta(&json!({"reasoning_content": "think ", "reasoning": "think ", "content": ""})),
            delta(&json!({"reasoning": "more ", "content": ""})),
            delta(&json!({"thinking": "still"})),
            delta(&json!({"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": ", and on"}]},
                {"type": "text", "text": "one"},
                {"type": "reference", "reference_ids": [1]},
            ]})),
            String::new(),
            r#"{"object":"keepalive"}"#.to_owned(),
            r#"{"choices":[],"id":7}"#.to_owned(),
            say("\u{1F600}"),
            r#"{"choices":[{"delta":{"content":"\ud83d"}}]}"#.to_owned(),
            delta(&json!({"refusal": " I must not."})),
            finish("stop"),
        ])
    );
}

#[test]
fn a_message_in_one_piece_is_an_answer() {
    let message = json!({"role": "assistant", "content": "whole", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]});
    let body = json!({"id": "a", "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2.0, "total_tokens": 5}});
    insta::assert_snapshot!("one_piece", check(&[body.to_string()]));
}

fn calls(calls: &Value) -> String {
    delta(&json!({"tool_calls": calls}))
}

#[test]
fn calls_are_told_apart_however_they_are_numbered() {
    let reference = [
        say("I look."),
        calls(
            &json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "bash", "arguments": ""}}]),
        ),
        calls(&json!([{"index": 0, "function": {"arguments": "{\"a\""}}])),
        calls(&json!([{"index": 1, "id": "c2", "function": {"name": "read", "arguments": "{"}}])),
        calls(
            &json!([{"index": 0, "function": {"arguments": ":1}"}}, {"index": 1, "function": {"arguments": "}"}}]),
        ),
        finish("tool_calls"),
    ];
    let always_zero = [
        calls(&json!([{"index": 0, "id": "c1", "function": {"name": "bash", "arguments": "{}"}}])),
        calls(
            &json!([{"index": 0, "id": "c2", "function": {"name": "bash", "arguments": "{\"b\":"}}]),
        ),
        calls(&json!([{"index": 0, "id": "c2", "function": {"arguments": "2}"}}])),
        finish("stop"),
    ];
    let unnumbered = [
        calls(
            &json!([{"function": {"name": "bash", "arguments": {"b": 1}}}, {"function": {"name": "bash"}}]),
        ),
        calls(&json!([{"function": {"arguments": "{\"c\": 3"}}])),
        finish("length"),
    ];
    let by_id = [
        calls(&json!([{"id": "x", "function": {"name": "one", "arguments": "{"}}])),
        calls(&json!([{"id": "y", "function": {"name": "two", "arguments": null}}])),
        calls(&json!([{"id": "x", "function": {"name": "one", "arguments": "}"}}])),
        finish("tool_calls"),
    ];
    let old = [
        delta(&json!({"function_call": {"name": "bash", "arguments": "{"}})),
        delta(&json!({"function_call": {"arguments": "}"}})),
        finish("function_call"),
    ];
    let twice = [
        calls(&json!([{"index": 0, "id": "c", "function": {"name": "bash", "arguments": "{}"}}])),
        calls(&json!([{"index": 1, "id": "c", "function": {"name": "bash", "arguments": "{}"}}])),
        finish("tool_calls"),
    ];
    let cases: [&[String]; 6] = [&reference, &always_zero, &unnumbered, &by_id, &old, &twice];
    let outcomes = cases.map(check);
    insta::assert_snapshot!("calls", outcomes.join("\n\n"));
}

#[test]
fn usage_is_read_wherever_it_stands() {
    let usages = [
        json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
            "prompt_tokens_details": {"cached_tokens": 60}}}),
        json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7,
            "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}}),
        json!({"choices": [{"delta": {}, "usage": {"prompt_tokens": 9, "completion_tokens": 1}}]}),
        json!({"choices": [], "x_groq": {"id": "r", "usage": {"prompt_tokens": 8, "completion_tokens": 2}}}),
        json!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 25}}}),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}}),
        json!({"choices": [], "usage": null}),
    ];
    let outcomes = usages.map(|usage| check(&[say("x"), finish("stop"), usage.to_string()]));
    insta::assert_snapshot!("usage", outcomes.join("\n"));
}

#[test]
fn failures_are_told_in_the_services_words() {
    let cases = [
        vec![
            say("x"),
            r#"{"error": {"message":"boom","code":500}}"#.to_owned(),
        ],
        vec![r#"{"error":"boom"}"#.to_owned()],
        vec![r#"{"object":"error","message":"boom","code":400}"#.to_owned()],
        vec![
            r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502}}]}"#.to_owned(),
        ],
        vec![say("x"), "<html>".to_owned()],
        vec![say("x")],
        vec![],
        vec![
            r#"{"error":null,"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}"#
                .to_owned(),
        ],
    ];
    let outcomes = cases.map(|events| check(&events));
    insta::assert_snapshot!("failures", outcomes.join("\n"));
}

/// Recorded from llama.cpp's server.
#[test]
fn a_local_server_is_understood() {
    let head = r#""created":1795332552,"id":"chatcmpl-gaI0","model":"smollm2-135m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk""#;
    let deltas = [
        r#"[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]"#,
        r#"[{"finish_reason":null,"index":0,"delta":{"content":"hello"}}]"#,
        r#"[{"finish_reason":null,"index":0,"delta":{"content":"!"}}]"#,
        r#"[{"finish_reason":"length","index":0,"delta":{}}]"#,
        r#"[],"usage":{"completion_tokens":4,"prompt_tokens":38,"total_tokens":42,"prompt_tokens_details":{"cached_tokens":0}},"timings":{"cache_n":0,"prompt_ms":146.193}"#,
    ];
    let events = deltas.map(|choices| format!("{{{head},\"choices\":{choices}}}"));
    insta::assert_snapshot!("local_server", check(&events));
}

#[test]
fn nothing_comes_after_the_end() {
    let mut decoder = Decoder::new();
    assert_eq!(decoder.data(&finish("stop")), Ok(Vec::new()));
    assert!(matches!(decoder.end(), Ok(Some(Event::Done(_)))));
    assert_eq!(decoder.data(&say("late")), Ok(Vec::new()));
    assert_eq!(decoder.end(), Ok(None));
    assert_eq!(Decoder::new().end(), Err(WireError::EndedEarly));
}

proptest! {
    #[test]
    fn the_answer_does_not_depend_on_where_deltas_are_cut(
        thinking in "[a-zé ]{0,12}",
        text in "[a-z\u{1F600}\n]{0,12}",
        first in "[a-z\"é]{0,12}",
        second in "[a-z]{0,12}",
        cuts in proptest::collection::vec(any::<u8>(), 0..4),
        noise in any::<bool>(),
    ) {
        let arguments = [json!({"a": first}).to_string(), json!([second]).to_string()];
        let begin = |index: usize| calls(&json!([
            {"index": index, "id": format!("c{index}"), "function": {"name": "bash", "arguments": ""}}]));
        let stream = |cuts: &[u8]| {
            let mut events: Vec<String> = Vec::new();
            events.extend(split(&thinking, cuts).iter().map(|piece| delta(&json!({"reasoning_content": piece}))));
            events.extend(split(&text, cuts).iter().map(|piece| say(piece)));
            events.extend([begin(0), begin(1)]);
            let pieces = arguments.each_ref().map(|arguments| split(arguments, cuts));
            for pair in pieces[0].iter().zip(&pieces[1]) {
                for (index, piece) in [pair.0, pair.1].into_iter().enumerate() {
                    events.push(calls(&json!([{"index": index, "function": {"arguments": piece}}])));
                }
            }
            if noise {
                let places = (0..=events.len()).rev();
                places.for_each(|at| events.insert(at, r#"{"object":"later","choices":[{}]}"#.to_owned()));
            }
            events.push(finish("tool_calls"));
            decoded(Decoder::new(), &events)
        };
        let (whole_pieces, whole) = stream(&[]);
        let (pieces, end) = stream(&cuts);
        prop_assert_eq!(&end, &whole);
        prop_assert_eq!(gathered(&pieces), gathered(&whole_pieces));
        let answer = end.expect("an answer");
        let sent: Vec<&str> = answer.tool_calls().filter_map(|call| call.arguments.as_ref()).map(RawJson::get).collect();
        prop_assert_eq!(sent, arguments.each_ref().map(String::as_str));
        prop_assert_eq!(answer.text(), text);
    }

    #[test]
    fn any_json_is_read_or_refused(data in "[\\[\\]{}:,\"a-e0-2]{0,40}", key in "id|choices|usage|error|delta") {
        let mut decoder = Decoder::new();
        let _ = decoder.data(&data);
        let _ = decoder.data(&format!("{{\"{key}\":{data}}}"));
        let _ = decoder.data(&format!("{{\"choices\":[{{\"delta\":{{\"{key}\":{data},\"content\":{data},\"tool_calls\":[{data}]}}}}]}}"));
        prop_assert_eq!(decoder.end(), Err(WireError::EndedEarly));
    }
}
