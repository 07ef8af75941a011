//! The ends of streams, successful and failed, and ignored events.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::answer::Event;
use crate::wire::responses::Decoder;
use crate::wire::responses::decode_tests::{
    added, check, completed, created, delta, done, text_item,
};
use crate::wire::{Decode, WireError};

#[test]
fn an_incomplete_answer_says_why() {
    let incomplete = |kind: &str, reason: Value| json!({ "type": kind, "response": { "status": "incomplete", "incomplete_details": reason } });
    let stops = [
        incomplete(
            "response.incomplete",
            json!({ "reason": "max_output_tokens" }),
        ),
        incomplete(
            "response.completed",
            json!({ "reason": "max_output_tokens" }),
        ),
        incomplete("response.incomplete", json!({ "reason": "content_filter" })),
        incomplete("response.incomplete", Value::Null),
    ];
    let told: String = stops.map(|stop| check(&[stop])).concat();
    assert_snapshot!(told, @r#"
    done Length None None
      usage 0+0+0 -> 0 = 0 incomplete
    end Ok(false)
    done Length None None
      usage 0+0+0 -> 0 = 0 incomplete
    end Ok(false)
    done Other("content_filter") None None
      usage 0+0+0 -> 0 = 0 incomplete
    end Ok(false)
    done Other("incomplete") None None
      usage 0+0+0 -> 0 = 0 incomplete
    end Ok(false)
    "#);
    // An item that was cut off is no signature and no compacted history.
    let cut = [
        added(
            0,
            &json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
        ),
        delta("reasoning_summary_text", 0, "rs_1", "hm"),
        added(
            1,
            &json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "EN" }),
        ),
        incomplete(
            "response.incomplete",
            json!({ "reason": "max_output_tokens" }),
        ),
    ];
    assert_snapshot!(check(&cut), @r#"
    Thinking("hm")
    done Length None None
      usage 0+0+0 -> 0 = 0 incomplete
      thinking "hm" None
    end Ok(false)
    "#);
}

