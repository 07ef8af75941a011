//! The bodies: a streamed turn, the same with a compaction trigger, and the standalone compaction.

use async_openai::types::responses::{
    IncludeEnum, PromptCacheRetention, ReasoningEffort, ReasoningSummary, ToolChoiceOptions,
};
use serde::Serialize;
use session_model::json::RawJson;

use crate::request::Request;
use crate::wire::Target;
use crate::wire::parts::{cache_key, cache_retention, max_output, tool_choice};
use crate::wire::reasoning::effort;
use crate::wire::responses::items::{self, input};

/// The body of `POST {base}/responses`. The order of the fields is the order in the body.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    // Not a developer message: `instructions` stays out of `input`, so native items that a compaction returns never
    // hold an old system prompt, `/responses/compact` takes the same field, and every server of this protocol knows it.
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: &'a [RawJson],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoiceOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[IncludeEnum; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<PromptCacheRetention>,
}

/// The body of `POST {base}/responses/compact`.
#[derive(Serialize)]
struct CompactBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: &'a [RawJson],
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<PromptCacheRetention>,
}

#[derive(Serialize)]
struct Function<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawJson,
    strict: bool,
}

#[derive(Serialize)]
struct Thinking {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<ReasoningEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<ReasoningSummary>,
}

/// Returns the body of a streamed turn.
pub(crate) fn encode(request: &Request, target: &Target<'_>) -> RawJson {
    encode_with(request, target, &input(request, target))
}

/// Returns the body of a streamed turn with these input items (see [`input`]) instead of the request's.
pub(crate) fn encode_with(request: &Request, target: &Target<'_>, input: &[RawJson]) -> RawJson {
    let extras = target.compat.openai_extras;
    let reasons = target.capabilities.reasoning;
    let has_tools = !request.tools.is_empty();
    json(&Body {
        model: target.model,
        instructions: &request.system,
        input,
        tools: functions(request),
        tool_choice: has_tools.then(|| tool_choice(request)),
        parallel_tool_calls: has_tools.then_some(true),
        reasoning: thinking(request, target),
        max_output_tokens: max_output(request, target),
        stream: true,
        store: extras.then_some(false),
        include: (extras && reasons).then_some([IncludeEnum::ReasoningEncryptedContent]),
        prompt_cache_key: cache_key(request, target),
        prompt_cache_retention: cache_retention(target),
    })
}

/// Returns the body of a turn that compacts: the same as the live one, and a trigger as the last item.
#[cfg(test)]
pub(crate) fn encode_in_band(request: &Request, target: &Target<'_>) -> RawJson {
    encode_in_band_with(request, target, input(request, target))
}

/// Returns the body of a turn that compacts these input items.
pub(crate) fn encode_in_band_with(
    request: &Request,
    target: &Target<'_>,
    mut input: Vec<RawJson>,
) -> RawJson {
    input.push(json(&items::Item::CompactionTrigger));
    encode_with(request, target, &input)
}

/// Returns the body of a standalone compaction.
#[cfg(test)]
pub(crate) fn encode_compact(request: &Request, target: &Target<'_>) -> RawJson {
    encode_compact_with(request, target, &input(request, target))
}

/// Returns the body of a standalone compaction of these input items: the parameters that are documented for it
/// (developers.openai.com/api/reference/resources/responses/methods/compact).
pub(crate) fn encode_compact_with(
    request: &Request,
    target: &Target<'_>,
    input: &[RawJson],
) -> RawJson {
    json(&CompactBody {
        model: target.model,
        instructions: &request.system,
        input,
        prompt_cache_key: cache_key(request, target),
        prompt_cache_retention: cache_retention(target),
    })
}

fn functions(request: &Request) -> Vec<Function<'_>> {
    let tools = request.tools.iter();
    tools
        .map(|tool| Function {
            kind: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: false,
        })
        .collect()
}

/// Returns the thinking options of a request, or `None` when none are sent.
fn thinking(request: &Request, target: &Target<'_>) -> Option<Thinking> {
    let effort = effort(request.reasoning, target);
    let summary = target.capabilities.reasoning && target.compat.openai_extras;
    let summary = summary.then_some(ReasoningSummary::Auto);
    (effort.is_some() || summary.is_some()).then_some(Thinking { effort, summary })
}

/// Returns the JSON text of a value of this module.
pub(super) fn json(value: &impl Serialize) -> RawJson {
    RawJson::of(value).unwrap_or_else(|_| unreachable!("texts, numbers and JSON are JSON"))
}
