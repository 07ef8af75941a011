//! Streams of answers, as the service and lean servers send them.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::answer::Event;
use crate::wire::messages::Decoder;
use crate::wire::samples::{decoded, gathered, outcome, split};
use crate::wire::{Decode, WireError};

fn begin() -> String {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "m-1", "content": [],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30,
            "output_tokens": 1}}})
    .to_string()
}

fn start(index: usize, block: &Value) -> String {
    json!({"type": "content_block_start", "index": index, "content_block": block}).to_string()
}

fn delta(index: usize, delta: &Value) -> String {
    json!({"type": "content_block_delta", "index": index, "delta": delta}).to_string()
}

fn say(index: usize, text: &str) -> String {
    delta(index, &json!({"type": "text_delta", "text": text}))
}

fn stop(index: usize) -> String {
    json!({"type": "content_block_stop", "index": index}).to_string()
}

fn end(reason: &str) -> [String; 2] {
    let usage = json!({"output_tokens": 15});
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
            .to_string(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ]
}

fn check(events: impl IntoIterator<Item = String>) -> String {
    let events: Vec<String> = events.into_iter().collect();
    let (pieces, end) = decoded(Decoder::new(), &events);
    if let Ok(answer) = &end {
        assert_eq!(gathered(&pieces).0, answer.text());
    }
    outcome(&end)
}

#[test]
fn every_kind_of_block_is_read_and_unknown_ones_are_passed_over() {
    let events = [
        begin(),
        r#"{"type":"ping"}"#.to_owned(),
        start(
            0,
            &json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, &json!({"type": "signature_delta", "signature": "sig"})),
        stop(0),
        start(1, &json!({"type": "redacted_thinking", "data": "opaque"})),
        stop(1),
        start(2, &json!({"type": "text", "text": ""})),
        say(2, "I "),
        r#"{"type":"later_event","index":2}"#.to_owned(),
        say(2, "look."),
        delta(2, &json!({"type": "citations_delta", "citation": {}})),
        stop(2),
        start(
            3,
            &json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        ),
        delta(
            3,
            &json!({"type": "input_json_delta", "partial_json": "{}"}),
        ),
        stop(3),
        start(
            4,
            &json!({"type": "tool_use", "id": "t1", "name": "bash", "input": {}}),
        ),
        delta(4, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(
            4,
            &json!({"type": "input_json_delta", "partial_json": "{\"a\""}),
        ),
        delta(
            4,
            &json!({"type": "input_json_delta", "partial_json": ": 1}"}),
        ),
        stop(4),
        start(
            5,
            &json!({"type": "tool_use", "id": "t2", "name": "bash", "input": {}}),
        ),
        stop(5),
        start(
            6,
            &json!({"type": "tool_use", "id": "", "name": "bash", "input": {"whole": true}}),
        ),
        stop(6),
        start(7, &json!({"type": "text", "text": ""})),
        stop(7),
    ];
    insta::assert_snapshot!("blocks", check(events.into_iter().chain(end("tool_use"))));
}

#[test]
fn answers_end_for_many_reasons() {
    let reasons = [
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "",
    ];
    let outcomes = reasons.map(|reason| {
        let events = [begin(), start(0, &json!({"type": "text", "text": "x"}))];
        check(events.into_iter().chain(end(reason)))
    });
    insta::assert_snapshot!("endings", outcomes.join("\n"));
}

#[test]
fn lean_servers_leave_things_out() {
    let cut_call = [
        r#"{"type":"message_start","message":{}}"#.to_owned(),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        say(1, "text"),
        start(2, &json!({"type": "tool_use", "name": "bash"})),
        delta(
            2,
            &json!({"type": "input_json_delta", "partial_json": "{\"cut"}),
        ),
        delta(
            9,
            &json!({"type": "input_json_delta", "partial_json": "lost"}),
        ),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"input_tokens": 0, "output_tokens": 3}})
        .to_string(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    insta::assert_snapshot!("lean", check(cut_call));
}

