//! What every recorded request must keep to, read from the bytes that arrived and not from our encoders.

use std::collections::BTreeSet;

use llm_providers::{
    ApiProtocol, CacheControlModels, Capabilities, MaxTokensField, ProviderCompat, Reasoning,
    ReasoningField,
};
use serde_json::Value;
use test_support::Received;

use crate::KEY;
use crate::forms::Form;

/// What is wrong with a request.
pub type Wrong = String;

macro_rules! ensure {
    ($held:expr, $($said:tt)*) => {
        if !$held {
            return Err(format!($($said)*));
        }
    };
}

/// Returns what is wrong with a request of this form.
pub fn check(form: &Form, received: &Received) -> Result<(), Wrong> {
    let resolved = form.resolved("http://127.0.0.1:1");
    let compat = &resolved.provider.compat;
    // Of an unlisted model nothing is known: it gets the level that was asked for.
    let known = resolved.model.capabilities;
    let can = &Capabilities {
        reasoning: known.reasoning || !resolved.listed,
        adaptive_thinking: known.adaptive_thinking || !resolved.listed,
        ..known
    };
    let wire = resolved.provider.wire;
    headers(wire, received)?;
    let body = received.json();
    let model = resolved.model.id.as_str();
    let is_named = body["model"] == model || received.path.contains(&format!("/{model}:"));
    ensure!(is_named, "another model");
    match wire {
        ApiProtocol::Responses => {
            responses(&body, compat, can, received.path.ends_with("/compact"))
        }
        ApiProtocol::Chat => chat(&body, compat, can),
        ApiProtocol::Messages => messages(&body, compat, can),
        ApiProtocol::Gemini => gemini(&body, can),
    }
}

fn headers(wire: ApiProtocol, received: &Received) -> Result<(), Wrong> {
    let home = match wire {
        ApiProtocol::Messages => ("x-api-key", KEY.to_owned()),
        ApiProtocol::Gemini => ("x-goog-api-key", KEY.to_owned()),
        ApiProtocol::Responses | ApiProtocol::Chat => ("authorization", format!("Bearer {KEY}")),
    };
    ensure!(
        received.header(home.0) == Some(&home.1),
        "no key in {}",
        home.0
    );
    for (name, value) in &received.headers {
        ensure!(
            name == home.0 || !value.contains(KEY),
            "the key is in {name}"
        );
    }
    let body = String::from_utf8_lossy(&received.body);
    ensure!(!body.contains(KEY), "the key is in the body");
    ensure!(!received.path.contains(KEY), "the key is in the path");
    ensure!(received.method == "POST", "{}", received.method);
    let json = received
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/json"));
    ensure!(json, "no JSON by its headers");
    let events = received.path.ends_with("/compact")
        || received.header("accept") == Some("text/event-stream");
    ensure!(events, "no events asked for");
    let version = received.header("anthropic-version").is_some();
    ensure!(
        version == (wire == ApiProtocol::Messages),
        "anthropic-version"
    );
    let beta = body.contains("compact_20260112") || body.contains("\"type\":\"compaction\"");
    let named = received.header("anthropic-beta") == Some("compact-2026-01-12");
    ensure!(
        named == (beta && wire == ApiProtocol::Messages),
        "anthropic-beta"
    );
    Ok(())
}

/// The calls of one request and what answers them.
#[derive(Default)]
struct Calls {
    open: Vec<String>,
    used: BTreeSet<String>,
}

impl Calls {
    fn call(&mut self, id: &Value, nine: bool) -> Result<(), Wrong> {
        let id = id.as_str().unwrap_or_default();
        let most = if nine { 9..=9 } else { 1..=64 };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || (!nine && b"_-".contains(&byte));
        ensure!(
            most.contains(&id.len()) && id.bytes().all(plain),
            "id {id:?}"
        );
        ensure!(self.used.insert(id.to_owned()), "{id} is used twice");
        self.open.push(id.to_owned());
        Ok(())
    }

    fn result(&mut self, id: &Value) -> Result<(), Wrong> {
        let place = self.open.iter().position(|open| id == open.as_str());
        let Some(place) = place else {
            return Err(format!("{id} answers no open call"));
        };
        self.open.remove(place);
        Ok(())
    }

