//! Shared parts of the protocols: plain content, arguments, call ids, endings.

use std::borrow::Cow;
use std::collections::BTreeSet;

use async_openai::types::responses::{PromptCacheRetention, ToolChoiceOptions};
use serde::Serialize;
use serde_json::Value;
use session_model::json::RawJson;
use session_model::{Block, Content, ImageBlock, StopReason, SystemMessage, ToolCall};

use crate::answer::Answer;
use crate::request::{Request, ToolChoice};
use crate::wire::{CacheControlModels, CacheTtl, Target};

/// The user message where one is required and there is none: before the first answer, and after the last one.
pub(crate) const OPENING: &str = "(The conversation goes on from here.)";

/// The content of a tool result without output.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// A part of a message to the model.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// Text that is not blank.
    Text(Cow<'a, str>),
    /// An image with bytes.
    Image(&'a ImageBlock),
}

/// Returns the parts of `content`. Blank texts are left out; images that cannot be sent and blocks that
/// are not known become a short text in their place.
pub(crate) fn parts(content: &Content, images: bool) -> Vec<Part<'_>> {
    let blocks = match content {
        Content::Text(text) => return Vec::from_iter(text_part(text)),
        Content::Blocks(blocks) => blocks,
    };
    let blocks = blocks.iter();
    blocks.filter_map(|block| part(block, images)).collect()
}

fn part(block: &Block, images: bool) -> Option<Part<'_>> {
    let unsent = |text: String| Some(Part::Text(Cow::Owned(text)));
    match block {
        Block::Text(block) => text_part(&block.text),
        Block::Image(image) if images && !image.data.is_empty() => Some(Part::Image(image)),
        Block::Image(image) => unsent(format!("[image {}, not sent]", image.mime_type)),
        Block::Thinking(_) | Block::ToolCall(_) => None,
        Block::Other { kind } => unsent(format!("[block of type {kind}, not sent]")),
    }
}

fn text_part(text: &str) -> Option<Part<'_>> {
    (!text.trim().is_empty()).then_some(Part::Text(Cow::Borrowed(text)))
}

/// Returns the instructions of a system message: its text and its sections. Its tools are in the request.
pub(crate) fn system_text(system: &SystemMessage) -> String {
    let text = system.content.joined_text("\n");
    let sections = system.sections.iter();
    let sections = sections.filter_map(|(_, text)| text.clone());
    let all = std::iter::once(text).chain(sections);
    let all: Vec<String> = all.filter(|text| !text.trim().is_empty()).collect();
    all.join("\n\n")
}

/// Returns instructions that must be sent in the user's role, in a frame that shows that they are not the user's words.
pub(crate) fn framed(instructions: &str) -> String {
    format!("<application-instructions>\n{instructions}\n</application-instructions>")
}

/// The longest name of a tool that services take, in characters.
const MAX_TOOL_NAME: usize = 64;

/// Returns the name of a called tool as services take it: models make up names, which would be refused in every later
/// request.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() {
        Cow::Borrowed("unknown")
    } else if name.len() <= MAX_TOOL_NAME && name.chars().all(fits) {
        Cow::Borrowed(name)
    } else {
        let sent = name.chars().map(|c| if fits(c) { c } else { '_' });
        Cow::Owned(sent.take(MAX_TOOL_NAME).collect())
    }
}

/// Returns the arguments of a call as the text of a JSON object. Arguments that are not an object become its member
/// `arguments`.
pub(crate) fn arguments_object(call: &ToolCall) -> String {
    let text = call.arguments_text();
    match text.as_bytes().first() {
        Some(b'{') if text.contains("\\ud") => without_lone_surrogates(text),
        Some(b'{') => text,
        None | Some(b'n') => "{}".to_owned(),
        Some(_) => format!("{{\"arguments\":{text}}}"),
    }
}

/// Services refuse half a surrogate pair, which a session may hold.
fn without_lone_surrogates(text: String) -> String {
    let value = RawJson::parse(&text).map(|raw| raw.to_value());
    match value {
        Ok(value @ Value::Object(_)) => value.to_string(),
        Ok(_) | Err(_) => text,
    }
}

/// Returns the arguments that a model wrote: the JSON they spell, or their text as a JSON string.
pub(crate) fn arguments_of(text: &str) -> RawJson {
    let text = match text.trim() {
        "" | "null" => "{}",
        text => text,
    };
    let quoted = || RawJson::parse(&Value::from(text).to_string());
    let arguments = RawJson::parse(text).or_else(|_| quoted());
    arguments.unwrap_or_else(|_| unreachable!("a quoted text is JSON"))
}

