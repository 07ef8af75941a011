//! The body of a Chat Completions request.

use async_openai::types::chat::ChatCompletionStreamOptions;
use async_openai::types::responses::{PromptCacheRetention, ReasoningEffort, ToolChoiceOptions};
use serde::Serialize;
use session_model::json::RawJson;

use crate::capabilities::Levels;
use crate::request::{Reasoning, Request};
use crate::wire::chat::messages::{ChatMessage, chat_messages, set_cache_controls};
use crate::wire::parts::{cache_control, cache_key, cache_retention, max_output, tool_choice};
use crate::wire::reasoning::effort;
use crate::wire::{MaxTokensField, ReasoningField, Target};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<ChatMessage>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<ChatCompletionStreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoiceOptions>,
    #[serde(flatten)]
    thinking: Thinking,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<PromptCacheRetention>,
}

/// The fields for the level of thinking; services differ in which of them they know.
#[derive(Default, Serialize)]
struct Thinking {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Switch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
}

#[derive(Default, Serialize)]
struct ReasoningObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<ReasoningEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

#[derive(Serialize)]
struct Switch {
    r#type: &'static str,
}

impl Thinking {
    fn of(request: &Request, target: &Target<'_>) -> Self {
        let Some(effort) = effort(request.reasoning, target) else {
            return Self::default();
        };
        let on = effort != ReasoningEffort::None;
        // In addition to a switch, an effort is sent to models that are known to take several.
        let levels = target.capabilities.levels.into_iter();
        let graded = on
            && levels
                .flat_map(Levels::iter)
                .filter(|level| *level != Reasoning::Off)
                .count()
                > 1;
        let graded = graded.then(|| effort.clone());
        match target.compat.reasoning_field {
            ReasoningField::None => Self::default(),
            ReasoningField::ReasoningEffort => Self {
                reasoning_effort: Some(effort),
                ..Self::default()
            },
            ReasoningField::ReasoningObject => Self {
                reasoning: Some(ReasoningObject {
                    effort: Some(effort),
                    enabled: None,
                }),
                ..Self::default()
            },
            ReasoningField::ReasoningEnabled => Self {
                reasoning: Some(ReasoningObject {
                    effort: None,
                    enabled: Some(on),
                }),
                reasoning_effort: graded,
                ..Self::default()
            },
            ReasoningField::Thinking => Self {
                thinking: Some(Switch {
                    r#type: if on { "enabled" } else { "disabled" },
                }),
                reasoning_effort: graded,
                ..Self::default()
            },
            ReasoningField::EnableThinking => Self {
                enable_thinking: Some(on),
                reasoning_effort: graded,
                ..Self::default()
            },
        }
    }
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

/// Returns the JSON body of `request` for a streamed answer of `target`.
pub(crate) fn encode(request: &Request, target: &Target<'_>) -> RawJson {
    let compat = target.compat;
    let most = max_output(request, target);
    let (max_tokens, max_completion_tokens) = match compat.max_tokens_field {
        MaxTokensField::MaxTokens => (most, None),
        MaxTokensField::MaxCompletionTokens => (None, most),
    };
    let tools = request.tools.iter().map(|tool| ToolEntry {
        r#type: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
        },
    });
    let stream_options = ChatCompletionStreamOptions {
        include_usage: Some(true),
        include_obfuscation: None,
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
        tool_choice: (!request.tools.is_empty()).then(|| tool_choice(request)),
        thinking: Thinking::of(request, target),
        store: compat.openai_extras.then_some(false),
        prompt_cache_key: cache_key(request, target),
        prompt_cache_retention: cache_retention(target),
    };
    RawJson::of(&body).unwrap_or_else(|_| unreachable!("the body's keys are texts"))
}