    fn closed(&self) -> Result<(), Wrong> {
        ensure!(self.open.is_empty(), "{:?} are not answered", self.open);
        Ok(())
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn absent(body: &Value, fields: &[&str]) -> Result<(), Wrong> {
    for field in fields {
        ensure!(body.get(field).is_none(), "{field} is sent");
    }
    Ok(())
}

/// Fails for a text without a word in it, wherever such parts stand.
fn said(part: &Value) -> Result<(), Wrong> {
    if let Some(text) = part.get("text") {
        let text = text.as_str().unwrap_or_default();
        ensure!(!text.trim().is_empty(), "an empty text: {part}");
    }
    Ok(())
}

fn named(name: &Value) -> Result<(), Wrong> {
    ensure!(
        name.as_str().is_some_and(|name| !name.is_empty()),
        "a call without a name"
    );
    Ok(())
}

fn bounded(value: &Value, can: &Capabilities) -> Result<(), Wrong> {
    let most = can.max_output.unwrap_or(u64::MAX);
    let within = value.is_null()
        || value
            .as_u64()
            .is_some_and(|value| (1..=most).contains(&value));
    ensure!(within, "{value} tokens of output, more than {most}");
    Ok(())
}

/// An effort is one that the model is known to take.
fn effort(effort: &Value, can: &Capabilities) -> Result<(), Wrong> {
    let known = can.levels.is_none_or(|levels| {
        let mut names = levels.iter().map(Reasoning::name);
        names.any(|name| effort == name || name == "off" && effort == "none")
    });
    ensure!(
        effort.is_null() || known,
        "an effort that the model refuses: {effort}"
    );
    Ok(())
}

fn chat(body: &Value, compat: &ProviderCompat, can: &Capabilities) -> Result<(), Wrong> {
    ensure!(body["stream"] == true, "not streamed");
    ensure!(
        body.get("stream_options").is_some() == compat.stream_usage,
        "stream_options"
    );
    let (bound, unknown) = match compat.max_tokens_field {
        MaxTokensField::MaxTokens => ("max_tokens", "max_completion_tokens"),
        MaxTokensField::MaxCompletionTokens => ("max_completion_tokens", "max_tokens"),
    };
    absent(
        body,
        &[unknown, "instructions", "input", "system", "include"],
    )?;
    bounded(&body[bound], can)?;
    if !compat.openai_extras {
        absent(body, &["store", "prompt_cache_key"])?;
    }
    let fields: &[&str] = match compat.reasoning_field {
        ReasoningField::ReasoningEffort => &["reasoning_effort"],
        ReasoningField::ReasoningObject => &["reasoning"],
        ReasoningField::ReasoningEnabled => &["reasoning", "reasoning_effort"],
        ReasoningField::Thinking => &["thinking", "reasoning_effort"],
        ReasoningField::EnableThinking => &["enable_thinking", "reasoning_effort"],
        ReasoningField::None => &[],
    };
    for field in [
        "reasoning",
        "reasoning_effort",
        "thinking",
        "enable_thinking",
    ] {
        ensure!(
            body.get(field).is_none() || can.reasoning && fields.contains(&field),
            "{field} is sent"
        );
    }
    effort(&body["reasoning_effort"], can)?;
    let mut calls = Calls::default();
    let mut before = "";
    for message in list(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        let known: &[&str] = match compat.developer_role {
            true => &["developer", "user", "assistant", "tool"],
            false => &["system", "user", "assistant", "tool"],
        };
        ensure!(known.contains(&role), "role {role}");
        if role == "tool" {
            calls.result(&message["tool_call_id"])?;
        } else {
            calls.closed()?;
        }
        match &message["content"] {
            Value::Null => ensure!(
                message.get("tool_calls").is_some(),
                "says nothing: {message}"
            ),
            Value::String(text) => ensure!(!text.trim().is_empty(), "says nothing: {message}"),
            parts => {
                let marked = list(parts)
                    .iter()
                    .any(|part| part["cache_control"].is_object());
                ensure!(
                    !list(parts).is_empty() && (role == "user" || marked),
                    "parts: {message}"
                );
                let marks = compat.cache_control != CacheControlModels::Never;
                ensure!(marks || !marked, "a cache mark");
                list(parts).iter().try_for_each(said)?;
                let images = list(parts).iter().any(|part| part["type"] == "image_url");
                ensure!(can.images || !images, "an image for a model that sees none");
            }
        }
        let thought = message.get("reasoning_content").is_some();
        ensure!(!thought || compat.replays_reasoning, "reasoning_content");
        for call in list(&message["tool_calls"]) {
            calls.call(&call["id"], compat.short_tool_ids)?;
            named(&call["function"]["name"])?;
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let arguments: Result<Value, _> = serde_json::from_str(arguments);
            ensure!(
                arguments.is_ok_and(|it| it.is_object()),
                "arguments: {call}"
            );
        }
        let alternates = compat.alternating_roles && matches!(role, "user" | "assistant");
        ensure!(
            !alternates || before != role,
            "two {role} messages in a row"
        );
        before = role;
    }
    ensure!(
        before != "assistant",
        "the model is asked to go on with its own words"
    );
    calls.closed()
}

fn responses(
    body: &Value,
    compat: &ProviderCompat,
    can: &Capabilities,
    compact: bool,
) -> Result<(), Wrong> {
    absent(
        body,
        &[
            "messages",
            "max_tokens",
            "max_completion_tokens",
            "stream_options",
            "system",
        ],
    )?;
    ensure!((body["stream"] == true) != compact, "stream");
    bounded(&body["max_output_tokens"], can)?;
    if compact {
        absent(
            body,
            &["store", "include", "tool_choice", "max_output_tokens"],
        )?;
    } else {
        ensure!(body.get("store").is_some() == compat.openai_extras, "store");
        ensure!(
            compat.openai_extras || body.get("include").is_none(),
            "include"
        );
    }
    ensure!(
        compat.openai_extras || body.get("prompt_cache_key").is_none(),
        "prompt_cache_key"
    );
    ensure!(
        can.reasoning || body.get("reasoning").is_none(),
        "reasoning"
    );
    effort(&body["reasoning"]["effort"], can)?;
    let input = list(&body["input"]);
    let mut calls = Calls::default();
    let mut ids = BTreeSet::new();
    for (at, item) in input.iter().enumerate() {
        ensure!(item.get("status").is_none(), "status goes back: {item}");
        if let Some(id) = item["id"].as_str() {
            ensure!(
                (1..=64).contains(&id.len()) && ids.insert(id),
                "item id {id}"
            );
        }
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                let role = item["role"].as_str().unwrap_or_default();
                let harness = if compat.developer_role {
                    "developer"
                } else {
                    "system"
                };
                ensure!(
                    ["user", "assistant", harness].contains(&role),
                    "role {role}"
                );
                let parts = list(&item["content"]);
                ensure!(!parts.is_empty(), "says nothing: {item}");
                parts.iter().try_for_each(said)?;
            }
            "function_call" => {
                calls.call(&item["call_id"], false)?;
                named(&item["name"])?;
                let arguments = item["arguments"].as_str().unwrap_or_default();
                let arguments: Result<Value, _> = serde_json::from_str(arguments);
                ensure!(
                    arguments.is_ok_and(|it| it.is_object()),
                    "arguments: {item}"
                );
            }
            "function_call_output" => {
                calls.result(&item["call_id"])?;
                list(&item["output"]).iter().try_for_each(said)?;
            }
            "reasoning" => {
                let next = input.get(at + 1).map(|next| &next["type"]);
                ensure!(next.is_some(), "reasoning that led to nothing");
            }
            "compaction" => {}
            "compaction_trigger" => ensure!(at + 1 == input.len(), "the trigger is not last"),
            other => return Err(format!("item {other}")),
        }
        let images = item.to_string().contains("\"input_image\"");
        ensure!(can.images || !images, "an image for a model that sees none");
    }
    calls.closed()
}

