//! Streams of events, of full and of minimal servers, and their decoded answers.

use std::fmt::Write;

use insta::assert_snapshot;
use serde_json::{Value, json};
use session_model::Block;

use crate::answer::Event;
use crate::wire::Decode;
use crate::wire::responses::Decoder;

/// Returns everything that the decoder makes of `events`, a line each, and what the end of the stream makes of it.
pub(super) fn check(events: &[Value]) -> String {
    let mut decoder = Decoder::default();
    let mut out = String::new();
    for event in events {
        match decoder.data(&event.to_string()) {
            Ok(events) => events.iter().for_each(|event| write_event(event, &mut out)),
            Err(error) => writeln!(out, "error {error:?}").expect("a string takes all"),
        }
    }
    writeln!(out, "end {:?}", decoder.end().map(|event| event.is_some())).expect("as above");
    out
}

fn write_event(event: &Event, out: &mut String) {
    let line = match event {
        Event::Done(answer) => {
            let mut lines = format!(
                "done {:?} {:?} {:?}",
                answer.stop_reason, answer.id, answer.model
            );
            let usage = answer.usage;
            write!(
                lines,
                "\n  usage {}+{}+{} -> {} = {}{}",
                usage.input,
                usage.cache_read,
                usage.cache_write,
                usage.output,
                usage.total_tokens,
                if usage.incomplete { " incomplete" } else { "" }
            )
            .expect("a string takes all");
            for block in &answer.content {
                let line = match block {
                    Block::Text(block) => format!("text {:?} {:?}", block.text, block.signature),
                    Block::Thinking(block) => {
                        format!("thinking {:?} {:?}", block.thinking, block.signature)
                    }
                    Block::ToolCall(call) => {
                        format!("call {} {} {:?}", call.id, call.name, call.arguments)
                    }
                    Block::Image(_) | Block::Other { .. } => format!("{block:?}"),
                };
                write!(lines, "\n  {line}").expect("a string takes all");
            }
            for item in &answer.native {
                write!(lines, "\n  native {item:?}").expect("a string takes all");
            }
            lines
        }
        other => format!("{other:?}"),
    };
    writeln!(out, "{line}").expect("a string takes all");
}

pub(super) fn created() -> Value {
    json!({ "type": "response.created", "sequence_number": 0, "response": { "id": "resp_1", "model": "gpt-5.5-2026-03-01", "created_at": 1 } })
}

pub(super) fn completed(output: &Value) -> Value {
    json!({ "type": "response.completed", "response": { "id": "resp_1", "status": "completed", "output": output,
        "usage": { "input_tokens": 100, "input_tokens_details": { "cached_tokens": 60 }, "output_tokens": 7,
            "output_tokens_details": { "reasoning_tokens": 3 }, "total_tokens": 107 } } })
}

pub(super) fn added(index: u64, item: &Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

pub(super) fn done(index: u64, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

pub(super) fn delta(kind: &str, index: u64, id: &str, delta: &str) -> Value {
    json!({ "type": format!("response.{kind}.delta"), "output_index": index, "item_id": id, "delta": delta })
}

pub(super) fn text_item(id: &str, text: &str) -> Value {
    json!({ "type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

fn call_item(n: u64, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"),
        "name": format!("tool{n}"), "arguments": arguments })
}

#[test]
fn a_full_stream() {
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "ENC",
        "summary": [{ "type": "summary_text", "text": "first" }, { "type": "summary_text", "text": "second" }] });
    let part = |index: u64| json!({ "type": "response.reasoning_summary_part.added", "output_index": 0, "item_id": "rs_1", "summary_index": index });
    let summary = |index: u64, text: &str| json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "summary_index": index, "delta": text });
    let mut message = text_item("msg_1", "hello world");
    message["phase"] = json!("final_answer");
    let events = [
        created(),
        json!({ "type": "response.in_progress", "response": { "id": "resp_1" } }),
        added(
            0,
            &json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
        ),
        part(0),
        summary(0, "fir"),
        summary(0, "st"),
        part(1),
        summary(1, "second"),
        done(0, &reasoning),
        added(
            1,
            &json!({ "type": "message", "id": "msg_1", "content": [] }),
        ),
        json!({ "type": "response.content_part.added", "output_index": 1, "part": { "type": "output_text" } }),
        delta("output_text", 1, "msg_1", "hello"),
        delta("output_text", 1, "msg_1", " world"),
        json!({ "type": "response.output_text.done", "output_index": 1, "text": "hello world" }),
        done(1, &message),
        added(2, &call_item(1, "")),
        delta("function_call_arguments", 2, "fc_1", "{\"a\""),
        delta("function_call_arguments", 2, "fc_1", ": 1}"),
        json!({ "type": "response.function_call_arguments.done", "output_index": 2, "item_id": "fc_1", "arguments": "{\"a\": 1}" }),
        done(2, &call_item(1, "{\"a\": 1}")),
        completed(&json!([reasoning, message, call_item(1, "{\"a\": 1}")])),
        delta("output_text", 1, "msg_1", "after the end"),
        json!({ "type": "error", "message": "after the end" }),
    ];
    assert_snapshot!(check(&events), @r#"
    Thinking("fir")
    Thinking("st")
    Thinking("\n\n")
    Thinking("second")
    Text("hello")
    Text(" world")
    ToolCall { index: 0, name: "tool1", arguments: "" }
    ToolCall { index: 0, name: "tool1", arguments: "{\"a\"" }
    ToolCall { index: 0, name: "tool1", arguments: ": 1}" }
    done ToolUse Some("resp_1") Some("gpt-5.5-2026-03-01")
      usage 40+60+0 -> 7 = 107
      thinking "first\n\nsecond" Some("{\"encrypted_content\":\"ENC\",\"id\":\"rs_1\",\"summary\":[{\"text\":\"first\",\"type\":\"summary_text\"},{\"text\":\"second\",\"type\":\"summary_text\"}],\"type\":\"reasoning\"}")
      text "hello world" Some("{\"id\":\"msg_1\",\"phase\":\"final_answer\",\"v\":1}")
      call call_1|fc_1 tool1 Some({"a": 1})
    end Ok(false)
    "#);
}

