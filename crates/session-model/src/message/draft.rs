//! New messages: what a running agent writes, serialized as the pi family does.

use crate::json::{RawJson, quoted};
use crate::message::json_text::{Member, content_text, object_text, push_optional};
use crate::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, Content, CustomMessage,
    ToolResultMessage, UserMessage, system_raw,
};
use crate::timestamp::Timestamp;

/// A message that is not stamped yet.
///
/// It holds only roles that can be written as a message; see [`MessageDraft::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct MessageDraft {
    message: AgentMessage,
    /// What an answer cost; zeros are written where nobody knows, because peers expect the figures.
    pub cost: Option<Cost>,
    /// What is kept with a tool's result, unseen by the model: a diff, for example.
    /// A message of an extension has details of its own, which come first.
    pub details: Option<RawJson>,
}

/// What an answer cost, in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Prompt tokens that were not cached.
    pub input: f64,
    /// Tokens of the answer.
    pub output: f64,
    /// Prompt tokens read from the cache.
    pub cache_read: f64,
    /// Prompt tokens written to the cache.
    pub cache_write: f64,
    /// All of it.
    pub total: f64,
}

/// Why a message cannot be written as an entry of type `message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndraftableMessage {
    /// It stands for a compaction or a branch summary, which have entries of their own.
    #[error("a message of the role {0} is not written by itself; write its entry")]
    Summary(&'static str),
    /// Its role is unknown.
    #[error("the role {0} is unknown and cannot be serialized")]
    UnknownRole(String),
    /// A block of its content is unknown.
    #[error("a block of the type {0} is unknown and cannot be serialized")]
    UnknownBlock(String),
}

impl MessageDraft {
    /// Returns a draft of `message`, or the reason why no line of it would read back as the same message.
    ///
    /// # Errors
    ///
    /// [`UndraftableMessage`] when the role or a block is of an unknown kind.
    pub fn new(message: AgentMessage) -> Result<Self, UndraftableMessage> {
        let blocks = match &message {
            AgentMessage::BranchSummary(_) => {
                return Err(UndraftableMessage::Summary("branchSummary"));
            }
            AgentMessage::CompactionSummary(_) => {
                return Err(UndraftableMessage::Summary("compactionSummary"));
            }
            AgentMessage::Other { role, .. } => {
                return Err(UndraftableMessage::UnknownRole(role.clone()));
            }
            AgentMessage::System(_)
            | AgentMessage::User(_)
            | AgentMessage::Developer(_)
            | AgentMessage::Assistant(_)
            | AgentMessage::ToolResult(_)
            | AgentMessage::BashExecution(_)
            | AgentMessage::Custom(_) => message.content().map(Content::blocks),
        };
        let unknown = blocks.into_iter().flatten().find_map(|block| match block {
            Block::Other { kind } => Some(kind.clone()),
            Block::Text(_) | Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) => None,
        });
        match unknown {
            Some(kind) => Err(UndraftableMessage::UnknownBlock(kind)),
            None => Ok(Self::of(message)),
        }
    }

    /// Returns what the user said: a text, serialized as a block as peers do.
    pub fn user(text: impl Into<String>) -> Self {
        Self::of(AgentMessage::User(UserMessage {
            content: Content::Blocks(vec![Block::text(text)]),
            timestamp: None,
        }))
    }

    fn of(message: AgentMessage) -> Self {
        Self {
            message,
            cost: None,
            details: None,
        }
    }

    /// Returns the draft with what the answer cost.
    #[must_use]
    pub fn with_cost(mut self, cost: Cost) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Returns the draft with details.
    #[must_use]
    pub fn with_details(mut self, details: RawJson) -> Self {
        self.details = Some(details);
        self
    }

    /// Returns the message.
    pub fn message(&self) -> &AgentMessage {
        &self.message
    }

    /// Returns the JSON text of the message; `written` is its time where it has none of its own.
    pub(crate) fn to_json_text(&self, written: Timestamp) -> String {
        let time = |own: Option<Timestamp>| ("timestamp", millis(own.unwrap_or(written)));
        let mut members: Vec<Member> = vec![("role", quoted(self.message.role()))];
        let mut details = self.details.as_ref();
        match &self.message {
            AgentMessage::System(system) => {
                let at = system.timestamp.unwrap_or(written);
                return system_raw(system, at.as_millis()).one_line();
            }
            AgentMessage::User(message) | AgentMessage::Developer(message) => {
                members.push(("content", content_text(&message.content)));
                members.push(time(message.timestamp));
            }
            AgentMessage::Assistant(message) => {
                self.push_answer(&mut members, message);
                members.push(time(message.timestamp));
                push_optional(
                    &mut members,
                    "errorMessage",
                    message.error_message.as_deref(),
                );
            }
            AgentMessage::ToolResult(message) => {
                push_result(&mut members, message, details.take());
                members.push(time(message.timestamp));
            }
            AgentMessage::BashExecution(message) => {
                push_command(&mut members, message);
                members.push(time(message.timestamp));
            }
            AgentMessage::Custom(message) => {
                push_custom(&mut members, message, details.take());
                members.push(time(message.timestamp));
            }
            AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_)
            | AgentMessage::Other { .. } => unreachable!("no draft holds such a message"),
        }
        if let Some(details) = details {
            members.push(("details", details.one_line()));
        }
        object_text(&members)
    }

    fn push_answer(&self, members: &mut Vec<Member>, message: &AssistantMessage) {
        // Peers read the figures of every answer, of one that was cut short too.
        let usage = message.usage.unwrap_or_default();
        let cost = self.cost.unwrap_or_default();
        let cost = object_text(&[
            ("input", dollars(cost.input)),
            ("output", dollars(cost.output)),
            ("cacheRead", dollars(cost.cache_read)),
            ("cacheWrite", dollars(cost.cache_write)),
            ("total", dollars(cost.total)),
        ]);
        let mut figures = vec![
            ("input", usage.input.to_string()),
            ("output", usage.output.to_string()),
            ("cacheRead", usage.cache_read.to_string()),
            ("cacheWrite", usage.cache_write.to_string()),
            ("totalTokens", usage.total_tokens.to_string()),
            ("cost", cost),
        ];
        if usage.incomplete {
            figures.push(("incomplete", true.to_string()));
        }
        let usage = object_text(&figures);
        members.push(("content", content_text(&message.content)));
        members.push(("api", quoted(&message.api)));
        members.push(("provider", quoted(&message.provider)));
        members.push(("model", quoted(&message.model)));
        members.push(("usage", usage));
        members.push(("stopReason", quoted(message.stop_reason.name())));
    }
}