fn messages(body: &Value, compat: &ProviderCompat, can: &Capabilities) -> Result<(), Wrong> {
    ensure!(body["stream"] == true, "not streamed");
    let others = [
        "store",
        "prompt_cache_key",
        "stream_options",
        "instructions",
        "input",
        "reasoning",
        "reasoning_effort",
    ];
    absent(body, &others)?;
    ensure!(body["max_tokens"].is_u64(), "the wire demands max_tokens");
    bounded(&body["max_tokens"], can)?;
    let marks = body.to_string().matches("\"cache_control\"").count();
    ensure!(
        marks <= 4 && (marks > 0) == (compat.cache_control != CacheControlModels::Never),
        "{marks} cache marks"
    );
    thinking(body, can)?;
    list(&body["system"]).iter().try_for_each(said)?;
    let mut calls = Calls::default();
    let mut wanted = "user";
    let turns = list(&body["messages"]);
    for turn in turns {
        ensure!(
            turn["role"] == wanted,
            "{} speaks, not {wanted}",
            turn["role"]
        );
        let blocks = list(&turn["content"]);
        ensure!(!blocks.is_empty(), "an empty turn");
        for block in blocks {
            said(block)?;
            match block["type"].as_str().unwrap_or_default() {
                "tool_use" => {
                    calls.call(&block["id"], false)?;
                    named(&block["name"])?;
                    ensure!(block["input"].is_object(), "input: {block}");
                }
                "tool_result" => {
                    calls.result(&block["tool_use_id"])?;
                    ensure!(!list(&block["content"]).is_empty(), "says nothing: {block}");
                    list(&block["content"]).iter().try_for_each(said)?;
                }
                "image" => ensure!(can.images, "an image for a model that sees none"),
                "text" | "thinking" | "redacted_thinking" | "compaction" => {}
                other => return Err(format!("block {other}")),
            }
        }
        if wanted == "user" {
            calls.closed()?;
        }
        wanted = if wanted == "user" {
            "assistant"
        } else {
            "user"
        };
    }
    ensure!(
        wanted == "assistant",
        "the model is asked to go on with its own words"
    );
    calls.closed()
}