#[test]
fn a_compaction_block_is_kept_with_all_its_members() {
    let usage = json!({"input_tokens": 0, "output_tokens": 0, "iterations": [
        {"type": "compaction", "input_tokens": 60_000, "output_tokens": 900, "cache_read_input_tokens": 5},
        {"type": "message", "input_tokens": 1, "output_tokens": 1}]});
    let stopped = [
        json!({"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": usage})
            .to_string(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    let lean = r#"{"type":"message_start","message":{"id":"msg_1"}}"#.to_owned();
    let events = [
        lean.clone(),
        start(
            0,
            &json!({"type": "compaction", "content": null, "encrypted_content": null, "later": [1]}),
        ),
        delta(
            0,
            &json!({"type": "compaction_delta", "content": "The ", "encrypted_content": "old"}),
        ),
        delta(
            0,
            &json!({"type": "compaction_delta", "content": "summary.", "encrypted_content": "opaque"}),
        ),
        stop(0),
    ];
    let streamed = check(events.into_iter().chain(stopped.clone()));
    let block = json!({"type": "compaction", "content": "The summary."});
    let whole = check(
        [lean.clone(), start(0, &block), stop(0)]
            .into_iter()
            .chain(stopped.clone()),
    );
    let failed = json!({"type": "compaction", "content": null, "encrypted_content": null});
    let nothing =
        json!({"type": "compaction_delta", "content": null, "encrypted_content": "opaque"});
    let failed = check(
        [lean, start(0, &failed), delta(0, &nothing)]
            .into_iter()
            .chain(stopped),
    );
    insta::assert_snapshot!("compaction", [streamed, whole, failed].join("\n"));
}

#[test]
fn failures_are_told_in_the_services_words() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#;
    let cases = [
        vec![begin(), overloaded.to_owned()],
        vec![r#"{"error":{"code":503,"message":"Loading model"}}"#.to_owned()],
        vec![r#"{"type":"error","message":"odd"}"#.to_owned()],
        vec![begin(), "event".to_owned()],
        vec![begin(), say(0, "x"), end("end_turn")[0].clone()],
        vec![],
    ];
    let outcomes = cases.map(check);
    insta::assert_snapshot!("failures", outcomes.join("\n"));
}

/// Recorded from llama.cpp's server.
#[test]
fn a_local_server_is_understood() {
    let events = [
        r#"{"type":"message_start","message":{"id":"chatcmpl-jLSt","type":"message","role":"assistant","content":[],"model":"smollm2-135m","stop_reason":null,"stop_sequence":null,"usage":{"cache_read_input_tokens":21,"input_tokens":17,"output_tokens":0}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"r"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"1"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":4}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    insta::assert_snapshot!("local_server", check(events.map(str::to_owned)));
}

#[test]
fn nothing_comes_after_the_end() {
    let mut decoder = Decoder::new();
    let [delta, stop] = end("end_turn");
    assert_eq!(decoder.data(&delta), Ok(Vec::new()));
    let last = decoder.data(&stop).expect("an answer");
    assert!(matches!(last.as_slice(), [Event::Done(_)]));
    assert_eq!(decoder.data(&stop), Ok(Vec::new()));
    assert_eq!(decoder.end(), Ok(None));
}

proptest! {
    #[test]
    fn the_answer_does_not_depend_on_where_deltas_are_cut(
        thinking in "[a-zé ]{0,12}",
        text in "[a-z\u{1F600}\n]{0,12}",
        summary in "[a-z ]{1,12}",
        argument in "[a-z\"é]{0,12}",
        cuts in proptest::collection::vec(any::<u8>(), 0..4),
        noise in any::<bool>(),
    ) {
        let arguments = json!({"a": argument}).to_string();
        let stream = |cuts: &[u8]| {
            let mut events = vec![begin()];
            let mut block = |index: usize, block: Value, kind: &str, field: &str, all: &str| {
                events.push(start(index, &block));
                let pieces = split(all, cuts);
                events.extend(pieces.iter().map(|piece| delta(index, &json!({"type": kind, field: piece}))));
                events.push(stop(index));
            };
            block(0, json!({"type": "compaction", "content": null}), "compaction_delta", "content", &summary);
            block(1, json!({"type": "thinking", "thinking": ""}), "thinking_delta", "thinking", &thinking);
            block(2, json!({"type": "text", "text": ""}), "text_delta", "text", &text);
            block(3, json!({"type": "tool_use", "id": "t", "name": "bash", "input": {}}),
                "input_json_delta", "partial_json", &arguments);
            if noise {
                let places = (0..=events.len()).rev();
                places.for_each(|at| events.insert(at, r#"{"type":"ping"}"#.to_owned()));
            }
            events.extend(end("tool_use"));
            decoded(Decoder::new(), &events)
        };
        let (whole_pieces, whole) = stream(&[]);
        let (pieces, end) = stream(&cuts);
        prop_assert_eq!(&end, &whole);
        prop_assert_eq!(gathered(&pieces), gathered(&whole_pieces));
        let answer = end.expect("an answer");
        prop_assert_eq!(answer.text(), summary + &text);
        let call = answer.tool_calls().next().and_then(|call| call.arguments.clone());
        prop_assert_eq!(call.map(|raw| raw.get().to_owned()), Some(arguments));
        prop_assert_eq!(answer.native.len(), 1);
    }

    #[test]
    fn any_json_is_read_or_refused(
        data in "[\\[\\]{}:,\"a-e0-2]{0,40}",
        kind in "message_start|content_block_start|content_block_delta|message_delta|error|ping",
        key in "message|content_block|delta|usage|index|error",
    ) {
        let mut decoder = Decoder::new();
        let _ = decoder.data(&data);
        let _ = decoder.data(&format!("{{\"type\":\"{kind}\",\"{key}\":{data}}}"));
        prop_assert_eq!(decoder.end(), Err(WireError::EndedEarly));
    }
}
