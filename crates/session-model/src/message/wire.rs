//! How messages are serialized in session files, and how unusual forms are normalized.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{self, Members, RawJson};
use crate::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, Content, CustomMessage, ImageBlock,
    StopReason, SummaryMessage, SystemMessage, TextBlock, ThinkingBlock, ToolCall,
    ToolResultMessage, Usage, UserMessage,
};
use crate::timestamp::Timestamp;

/// A message with the members of every role; each role reads its own.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WireMessage {
    #[serde(deserialize_with = "json::text")]
    role: Option<String>,
    content: WireContent,
    #[serde(deserialize_with = "json::count")]
    timestamp: Option<i64>,
    #[serde(deserialize_with = "json::text")]
    api: Option<String>,
    #[serde(deserialize_with = "json::text")]
    provider: Option<String>,
    #[serde(deserialize_with = "json::text")]
    model: Option<String>,
    usage: Option<WireUsage>,
    #[serde(deserialize_with = "json::text")]
    stop_reason: Option<String>,
    #[serde(deserialize_with = "json::text")]
    error_message: Option<String>,
    #[serde(deserialize_with = "json::text")]
    tool_call_id: Option<String>,
    #[serde(deserialize_with = "json::text")]
    tool_name: Option<String>,
    #[serde(deserialize_with = "json::flag")]
    is_error: bool,
    #[serde(deserialize_with = "json::text")]
    command: Option<String>,
    #[serde(deserialize_with = "json::text")]
    output: Option<String>,
    #[serde(deserialize_with = "json::count")]
    exit_code: Option<i64>,
    #[serde(deserialize_with = "json::flag")]
    cancelled: bool,
    #[serde(deserialize_with = "json::flag")]
    truncated: bool,
    #[serde(deserialize_with = "json::text")]
    full_output_path: Option<String>,
    #[serde(deserialize_with = "json::flag")]
    exclude_from_context: bool,
    #[serde(deserialize_with = "json::text")]
    custom_type: Option<String>,
    #[serde(deserialize_with = "json::flag")]
    display: bool,
    details: Option<RawJson>,
    #[serde(deserialize_with = "json::text")]
    summary: Option<String>,
    sections: Option<RawJson>,
    tools_added: Option<Vec<RawJson>>,
    tools_removed: Option<Vec<RawJson>>,
    nested_calls: Option<RawJson>,
}

impl AgentMessage {
    /// Returns the message that a session of `version` spells so.
    pub(crate) fn of_wire(wire: WireMessage, version: u64) -> Self {
        let timestamp = wire.timestamp.map(Timestamp::from_millis);
        let content = Content::from(wire.content);
        match wire.role.as_deref().unwrap_or_default() {
            "system" => Self::System(SystemMessage {
                content,
                sections: wire.sections.as_ref().map(sections).unwrap_or_default(),
                tools_added: wire.tools_added.unwrap_or_default(),
                tools_removed: wire
                    .tools_removed
                    .iter()
                    .flatten()
                    .filter_map(|tool| tool.string_member("name"))
                    .map(std::borrow::Cow::into_owned)
                    .collect(),
                timestamp,
            }),
            "user" => Self::User(UserMessage { content, timestamp }),
            "developer" => Self::Developer(UserMessage { content, timestamp }),
            "assistant" => Self::Assistant(AssistantMessage {
                content,
                api: wire.api.unwrap_or_default(),
                provider: wire.provider.unwrap_or_default(),
                model: wire.model.unwrap_or_default(),
                usage: wire.usage.map(Usage::from),
                stop_reason: StopReason::from_name(wire.stop_reason.as_deref().unwrap_or("")),
                error_message: wire.error_message,
                timestamp,
            }),
            "toolResult" => Self::ToolResult(ToolResultMessage {
                tool_call_id: wire.tool_call_id.unwrap_or_default(),
                tool_name: wire.tool_name.unwrap_or_default(),
                content,
                is_error: wire.is_error,
                timestamp,
                nested_calls: wire.nested_calls,
            }),
            "bashExecution" => Self::BashExecution(BashExecution {
                command: wire.command.unwrap_or_default(),
                output: wire.output.unwrap_or_default(),
                exit_code: wire.exit_code,
                cancelled: wire.cancelled,
                truncated: wire.truncated,
                full_output_path: wire.full_output_path,
                exclude_from_context: wire.exclude_from_context,
                timestamp,
            }),
            // Version 2 calls the role of extension messages `hookMessage`.
            "hookMessage" if version < 3 => Self::of_wire(
                WireMessage {
                    role: Some("custom".to_owned()),
                    content: WireContent(content),
                    ..wire
                },
                version,
            ),
            "custom" => Self::Custom(Arc::new(CustomMessage {
                custom_type: wire.custom_type.unwrap_or_default(),
                content,
                display: wire.display,
                details: wire.details,
                timestamp,
            })),
            "branchSummary" => Self::BranchSummary(SummaryMessage {
                summary: wire.summary.unwrap_or_default(),
                timestamp,
            }),
            "compactionSummary" => Self::CompactionSummary(SummaryMessage {
                summary: wire.summary.unwrap_or_default(),
                timestamp,
            }),
            role => Self::Other {
                role: role.to_owned(),
                content,
            },
        }
    }
}

