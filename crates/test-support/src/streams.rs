//! Well-formed streamed answers in each protocol, as the services send them: the basis for faults.
//!
//! Every event is a separate chunk, so [`Reply::cut`] breaks off between events; after [`Reply::dripped`] it breaks off
//! inside them.

use serde_json::{Value, json};

use crate::fault_server::{Chunk, Reply};

/// Returns a body of server-sent events without names, one for each `data`.
pub fn sse(events: &[&str]) -> Vec<u8> {
    let lines = events.iter().map(|data| event(None, data));
    lines.collect::<String>().into_bytes()
}

/// Returns a streamed answer of these events, each with `data` and without a name.
pub fn sse_reply(events: &[&str]) -> Reply {
    let chunks = events.iter().map(|data| Chunk::from(event(None, data)));
    Reply::event_stream(chunks.collect())
}

/// Returns a streamed answer of one event that has `bytes` bytes and no end, never held as a whole: a client
/// without a limit takes all of it.
pub fn big_event(bytes: u64) -> Reply {
    repeated(200, "text/event-stream", b"data: ", bytes)
}

/// Returns an answer of `bytes` bytes, never held as a whole.
pub fn big_body(status: u16, bytes: u64) -> Reply {
    repeated(status, "text/plain", b"", bytes)
}

fn repeated(status: u16, media_type: &str, head: &[u8], bytes: u64) -> Reply {
    Reply::Repeated {
        status,
        headers: vec![("content-type".to_owned(), media_type.to_owned())],
        head: head.to_vec(),
        piece: vec![b'x'; 16 * 1024],
        bytes,
    }
}

fn event(name: Option<&str>, data: &str) -> String {
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    let data: String = data
        .split('\n')
        .map(|line| format!("data: {line}\n"))
        .collect();
    format!("{name}{data}\n")
}

/// Returns the reply of events that carry their name in `type`, as Responses and Messages do.
fn named(events: &[Value]) -> Reply {
    let chunks = events
        .iter()
        .map(|data| Chunk::from(event(data["type"].as_str(), &data.to_string())));
    Reply::event_stream(chunks.collect())
}

/// Returns Chat Completions' chunks, with the usage in a separate chunk and `[DONE]` at the end.
fn chat(deltas: &[Value], finish_reason: &str, usage: Option<Value>) -> Reply {
    let chunk = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_767_225_600,
            "model": "test-model",
            "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        Chunk::from(event(None, &chunk.to_string()))
    };
    let choice = |delta: &Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let mut chunks: Vec<Chunk> = deltas
        .iter()
        .map(|delta| chunk(choice(delta, Value::Null), None))
        .collect();
    chunks.push(chunk(choice(&json!({}), json!(finish_reason)), None));
    if usage.is_some() {
        chunks.push(chunk(json!([]), usage));
    }
    chunks.push(Chunk::from(event(None, "[DONE]")));
    Reply::event_stream(chunks)
}

/// Returns Chat Completions' usage.
pub fn chat_usage(input: u64, cached: u64, output: u64) -> Value {
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    })
}

/// Returns Chat Completions' answer with this text.
pub fn chat_stream(text: &str) -> Reply {
    chat_stream_with(&[text], "stop", Some(chat_usage(20, 0, 5)))
}

/// Returns Chat Completions' answer in these pieces of text, with its `finish_reason` and `usage`.
pub fn chat_stream_with(pieces: &[&str], finish_reason: &str, usage: Option<Value>) -> Reply {
    let mut deltas = vec![json!({"role": "assistant", "content": null})];
    deltas.extend(pieces.iter().map(|piece| json!({"content": piece})));
    chat(&deltas, finish_reason, usage)
}

/// Returns Chat Completions' call of one tool, its arguments in two pieces.
pub fn chat_tool_call(name: &str, arguments: &Value) -> Reply {
    let text = arguments.to_string();
    let (first, second) = halves(&text);
    let call = |value: Value| json!({"tool_calls": [value]});
    let deltas = [
        json!({"role": "assistant", "content": null}),
        call(json!({
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": ""},
        })),
        call(json!({"index": 0, "function": {"arguments": first}})),
        call(json!({"index": 0, "function": {"arguments": second}})),
    ];
    chat(&deltas, "tool_calls", Some(chat_usage(20, 0, 5)))
}

/// Returns Responses' usage.
pub fn responses_usage(input: u64, cached: u64, output: u64) -> Value {
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + output,
    })
}

/// Returns Responses' answer with this text.
pub fn responses_stream(text: &str) -> Reply {
    responses_stream_with(&[text], "completed", responses_usage(20, 0, 5))
}