#[test]
fn failures_are_told_with_their_error_object() {
    let failed = json!({ "type": "response.failed", "response": { "id": "resp_3", "error": {
        "code": "context_length_exceeded", "message": "too long" } } });
    let events = [
        vec![created(), failed],
        vec![json!({ "type": "error", "code": "server_error", "message": "oops", "param": null })],
        vec![json!({ "type": "error", "error": { "message": "inner" } })],
        vec![json!({ "error": { "code": 400, "message": "lean" } })],
        vec![
            json!({ "type": "response.completed", "response": { "status": "failed", "error": { "message": "late" } } }),
        ],
        vec![json!({ "type": "response.failed", "response": { "error": null } })],
    ];
    let told: String = events.iter().map(|events| check(events)).collect();
    assert_snapshot!(told, @r#"
    error Service("{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}")
    end Ok(false)
    error Service("{\"code\":\"server_error\",\"message\":\"oops\",\"param\":null,\"type\":\"error\"}")
    end Ok(false)
    error Service("{\"message\":\"inner\"}")
    end Ok(false)
    error Service("{\"code\":400,\"message\":\"lean\"}")
    end Ok(false)
    error Service("{\"message\":\"late\"}")
    end Ok(false)
    error Service("{\"error\":null}")
    end Ok(false)
    "#);
}

#[test]
fn a_stream_that_ends_early_is_an_error() {
    let events = [created(), delta("output_text", 0, "msg_1", "half")];
    assert_snapshot!(check(&events), @r#"
    Text("half")
    end Err(EndedEarly)
    "#);
}

#[test]
fn unknown_events_items_and_fields_are_passed_over() {
    let events = [
        json!({ "type": "response.new_thing", "delta": { "not": "text" }, "output_index": "x" }),
        json!({ "type": "keepalive" }),
        json!({}),
        json!({ "type": "response.output_text.delta", "output_index": null, "delta": 7 }),
        json!({ "type": "response.output_item.done", "item": 5 }),
        done(
            0,
            &json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" }),
        ),
        done(1, &text_item("msg_1", "hello")),
        completed(&json!([3])),
    ];
    assert_snapshot!(check(&events), @r#"
    Text("hello")
    done Stop Some("resp_1") None
      usage 40+60+0 -> 7 = 107
      text "hello" Some("msg_1")
    end Ok(false)
    "#);
}

#[test]
fn compaction_items_come_out_verbatim() {
    let item = r#"{"id":"cmp_1", "type":"context_compaction","encrypted_content":"ENC","n":1.0}"#;
    let mut decoder = Decoder::default();
    let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    decoder.data(&done).expect("a good event");
    let events = decoder
        .data(&completed(&json!([])).to_string())
        .expect("a good event");
    let [Event::Done(answer)] = events.as_slice() else {
        panic!("one event, the last: {events:?}");
    };
    let native: Vec<&str> = answer
        .native
        .iter()
        .map(session_model::json::RawJson::get)
        .collect();
    assert_eq!(native, [item]);
}

#[test]
fn what_is_no_json_object_is_malformed() {
    for data in ["<html>", "[1]", "{\"type\":"] {
        let mut decoder = Decoder::default();
        assert_eq!(
            decoder.data(data),
            Err(WireError::Malformed(data.to_owned()))
        );
    }
    assert_eq!(Decoder::default().data("  "), Ok(vec![]));
}

#[test]
fn half_a_surrogate_pair_does_not_break_the_stream() {
    let mut decoder = Decoder::default();
    let data = r#"{"type":"response.output_text.delta","delta":"a\ud83d"}"#;
    assert_eq!(
        decoder.data(data),
        Ok(vec![Event::Text("a\u{FFFD}".to_owned())])
    );
}

/// Returns a stream with thinking, text and a call, the text in these pieces.
fn stream(pieces: &[String]) -> Vec<Value> {
    let item = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash", "arguments": "{}" });
    let reasoning =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC" });
    let mut events = vec![created(), added(0, &reasoning), done(0, &reasoning)];
    events.push(added(1, &text_item("msg_1", "")));
    let deltas = pieces.iter();
    events.extend(deltas.map(|piece| delta("output_text", 1, "msg_1", piece)));
    events.push(done(1, &text_item("msg_1", &pieces.concat())));
    events.push(added(2, &item));
    events.push(delta("function_call_arguments", 2, "fc_1", "{}"));
    events.push(done(2, &item));
    events.push(completed(&json!([
        reasoning,
        text_item("msg_1", &pieces.concat()),
        item
    ])));
    events
}

/// Returns the text of the pieces, and of the answers.
fn texts(events: &[Value]) -> (String, Vec<String>) {
    let mut decoder = Decoder::default();
    let (mut pieces, mut answers) = (String::new(), Vec::new());
    for event in events {
        for event in decoder.data(&event.to_string()).unwrap_or_default() {
            match event {
                Event::Text(piece) => pieces.push_str(&piece),
                Event::Done(answer) => answers.push(answer.text()),
                Event::Thinking(_) | Event::ToolCall { .. } => {}
            }
        }
    }
    (pieces, answers)
}

proptest! {
    #[test]
    fn pieces_make_the_answers_text(pieces in proptest::collection::vec("[a-zé ]{0,5}", 0..6)) {
        let whole = pieces.concat();
        prop_assert_eq!(texts(&stream(&pieces)), (whole.clone(), vec![whole]));
    }

    #[test]
    fn whatever_is_missing_the_text_comes_once(keep in proptest::collection::vec(any::<bool>(), 11)) {
        let mut events = stream(&["a".to_owned(), "b".to_owned()]);
        let last = events.pop().expect("a stream has a last event");
        let mut keep = keep.into_iter();
        events.retain(|_| keep.next().unwrap_or(true));
        events.push(last);
        let (pieces, answers) = texts(&events);
        prop_assert_eq!(answers, ["ab"]);
        // The position of a piece that was lost on the way is no longer known.
        prop_assert!(["ab", "b"].contains(&pieces.as_str()));
    }
}