/// Puts raw values (arguments of calls, tools) back as they stand in the line, where a repair of the
/// whole line replaced lone surrogates in them: raw values can hold those, and peers count them.
pub(crate) fn restore_raw_values(message: &mut AgentMessage, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    let written = json::member(&line, "message");
    let list = |key: &str| {
        let list = json::member(written?, key)?;
        serde_json::from_str::<Vec<&RawValue>>(list).ok()
    };
    match message {
        AgentMessage::System(system) => {
            let tools = list("toolsAdded").into_iter().flatten();
            let tools = tools.map(|tool| RawJson::parse(tool.get()));
            for (tool, raw) in system.tools_added.iter_mut().zip(tools) {
                if let Ok(raw) = raw {
                    *tool = raw;
                }
            }
        }
        AgentMessage::Assistant(answer) => {
            let (Content::Blocks(blocks), Some(raw)) = (&mut answer.content, list("content"))
            else {
                return;
            };
            for (block, raw) in blocks.iter_mut().zip(raw) {
                if let Block::ToolCall(call) = block
                    && let Some(arguments) = json::member(raw.get(), "arguments")
                    && let Ok(arguments) = RawJson::parse(arguments)
                {
                    call.arguments = Some(arguments);
                }
            }
        }
        _ => {}
    }
}

/// Returns the sections of a system message in their order.
fn sections(raw: &RawJson) -> Vec<(String, Option<String>)> {
    let Some(members) = Members::parse(raw.get()) else {
        return Vec::new();
    };
    let items = members.0.iter().map(|(name, value)| {
        let text = serde_json::from_str::<Option<String>>(value.get());
        (name.clone().into_owned(), text.unwrap_or_default())
    });
    items.collect()
}

impl StopReason {
    /// Returns the reason that a session names so.
    pub fn from_name(name: &str) -> Self {
        match name {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "toolUse" => Self::ToolUse,
            "error" => Self::Error,
            "aborted" => Self::Aborted,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns the name that sessions use.
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolUse => "toolUse",
            Self::Error => "error",
            Self::Aborted => "aborted",
            Self::Other(other) => other,
        }
    }
}

/// Billed tokens as written; null and fractions are allowed.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WireUsage {
    #[serde(deserialize_with = "written")]
    input: Option<Option<i64>>,
    #[serde(deserialize_with = "written")]
    output: Option<Option<i64>>,
    #[serde(deserialize_with = "written")]
    cache_read: Option<Option<i64>>,
    #[serde(deserialize_with = "written")]
    cache_write: Option<Option<i64>>,
    #[serde(deserialize_with = "written")]
    total_tokens: Option<Option<i64>>,
    incomplete: Value,
}

/// Tells a count that is null from one that is missing.
fn written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<i64>>, D::Error> {
    json::count(deserializer).map(Some)
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let tokens = |count: Option<Option<i64>>| {
            let count = count.flatten();
            count.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
        };
        let parts = [wire.input, wire.output, wire.cache_read, wire.cache_write];
        Self {
            incomplete: parts.contains(&None) || wire.incomplete == Value::Bool(true),
            input: tokens(wire.input),
            output: tokens(wire.output),
            cache_read: tokens(wire.cache_read),
            cache_write: tokens(wire.cache_write),
            total_tokens: tokens(wire.total_tokens),
        }
    }
}

/// Content as written: a text, blocks, or null.
#[derive(Default)]
pub(crate) struct WireContent(pub(crate) Content);

impl From<WireContent> for Content {
    fn from(wire: WireContent) -> Self {
        wire.0
    }
}

