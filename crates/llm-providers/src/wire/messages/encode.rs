//! The body of a Messages request.

use async_openai::types::responses::ReasoningEffort;
use serde::Serialize;
use session_model::json::RawJson;

use crate::request::{Reasoning, Request, ToolChoice};
use crate::wire::messages::conversation::{Entry, Message, Role, messages};
use crate::wire::parts::{CacheControl, cache_control, max_output};
use crate::wire::reasoning::{self, can_be_off, level, thinking_level};
use crate::wire::{Platform, Target};

/// The beta (header `anthropic-beta`) that native compaction needs, both to request it and to replay it.
pub(crate) const COMPACTION_BETA: &str = "compact-2026-01-12";

/// The smallest prompt, in tokens, that the service compacts; a smaller one it answers.
pub(crate) const MIN_TRIGGER: u64 = 50_000;

/// The limit of an answer when neither the request nor the catalog has one, since the protocol requires one: every
/// model that is still served can answer as much.
const DEFAULT_MAX_OUTPUT: u64 = 8192;

/// The smallest thinking budget, in tokens.
const MIN_THINKING: u64 = 1024;

/// The number of user messages with a cache control. With those of the tools and of the system prompt these are four,
/// which is the limit of the service.
const MARKED_MESSAGES: usize = 2;

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    max_tokens: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Typed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Entry>,
    messages: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_management: Option<ContextManagement>,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawJson,
    /// Large arguments come as they are written, not after a long silence.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    eager_input_streaming: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct Typed {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u64>,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: ReasoningEffort,
}

#[derive(Serialize)]
struct ContextManagement {
    edits: [CompactEdit; 1],
}

#[derive(Serialize)]
struct CompactEdit {
    r#type: &'static str,
    trigger: Trigger,
    pause_after_compaction: bool,
}

#[derive(Serialize)]
struct Trigger {
    r#type: &'static str,
    value: u64,
}

/// Returns the JSON body of `request` for a streamed answer of `target`.
pub(crate) fn encode(request: &Request, target: &Target<'_>) -> RawJson {
    spell(&body(request, target))
}

/// Returns the JSON body that requests `target` to compact the conversation of `request` and to stop after that. It
/// shares its beginning with the body of a turn, so that the prompt cache is hit. A conversation below 50,000 tokens is
/// answered instead. Needs [`COMPACTION_BETA`].
pub(crate) fn encode_compact(request: &Request, target: &Target<'_>) -> RawJson {
    let edit = CompactEdit {
        r#type: "compact_20260112",
        trigger: Trigger {
            r#type: "input_tokens",
            value: MIN_TRIGGER,
        },
        pause_after_compaction: true,
    };
    let mut body = body(request, target);
    body.context_management = Some(ContextManagement { edits: [edit] });
    spell(&body)
}

fn spell(body: &Body<'_>) -> RawJson {
    RawJson::of(body).unwrap_or_else(|_| unreachable!("the body's keys are texts"))
}

fn body<'a>(request: &'a Request, target: &Target<'a>) -> Body<'a> {
    let most = max_output(request, target).or(target.capabilities.max_output);
    let max_tokens = most.unwrap_or(DEFAULT_MAX_OUTPUT);
    let tools = request.tools.iter().map(|tool| ToolEntry {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
        eager_input_streaming: target.compat.eager_tools,
        cache_control: None,
    });
    let tool_choice = Typed {
        r#type: match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
            ToolChoice::Required => "any",
        },
    };
    // If the address names the model, the body names the version of the protocol.
    let (model, anthropic_version, stream) = match target.compat.platform {
        Platform::Plain => (Some(target.model), None, true),
        #[cfg(feature = "bedrock")]
        Platform::Bedrock => (None, Some("bedrock-2023-05-31"), false),
        #[cfg(feature = "vertex")]
        Platform::Vertex => (None, Some("vertex-2023-10-16"), true),
    };
    let mut body = Body {
        model,
        anthropic_version,
        max_tokens,
        stream,
        tools: tools.collect(),
        tool_choice: (!request.tools.is_empty()).then_some(tool_choice),
        system: Vec::from_iter(Entry::text(request.system.clone())),
        messages: messages(request, target),
        thinking: None,
        output_config: effort(request, target).map(|effort| OutputConfig { effort }),
        context_management: None,
    };
    body.thinking = thinking(request, target, &body);
    if let Some(mark) = cache_control(target) {
        set_cache_controls(&mut body, mark);
    }
    body
}

/// Returns the effort, for models that decide with it how much they think.
fn effort(request: &Request, target: &Target<'_>) -> Option<ReasoningEffort> {
    let level = thinking_level(request.reasoning, target).filter(|_| target.thinks_by_level());
    level.and_then(|level| reasoning::effort(level, target))
}

/// Returns the thinking options, if the model can think, thinking is requested, and the service accepts it: it refuses
/// thinking together with a required call, and in the middle of calls that began without thinking.
fn thinking(request: &Request, target: &Target<'_>, body: &Body<'_>) -> Option<Thinking> {
    let level = level(request.reasoning, target)?;
    if level == Reasoning::Off {
        let switched = target.thinks_by_level() && can_be_off(target);
        return switched.then_some(Thinking {
            r#type: "disabled",
            budget_tokens: None,
        });
    }
    let forced = request.tool_choice == ToolChoice::Required && !request.tools.is_empty();
    let unthought = match body.messages.as_slice() {
        [.., answer, results] => {
            matches!(results.content.first(), Some(Entry::ToolResult { .. }))
                && !answer.content.first().is_some_and(Entry::is_thinking)
        }
        _ => false,
    };
    if forced {
        return None;
    }
    if target.thinks_by_level() {
        return Some(Thinking {
            r#type: "adaptive",
            budget_tokens: None,
        });
    }
    let room = body.max_tokens > MIN_THINKING;
    // Half of the answer's tokens are reserved for its text.
    let budget = level.budget().min(body.max_tokens / 2).max(MIN_THINKING);
    (room && !unthought).then_some(Thinking {
        r#type: "enabled",
        budget_tokens: Some(budget),
    })
}

/// Sets the cache controls: after the tools, after the system prompt, and after the last messages of the user.
fn set_cache_controls(body: &mut Body<'_>, mark: CacheControl) {
    if let Some(tool) = body.tools.last_mut() {
        tool.cache_control = Some(mark);
    }
    if let Some(entry) = body.system.last_mut() {
        entry.set_cache_control(mark);
    }
    let recent = body.messages.iter_mut().rev();
    let recent = recent.filter(|message| message.role == Role::User);
    for message in recent.take(MARKED_MESSAGES) {
        if let Some(entry) = message.content.last_mut() {
            entry.set_cache_control(mark);
        }
    }
}
