//! The body of a `generateContent` request.

use serde::Serialize;
use session_model::json::RawJson;

use crate::request::{Request, ToolChoice};
use crate::wire::Target;
use crate::wire::gemini::contents::{Entry, Part, contents};
use crate::wire::parts::max_output;
use crate::wire::reasoning::{level, thinking_level};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    contents: Vec<Entry>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Instruction {
    parts: [Part; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a RawJson,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: Mode,
}

#[derive(Serialize)]
struct Mode {
    mode: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
}

/// The greatest budget that every model takes (ai.google.dev/gemini-api/docs/thinking).
const MAX_BUDGET: u64 = 24_576;

/// Returns the JSON body of `request` for an answer of `target`.
pub(crate) fn encode(request: &Request, target: &Target<'_>) -> RawJson {
    let tools = request.tools.iter().map(|tool| Declaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.parameters,
    });
    let tools = Tools {
        function_declarations: tools.collect(),
    };
    let tool_config = ToolConfig {
        function_calling_config: Mode {
            mode: match request.tool_choice {
                ToolChoice::Auto => "AUTO",
                ToolChoice::None => "NONE",
                ToolChoice::Required => "ANY",
            },
        },
    };
    let has_tools = !request.tools.is_empty();
    let system = (!request.system.trim().is_empty()).then(|| Instruction {
        parts: [Part::text(request.system.clone())],
    });
    let body = Body {
        system_instruction: system,
        tools: has_tools.then_some([tools]),
        tool_config: has_tools.then_some(tool_config),
        contents: contents(request, target),
        generation_config: GenerationConfig {
            max_output_tokens: max_output(request, target),
            thinking_config: thinking(request, target),
        },
    };
    RawJson::of(&body).unwrap_or_else(|_| unreachable!("the body's keys are texts"))
}

/// Returns the thinking options: a level for models that take one (Gemini 3 and later), a budget for the others.
fn thinking(request: &Request, target: &Target<'_>) -> Option<ThinkingConfig> {
    let asked = level(request.reasoning, target);
    if asked.is_none() && !target.capabilities.reasoning {
        return None;
    }
    let by_level = target.thinks_by_level();
    let level = thinking_level(request.reasoning, target).filter(|_| by_level);
    // Every model takes the least budget, and none more than the greatest.
    let budget = asked
        .filter(|_| !by_level)
        .map(|level| level.budget().clamp(512, MAX_BUDGET));
    Some(ThinkingConfig {
        include_thoughts: true,
        thinking_level: level.map(|level| level.name().to_ascii_uppercase()),
        thinking_budget: budget,
    })
}