impl<'de> Deserialize<'de> for WireContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a list of blocks, or null")
            }

            fn visit_unit<E>(self) -> Result<Content, E> {
                Ok(Content::default())
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element::<WireBlock>()? {
                    blocks.push(Block::from(block));
                }
                Ok(Content::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(ContentVisitor).map(Self)
    }
}

/// A block with the members of every type; each type reads its own.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WireBlock {
    #[serde(rename = "type", deserialize_with = "json::text")]
    kind: Option<String>,
    #[serde(deserialize_with = "json::text")]
    text: Option<String>,
    #[serde(deserialize_with = "json::text")]
    text_signature: Option<String>,
    #[serde(deserialize_with = "json::text")]
    data: Option<String>,
    #[serde(deserialize_with = "json::text")]
    mime_type: Option<String>,
    #[serde(deserialize_with = "json::text")]
    thinking: Option<String>,
    #[serde(deserialize_with = "json::text")]
    thinking_signature: Option<String>,
    #[serde(deserialize_with = "json::flag")]
    redacted: bool,
    #[serde(deserialize_with = "json::text")]
    id: Option<String>,
    #[serde(deserialize_with = "json::text")]
    name: Option<String>,
    arguments: Option<RawJson>,
    #[serde(deserialize_with = "json::text")]
    thought_signature: Option<String>,
}

impl From<WireBlock> for Block {
    fn from(wire: WireBlock) -> Self {
        match wire.kind.as_deref().unwrap_or_default() {
            "text" => Self::Text(TextBlock {
                text: wire.text.unwrap_or_default(),
                signature: wire.text_signature,
            }),
            "image" => Self::Image(ImageBlock {
                data: Arc::from(wire.data.unwrap_or_default()),
                mime_type: wire.mime_type.unwrap_or_default(),
            }),
            "thinking" => Self::Thinking(ThinkingBlock {
                thinking: wire.thinking.unwrap_or_default(),
                signature: wire.thinking_signature,
                redacted: wire.redacted,
            }),
            "toolCall" => Self::ToolCall(ToolCall {
                id: wire.id.unwrap_or_default(),
                name: wire.name.unwrap_or_default(),
                arguments: wire.arguments,
                signature: wire.thought_signature,
            }),
            kind => Self::Other {
                kind: kind.to_owned(),
            },
        }
    }
}

/// Mends members of a message that have another type than expected, so that the rest can be read:
/// numbers written as text are taken as numbers, everything else that does not fit is left out.
pub(crate) fn coerce_message(message: &mut Value) {
    let Value::Object(members) = message else {
        *message = Value::Object(serde_json::Map::new());
        return;
    };
    for (key, value) in members.iter_mut() {
        match key.as_str() {
            "role" | "api" | "provider" | "model" | "stopReason" | "errorMessage"
            | "toolCallId" | "toolName" | "command" | "output" | "fullOutputPath"
            | "customType" | "summary" => coerce_text(value),
            "timestamp" | "exitCode" => coerce_number(value),
            "usage" => match value {
                Value::Object(usage) => usage.values_mut().for_each(coerce_number),
                other => *other = Value::Null,
            },
            "toolsAdded" | "toolsRemoved" if !value.is_array() => *value = Value::Null,
            "content" => coerce_content(value),
            _ => {}
        }
    }
}

fn coerce_content(content: &mut Value) {
    match content {
        Value::Array(blocks) => {
            for block in blocks {
                match block {
                    Value::Object(members) => {
                        let texts = members
                            .iter_mut()
                            .filter(|(key, _)| !matches!(key.as_str(), "arguments" | "redacted"));
                        texts.for_each(|(_, value)| coerce_text(value));
                    }
                    // A bare text among blocks is a text block.
                    Value::String(text) => {
                        *block = serde_json::json!({ "type": "text", "text": text });
                    }
                    other => *other = serde_json::json!({ "type": "" }),
                }
            }
        }
        Value::String(_) | Value::Null => {}
        other => *other = Value::String(other.to_string()),
    }
}

fn coerce_text(value: &mut Value) {
    match value {
        Value::String(_) | Value::Null => {}
        Value::Number(number) => *value = Value::String(number.to_string()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => *value = Value::Null,
    }
}

fn coerce_number(value: &mut Value) {
    match value {
        Value::Number(_) | Value::Null => {}
        Value::String(text) => {
            let number = text.trim().parse::<f64>().ok();
            let number = number.and_then(serde_json::Number::from_f64);
            *value = number.map_or(Value::Null, Value::Number);
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => *value = Value::Null,
    }
}