fn push_result(members: &mut Vec<Member>, message: &ToolResultMessage, details: Option<&RawJson>) {
    members.push(("toolCallId", quoted(&message.tool_call_id)));
    members.push(("toolName", quoted(&message.tool_name)));
    members.push(("content", content_text(&message.content)));
    if let Some(details) = details {
        members.push(("details", details.one_line()));
    }
    if let Some(nested) = &message.nested_calls {
        members.push(("nestedCalls", nested.one_line()));
    }
    members.push(("isError", message.is_error.to_string()));
}

fn push_command(members: &mut Vec<Member>, message: &BashExecution) {
    members.push(("command", quoted(&message.command)));
    members.push(("output", quoted(&message.output)));
    if let Some(code) = message.exit_code {
        members.push(("exitCode", code.to_string()));
    }
    members.push(("cancelled", message.cancelled.to_string()));
    members.push(("truncated", message.truncated.to_string()));
    let path = message.full_output_path.as_deref();
    push_optional(members, "fullOutputPath", path);
    if message.exclude_from_context {
        members.push(("excludeFromContext", "true".to_owned()));
    }
}

fn push_custom(members: &mut Vec<Member>, message: &CustomMessage, details: Option<&RawJson>) {
    members.push(("customType", quoted(&message.custom_type)));
    members.push(("content", content_text(&message.content)));
    members.push(("display", message.display.to_string()));
    if let Some(details) = message.details.as_ref().or(details) {
        members.push(("details", details.one_line()));
    }
}

fn millis(at: Timestamp) -> String {
    at.as_millis().to_string()
}

/// Returns an amount as JavaScript spells it; what is no number is zero.
fn dollars(amount: f64) -> String {
    match amount.is_finite() {
        true => ryu_js::Buffer::new().format_finite(amount).to_owned(),
        false => "0".to_owned(),
    }
}
