//! Streams of answers.

use serde_json::{Value, json};
use session_model::{Block, StopReason};

use crate::answer::Answer;
use crate::wire::WireError;
use crate::wire::gemini::Decoder;
use crate::wire::samples::{decoded, gathered};

fn chunk(parts: &Value, finish: Option<&str>) -> String {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({"candidates": [candidate], "modelVersion": "gemini-3.8-flash", "responseId": "r1"})
        .to_string()
}

fn answered(events: &[String]) -> Result<Answer, WireError> {
    let (pieces, end) = decoded(Decoder::new(), events);
    if let Ok(answer) = &end {
        let (text, _, calls) = gathered(&pieces);
        assert_eq!(text, answer.text());
        assert_eq!(calls.len(), answer.tool_calls().count());
    }
    end
}

#[test]
fn signatures_stay_with_their_parts() {
    let answer = answered(&[
        chunk(&json!([{"text": "I ", "thought": true}]), None),
        chunk(
            &json!([{"text": "think", "thought": true, "thoughtSignature": "T=="}]),
            None,
        ),
        chunk(&json!([{"text": "Hel"}]), None),
        chunk(
            &json!([{"text": "lo"}, {"text": "", "thoughtSignature": "A+/="}]),
            None,
        ),
        chunk(&json!([{"text": "again"}]), None),
        chunk(
            &json!([{"functionCall": {"name": "bash", "args": {"b": 1}}, "thoughtSignature": "C=="}]),
            None,
        ),
        chunk(
            &json!([{"functionCall": {"id": "x", "name": "bash"}}, {"text": ""}]),
            Some("STOP"),
        ),
    ]);
    let answer = answer.expect("an answer");
    let blocks: Vec<(String, Option<&str>)> = answer
        .content
        .iter()
        .map(|block| match block {
            Block::Text(block) => (block.text.clone(), block.signature.as_deref()),
            Block::Thinking(block) => (block.thinking.clone(), block.signature.as_deref()),
            Block::ToolCall(call) => (call.arguments_text(), call.signature.as_deref()),
            other => panic!("{other:?}"),
        })
        .collect();
    let want = [
        ("I think", Some("T==")),
        ("Hello", Some("A+/=")),
        ("again", None),
        (r#"{"b":1}"#, Some("C==")),
        ("{}", None),
    ];
    assert_eq!(
        blocks,
        want.map(|(text, signature)| (text.to_owned(), signature))
    );
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
    let ids: Vec<&str> = answer.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_0_r1", "x"]);
}

#[test]
fn answers_end_with_the_reason_of_their_last_chunk() {
    let end = |reason| {
        let events = [
            chunk(&json!([{"text": "hi"}]), None),
            chunk(&json!([]), Some(reason)),
        ];
        answered(&events).expect("an answer").stop_reason
    };
    assert_eq!(end("STOP"), StopReason::Stop);
    assert_eq!(end("MAX_TOKENS"), StopReason::Length);
    for reason in ["SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL"] {
        assert_eq!(end(reason), StopReason::Other(reason.to_owned()));
    }
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}).to_string();
    let blocked = answered(&[blocked]).expect("an answer");
    assert_eq!(
        blocked.stop_reason,
        StopReason::Other("PROHIBITED_CONTENT".to_owned())
    );
    assert!(blocked.usage.incomplete);
    let cut = answered(&[chunk(&json!([{"text": "hi"}]), None)]);
    assert_eq!(cut, Err(WireError::EndedEarly));
    let error =
        r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#;
    let failed = answered(&[chunk(&json!([{"text": "hi"}]), None), error.to_owned()]);
    assert!(matches!(failed, Err(WireError::Service(_))), "{failed:?}");
    let garbage = answered(&["<html>".to_owned()]);
    assert!(
        matches!(garbage, Err(WireError::Malformed(_))),
        "{garbage:?}"
    );
}

#[test]
fn usage_counts_thinking_and_the_cache() {
    let usage = json!({
        "candidates": [{"finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 1000, "cachedContentTokenCount": 900, "candidatesTokenCount": 9,
            "thoughtsTokenCount": 94, "toolUsePromptTokenCount": 7, "totalTokenCount": 1110,
        },
    });
    let usage = answered(&[usage.to_string()]).expect("an answer").usage;
    assert_eq!(
        (usage.input, usage.cache_read, usage.output),
        (107, 900, 103)
    );
    assert_eq!((usage.total_tokens, usage.incomplete), (1110, false));
}
