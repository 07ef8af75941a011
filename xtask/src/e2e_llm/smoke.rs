//! What the server itself does on each wire, over plain HTTP: the ground on which the other cases stand,
//! and the source of the recorded answers that the decoders are tested with.

use serde_json::{Value, json};

use super::cases::{Case, SMALL};
use super::server::{MODEL, Server, Setup};
use crate::run::Outcome;

/// How a wire is asked and how its answer ends.
struct Form {
    name: &'static str,
    path: &'static str,
    body: fn(&str) -> Value,
    /// Returns the text in one event.
    text: fn(&Value) -> Option<&str>,
    /// The data of the closing event, or its `type`.
    closing: &'static str,
}

const CHAT: Form = Form {
    name: "chat",
    path: "/v1/chat/completions",
    body: |prompt| {
        json!({
            "model": MODEL,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": 24,
            "temperature": 0,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    },
    text: |event| event["choices"][0]["delta"]["content"].as_str(),
    closing: "[DONE]",
};

const RESPONSES: Form = Form {
    name: "responses",
    path: "/v1/responses",
    body: |prompt| {
        json!({
            "model": MODEL,
            "input": [{"role": "user", "content": prompt}],
            "max_output_tokens": 24,
            "temperature": 0,
            "stream": true,
        })
    },
    text: |event| match event["type"] == "response.output_text.delta" {
        true => event["delta"].as_str(),
        false => None,
    },
    closing: "response.completed",
};

const MESSAGES: Form = Form {
    name: "messages",
    path: "/v1/messages",
    body: |prompt| {
        json!({
            "model": MODEL,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": 24,
            "temperature": 0,
            "stream": true,
        })
    },
    text: |event| event["delta"]["text"].as_str(),
    closing: "message_stop",
};

/// Returns a streamed answer and an overflow for each wire.
pub fn cases() -> Vec<Case> {
    let case = |name: &str, run: fn(&Server) -> Outcome<String>| Case {
        name: name.to_owned(),
        setup: Setup::free(SMALL),
        run: Box::new(run),
    };
    vec![
        case("smoke-chat", |server| answers(server, &CHAT)),
        case("smoke-responses", |server| answers(server, &RESPONSES)),
        case("smoke-messages", |server| answers(server, &MESSAGES)),
        case("smoke-overflow", overflows),
    ]
}

/// Asks for a short answer and checks that it has text and the wire's closing event.
fn answers(server: &Server, form: &Form) -> Outcome<String> {
    let answer = server.post(
        form.path,
        &(form.body)("Name three colours of the rainbow."),
    )?;
    server.keep(&format!("{}.sse.txt", form.name), &answer.text())?;
    if answer.status != 200 {
        return Err(format!("status {}: {}", answer.status, answer.text()));
    }
    let events = answer.events();
    let parsed: Vec<Value> = events
        .iter()
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    let text: String = parsed.iter().filter_map(form.text).collect();
    if text.trim().is_empty() {
        return Err(format!("no text in {} events", events.len()));
    }
    let last = events.last().map_or("", String::as_str);
    let last_type = parsed.last().and_then(|event| event["type"].as_str());
    if last != form.closing && last_type != Some(form.closing) {
        return Err(format!("no {} at the end, but {last}", form.closing));
    }
    let count = events.len();
    Ok(format!("{count} events, {text:?}{}", speed(&parsed)))
}

/// Returns what the server says of its speed, where it does.
fn speed(events: &[Value]) -> String {
    let timings = events
        .iter()
        .filter_map(|event| {
            event
                .get("timings")
                .or_else(|| event["response"].get("timings"))
        })
        .next_back();
    let Some(timings) = timings else {
        return String::new();
    };
    let rate = |name: &str| timings[name].as_f64().unwrap_or_default();
    let (prompt, answer) = (rate("prompt_per_second"), rate("predicted_per_second"));
    format!(", {prompt:.0} tokens/s read, {answer:.0} tokens/s written")
}

/// Sends more than the context holds, on each wire, and checks that the refusal says so.
fn overflows(server: &Server) -> Outcome<String> {
    let prompt = "The quick brown fox jumps over the lazy dog. ".repeat(150);
    let tokens = server.count_tokens(&prompt)?;
    let mut seen = serde_json::Map::new();
    for form in [&CHAT, &RESPONSES, &MESSAGES] {
        let answer = server.post(form.path, &(form.body)(&prompt))?;
        let body = answer.text();
        if answer.status != 400 || !body.contains("exceed_context_size_error") {
            return Err(format!("{}: status {}: {body}", form.name, answer.status));
        }
        let entry = json!({"status": answer.status, "body": body});
        seen.insert(form.name.to_owned(), entry);
    }
    let text = serde_json::to_string_pretty(&seen).map_err(|error| error.to_string())?;
    server.keep("overflow.json", &format!("{text}\n"))?;
    let context = server.setup().context;
    Ok(format!(
        "{tokens} tokens refused for {context}, status 400 on each wire"
    ))
}
