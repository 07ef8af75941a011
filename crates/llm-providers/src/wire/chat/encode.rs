//! The body of a Chat Completions request.

use serde::Serialize;
use session_model::json::RawJson;

use crate::request::{Request, ToolChoice};
use crate::wire::chat::messages::{ChatMessage, chat_messages, set_cache_controls};
use crate::wire::parts::{cache_control, cache_key, max_output};
use crate::wire::reasoning::level;
use crate::wire::{MaxTokensField, ReasoningField, Target};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<ChatMessage>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ReasoningObject {
    effort: &'static str,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawJson,
}

/// Returns the JSON body that asks `target` for a streamed answer to `request`.
pub(crate) fn encode(request: &Request, target: &Target<'_>) -> RawJson {
    let compat = target.compat;
    let most = max_output(request, target);
    let (max_tokens, max_completion_tokens) = match compat.max_tokens_field {
        MaxTokensField::MaxTokens => (most, None),
        MaxTokensField::MaxCompletionTokens => (None, most),
    };
    let level = level(request.reasoning, target);
    let effort = |least| level.map(|level| level.effort(least));
    let (reasoning_effort, reasoning) = match compat.reasoning_field {
        ReasoningField::ReasoningEffort => (effort("low"), None),
        ReasoningField::ReasoningObject => {
            let effort = effort("minimal");
            (None, effort.map(|effort| ReasoningObject { effort }))
        }
        ReasoningField::None => (None, None),
    };
    let tools = request.tools.iter().map(|tool| ToolEntry {
        r#type: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
        },
    });
    let tool_choice = match request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "required",
    };
    let stream_options = StreamOptions {
        include_usage: true,
    };
    let mut messages = chat_messages(request, target);
    if let Some(mark) = cache_control(target) {
        set_cache_controls(&mut messages, mark);
    }
    let body = Body {
        model: target.model,
        messages,
        stream: true,
        stream_options: compat.stream_usage.then_some(stream_options),
        max_tokens,
        max_completion_tokens,
        tools: tools.collect(),
        tool_choice: (!request.tools.is_empty()).then_some(tool_choice),
        reasoning_effort,
        reasoning,
        store: compat.openai_extras.then_some(false),
        prompt_cache_key: cache_key(request, target),
    };
    RawJson::of(&body).unwrap_or_else(|_| unreachable!("the body's keys are texts"))
}