#[test]
fn parallel_calls_are_told_apart_by_place_or_id() {
    let by_place = [
        added(0, &call_item(1, "")),
        added(1, &call_item(2, "")),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"b\":" }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}" }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "2}" }),
        done(1, &call_item(2, "{\"b\":2}")),
        done(0, &call_item(1, "{}")),
        completed(&json!([])),
    ];
    assert_snapshot!(check(&by_place), @r#"
    ToolCall { index: 0, name: "tool1", arguments: "" }
    ToolCall { index: 1, name: "tool2", arguments: "" }
    ToolCall { index: 1, name: "tool2", arguments: "{\"b\":" }
    ToolCall { index: 0, name: "tool1", arguments: "{}" }
    ToolCall { index: 1, name: "tool2", arguments: "2}" }
    done ToolUse Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      call call_1|fc_1 tool1 Some({})
      call call_2|fc_2 tool2 Some({"b":2})
    end Ok(false)
    "#);
    // Some servers give every item the same place.
    let by_id = [
        added(0, &call_item(1, "")),
        added(0, &call_item(2, "")),
        delta("function_call_arguments", 0, "fc_1", "{}"),
        delta("function_call_arguments", 0, "fc_2", "[]"),
        done(0, &call_item(1, "{}")),
        done(0, &call_item(2, "[]")),
        completed(&json!([])),
    ];
    assert_snapshot!(check(&by_id), @r#"
    ToolCall { index: 0, name: "tool1", arguments: "" }
    ToolCall { index: 1, name: "tool2", arguments: "" }
    ToolCall { index: 0, name: "tool1", arguments: "{}" }
    ToolCall { index: 1, name: "tool2", arguments: "[]" }
    done ToolUse Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      call call_1|fc_1 tool1 Some({})
      call call_2|fc_2 tool2 Some([])
    end Ok(false)
    "#);
}

#[test]
fn ids_that_change_from_event_to_event_do_not_split_an_item() {
    let events = [
        added(0, &json!({ "type": "message", "id": "x1", "content": [] })),
        delta("output_text", 0, "x2", "he"),
        delta("output_text", 0, "x3", "llo"),
        done(0, &text_item("x4", "hello")),
        completed(&json!([text_item("x5", "hello")])),
    ];
    assert_snapshot!(check(&events), @r#"
    Text("he")
    Text("llo")
    done Stop Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      text "hello" Some("x4")
    end Ok(false)
    "#);
}

#[test]
fn a_lean_server_without_times_numbers_and_places() {
    // As llama.cpp sends it.
    let events = [
        json!({ "type": "response.created", "response": { "id": "resp_x", "object": "response", "status": "in_progress" } }),
        json!({ "type": "response.output_item.added", "item": { "type": "reasoning", "id": "rs_x", "summary": [], "content": [], "encrypted_content": "" } }),
        json!({ "type": "response.reasoning_text.delta", "item_id": "rs_x", "delta": "hm" }),
        json!({ "type": "response.output_item.done", "item": { "type": "reasoning", "id": "rs_x", "summary": [], "content": [{ "type": "reasoning_text", "text": "hm" }], "encrypted_content": "" } }),
        json!({ "type": "response.output_item.added", "item": { "type": "message", "id": "msg_x", "role": "assistant", "content": [] } }),
        json!({ "type": "response.output_text.delta", "item_id": "msg_x", "delta": "hi" }),
        json!({ "type": "response.output_item.done", "item": text_item("msg_x", "hi") }),
        json!({ "type": "response.output_item.added", "item": { "type": "function_call", "call_id": "fc_y", "name": "bash", "arguments": "" } }),
        json!({ "type": "response.function_call_arguments.delta", "item_id": "fc_y", "delta": "{}" }),
        json!({ "type": "response.output_item.done", "item": { "type": "function_call", "call_id": "fc_y", "name": "bash", "arguments": "{}" } }),
        json!({ "type": "response.completed", "response": { "usage": { "input_tokens": 3, "output_tokens": 2, "total_tokens": 5 } } }),
    ];
    assert_snapshot!(check(&events), @r#"
    Thinking("hm")
    Text("hi")
    ToolCall { index: 0, name: "bash", arguments: "" }
    ToolCall { index: 0, name: "bash", arguments: "{}" }
    done ToolUse Some("resp_x") None
      usage 3+0+0 -> 2 = 5
      thinking "hm" Some("{\"content\":[{\"text\":\"hm\",\"type\":\"reasoning_text\"}],\"encrypted_content\":\"\",\"id\":\"rs_x\",\"summary\":[],\"type\":\"reasoning\"}")
      text "hi" Some("msg_x")
      call fc_y bash Some({})
    end Ok(false)
    "#);
}

#[test]
fn finished_items_alone_are_enough() {
    let events = [
        done(0, &text_item("msg_1", "hello")),
        json!({ "type": "response.output_item.done", "item": { "type": "function_call", "name": "bash", "arguments": { "cmd": "ls" } } }),
        completed(&json!([])),
    ];
    assert_snapshot!(check(&events), @r#"
    Text("hello")
    ToolCall { index: 0, name: "bash", arguments: "" }
    ToolCall { index: 0, name: "bash", arguments: "{\"cmd\":\"ls\"}" }
    done ToolUse Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      text "hello" Some("msg_1")
      call call_resp_1_0 bash Some({"cmd":"ls"})
    end Ok(false)
    "#);
}

#[test]
fn pieces_alone_are_enough() {
    let events = [
        json!({ "type": "response.output_text.delta", "delta": "hel" }),
        json!({ "type": "response.output_text.delta", "delta": "lo" }),
        json!({ "type": "response.completed" }),
    ];
    assert_snapshot!(check(&events), @r#"
    Text("hel")
    Text("lo")
    done Stop None None
      usage 0+0+0 -> 0 = 0 incomplete
      text "hello" None
    end Ok(false)
    "#);
}

#[test]
fn the_closing_event_alone_is_enough() {
    let output = json!([text_item("msg_1", "hello"), call_item(1, "{\"a\":")]);
    assert_snapshot!(check(&[completed(&output)]), @r#"
    Text("hello")
    ToolCall { index: 0, name: "tool1", arguments: "" }
    ToolCall { index: 0, name: "tool1", arguments: "{\"a\":" }
    done ToolUse Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      text "hello" Some("msg_1")
      call call_1|fc_1 tool1 Some("{\"a\":")
    end Ok(false)
    "#);
    let unary = json!({ "id": "resp_1", "object": "response", "error": null, "output": output });
    assert_snapshot!(check(&[unary]), @r#"
    Text("hello")
    ToolCall { index: 0, name: "tool1", arguments: "" }
    ToolCall { index: 0, name: "tool1", arguments: "{\"a\":" }
    done ToolUse Some("resp_1") None
      usage 0+0+0 -> 0 = 0 incomplete
      text "hello" Some("msg_1")
      call call_1|fc_1 tool1 Some("{\"a\":")
    end Ok(false)
    "#);
}

#[test]
fn arguments_before_their_call_wait_for_its_name() {
    let events = [
        delta("function_call_arguments", 0, "fc_1", "{\"a\""),
        delta("function_call_arguments", 0, "fc_1", ":1}"),
        done(0, &call_item(1, "{\"a\":1}")),
        completed(&json!([])),
    ];
    assert_snapshot!(check(&events), @r#"
    ToolCall { index: 0, name: "tool1", arguments: "{\"a\":1}" }
    done ToolUse Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      call call_1|fc_1 tool1 Some({"a":1})
    end Ok(false)
    "#);
}

#[test]
fn a_refusal_is_text() {
    let item = json!({ "type": "message", "id": "msg_1", "content": [{ "type": "refusal", "refusal": "no" }] });
    let events = [
        delta("refusal", 0, "msg_1", "no"),
        done(0, &item),
        completed(&json!([])),
    ];
    assert_snapshot!(check(&events), @r#"
    Text("no")
    done Stop Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      text "no" Some("msg_1")
    end Ok(false)
    "#);
}