/// Returns Responses' answer in these pieces of text. `status` is `completed` or `incomplete` (for want of
/// output tokens).
pub fn responses_stream_with(pieces: &[&str], status: &str, usage: Value) -> Reply {
    let item = |status: &str, content: Value| json!({"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": content});
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let place = |kind: &str| json!({"type": kind, "item_id": "msg_1", "output_index": 0, "content_index": 0});
    let with = |mut value: Value, key: &str, inner: Value| {
        value[key] = inner;
        value
    };
    let text = pieces.concat();
    let mut inner = vec![
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", json!([]))}),
        with(place("response.content_part.added"), "part", part("")),
    ];
    for piece in pieces {
        inner.push(with(
            place("response.output_text.delta"),
            "delta",
            json!(piece),
        ));
    }
    let whole = item("completed", json!([part(&text)]));
    inner.extend([
        with(place("response.output_text.done"), "text", json!(text)),
        with(place("response.content_part.done"), "part", part(&text)),
        json!({"type": "response.output_item.done", "output_index": 0, "item": whole}),
    ]);
    responses(inner, status, &json!([whole]), usage)
}

/// Returns Responses' call of one tool, its arguments in two pieces.
pub fn responses_tool_call(name: &str, arguments: &Value) -> Reply {
    let text = arguments.to_string();
    let (first, second) = halves(&text);
    let item = |status: &str, arguments: &str| json!({"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": name, "arguments": arguments, "status": status});
    let delta = |piece: &str| json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": piece});
    let whole = item("completed", &text);
    let inner = vec![
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", "")}),
        delta(first),
        delta(second),
        json!({"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0, "arguments": text}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": whole}),
    ];
    let usage = responses_usage(20, 0, 5);
    responses(inner, "completed", &json!([whole]), usage)
}

/// Frames Responses' events: what opens and closes the response, and the running number of each event.
fn responses(inner: Vec<Value>, status: &str, output: &Value, usage: Value) -> Reply {
    let response = |status: &str, output: &Value, usage: Value| {
        let details = match status {
            "incomplete" => json!({"reason": "max_output_tokens"}),
            _ => Value::Null,
        };
        json!({
            "id": "resp_1",
            "object": "response",
            "created_at": 1_767_225_600,
            "model": "test-model",
            "status": status,
            "incomplete_details": details,
            "error": null,
            "output": output,
            "usage": usage,
        })
    };
    let opening = |kind: &str| json!({"type": kind, "response": response("in_progress", &json!([]), Value::Null)});
    let mut events = vec![opening("response.created"), opening("response.in_progress")];
    events.extend(inner);
    let closing = format!("response.{status}");
    events.push(json!({"type": closing, "response": response(status, output, usage)}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    named(&events)
}

/// Returns Messages' answer with this text.
pub fn messages_stream(text: &str) -> Reply {
    messages_stream_with(&[text], "end_turn", (20, 0, 5))
}

/// Returns Messages' answer in these pieces of text, with its `stop_reason` and the tokens of input, of input
/// read from the cache, and of output.
pub fn messages_stream_with(pieces: &[&str], stop_reason: &str, usage: (u64, u64, u64)) -> Reply {
    let deltas: Vec<Value> = pieces
        .iter()
        .map(|piece| json!({"type": "text_delta", "text": piece}))
        .collect();
    messages(
        &json!({"type": "text", "text": ""}),
        &deltas,
        stop_reason,
        usage,
    )
}

/// Returns Messages' call of one tool, its arguments in two pieces.
pub fn messages_tool_call(name: &str, arguments: &Value) -> Reply {
    let text = arguments.to_string();
    let (first, second) = halves(&text);
    let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": {}});
    let deltas = [delta(""), delta(first), delta(second)];
    messages(&block, &deltas, "tool_use", (20, 0, 5))
}

fn messages(
    block: &Value,
    deltas: &[Value],
    stop_reason: &str,
    (input, cached, output): (u64, u64, u64),
) -> Reply {
    let mut events = vec![
        json!({"type": "message_start", "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "test-model",
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {
                "input_tokens": input,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": 1,
            },
        }}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "ping"}),
    ];
    for delta in deltas {
        events.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    events.extend([
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": null},
            "usage": {"output_tokens": output},
        }),
        json!({"type": "message_stop"}),
    ]);
    named(&events)
}

/// Returns Gemini's call of one tool.
pub fn gemini_tool_call(name: &str, arguments: &Value) -> Reply {
    gemini_reply(&json!({"functionCall": {"id": "call_1", "name": name, "args": arguments}}))
}

/// Returns Gemini's answer with this text.
pub fn gemini_stream(text: &str) -> Reply {
    gemini_reply(&json!({"text": text}))
}

/// Returns an answer of one part, in chunks that end with the reason and the counts.
fn gemini_reply(part: &Value) -> Reply {
    let chunk = |parts: Value, finish: Value| {
        let chunk = json!({
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
            "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 5, "totalTokenCount": 25},
            "modelVersion": "test-model",
            "responseId": "resp_1",
        });
        chunk.to_string()
    };
    let first = chunk(json!([part]), Value::Null);
    sse_reply(&[&first, &chunk(json!([]), json!("STOP"))])
}

/// Returns a text in two halves, cut between characters.
fn halves(text: &str) -> (&str, &str) {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    text.split_at(middle)
}