/// Returns the limit of the answer: that of the request, but at most that of the model.
pub(crate) fn max_output(request: &Request, target: &Target<'_>) -> Option<u64> {
    let cap = target.capabilities.max_output;
    let wanted = request.max_output;
    wanted.map(|wanted| cap.map_or(wanted, |cap| wanted.min(cap)))
}

/// Asks the service to cache the prompt up to here.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// Returns the cache mark that the model's service understands, or nothing if it knows none.
pub(crate) fn cache_control(target: &Target<'_>) -> Option<CacheControl> {
    let marked = match target.compat.cache_control {
        CacheControlModels::Never => false,
        CacheControlModels::Always => true,
        CacheControlModels::Claude => target.model.starts_with("anthropic/"),
    };
    marked.then_some(CacheControl {
        r#type: "ephemeral",
        ttl: (target.compat.cache_ttl == CacheTtl::OneHour).then_some("1h"),
    })
}

/// The longest cache key that OpenAI takes, in characters.
const MAX_CACHE_KEY: usize = 64;

/// Returns the cache key of the conversation, if the service knows such a field.
pub(crate) fn cache_key(request: &Request, target: &Target<'_>) -> Option<String> {
    let key = request.cache_key.as_ref();
    let key = key.filter(|_| target.compat.openai_extras);
    key.map(|key| key.chars().take(MAX_CACHE_KEY).collect())
}

/// Returns the lifetime of the prompt cache, if the service knows that field and a longer one than usual is requested.
pub(crate) fn cache_retention(target: &Target<'_>) -> Option<PromptCacheRetention> {
    let long = target.compat.openai_extras && target.compat.cache_ttl == CacheTtl::OneHour;
    long.then_some(PromptCacheRetention::Hours24)
}

/// Returns the choice of tools as OpenAI's protocols write it.
pub(crate) fn tool_choice(request: &Request) -> ToolChoiceOptions {
    match request.tool_choice {
        ToolChoice::Auto => ToolChoiceOptions::Auto,
        ToolChoice::None => ToolChoiceOptions::None,
        ToolChoice::Required => ToolChoiceOptions::Required,
    }
}

/// Returns `reason` corrected for an answer with or without tool calls: some servers report `stop` after a call, some
/// report calls where there are none.
pub(crate) fn settled(reason: StopReason, calls: bool) -> StopReason {
    match reason {
        StopReason::Stop if calls => StopReason::ToolUse,
        StopReason::ToolUse if !calls => StopReason::Stop,
        StopReason::Other(text) if text.is_empty() && calls => StopReason::ToolUse,
        reason => reason,
    }
}

/// Gives every call a unique id, if the service gave none or the same twice: results could not be matched.
pub(crate) fn dedupe_call_ids(answer: &mut Answer) {
    let place = answer.id.as_deref().unwrap_or("0").to_owned();
    let mut seen = BTreeSet::new();
    let blocks = answer.content.iter_mut();
    let calls = blocks.filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text(_) | Block::Image(_) | Block::Thinking(_) | Block::Other { .. } => None,
    });
    for (number, call) in calls.enumerate() {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = format!("call_{number}_{place}");
            seen.insert(call.id.clone());
        }
    }
}

/// Returns a member that is a count, in any JSON form of the number.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|number| *number >= 0.0);
    value
        .as_u64()
        .or_else(|| float().map(|number| number as u64))
}

/// Returns a member that is a text with at least one character.
pub(crate) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{arguments_object, arguments_of};
    use session_model::ToolCall;

    #[test]
    fn arguments_are_an_object_whatever_the_model_wrote() {
        let sent = ["", "null", r#"{"a": 1}"#, "[1]", r#"{"a": "cut"#, " 7 "].map(|text| {
            let call = ToolCall {
                id: String::new(),
                name: String::new(),
                arguments: Some(arguments_of(text)),
                signature: None,
            };
            arguments_object(&call)
        });
        let want = [
            "{}",
            "{}",
            r#"{"a":1}"#,
            r#"{"arguments":[1]}"#,
            r#"{"arguments":"{\"a\": \"cut"}"#,
            r#"{"arguments":7}"#,
        ];
        assert_eq!(sent, want);
    }
}