fn gemini(body: &Value, can: &Capabilities) -> Result<(), Wrong> {
    absent(
        body,
        &["model", "messages", "stream", "system", "cachedContent"],
    )?;
    let most = &body["generationConfig"]["maxOutputTokens"];
    if !most.is_null() {
        bounded(most, can)?;
    }
    let mut calls = Calls::default();
    let entries = list(&body["contents"]);
    ensure!(
        entries.last().is_some_and(|entry| entry["role"] == "user"),
        "the model is asked to go on with its own words"
    );
    for entry in entries {
        let parts = list(&entry["parts"]);
        ensure!(!parts.is_empty(), "an empty entry");
        let results = parts
            .iter()
            .filter(|part| part["functionResponse"].is_object());
        ensure!(
            matches!(results.count(), n if n == 0 || n == parts.len()),
            "results stand with other parts"
        );
        for part in parts {
            let (call, result) = (&part["functionCall"], &part["functionResponse"]);
            if call.is_object() {
                calls.call(&call["id"], false)?;
                named(&call["name"])?;
                ensure!(call["args"].is_object(), "arguments: {call}");
            } else if result.is_object() {
                calls.result(&result["id"])?;
                named(&result["name"])?;
            } else if part["inlineData"].is_object() {
                ensure!(can.images, "an image for a model that sees none");
            } else {
                let text = part["text"].as_str().unwrap_or_default();
                let signed = part["thoughtSignature"].is_string();
                ensure!(signed || !text.trim().is_empty(), "says nothing: {part}");
            }
        }
        if entry["role"] == "user" {
            calls.closed()?;
        }
    }
    calls.closed()
}

/// Thinking is asked for in the one form that the model takes, and not beside a call that it must make.
fn thinking(body: &Value, can: &Capabilities) -> Result<(), Wrong> {
    let thinking = &body["thinking"];
    ensure!(can.reasoning || thinking.is_null(), "thinking");
    let forced = body["tool_choice"]["type"] == "any";
    ensure!(
        !forced || thinking.is_null() || thinking["type"] == "disabled",
        "thinking beside a forced call"
    );
    if can.adaptive_thinking {
        ensure!(
            thinking.is_null() || thinking["type"] == "adaptive" || thinking["type"] == "disabled",
            "{thinking}"
        );
        return absent(thinking, &["budget_tokens"]);
    }
    absent(body, &["output_config"])?;
    if let Some(budget) = thinking["budget_tokens"].as_u64() {
        let most = body["max_tokens"].as_u64().unwrap_or_default();
        ensure!((1024..most).contains(&budget), "{thinking}");
    }
    Ok(())
}
