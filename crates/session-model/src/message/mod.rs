//! Messages: what the parties of a session say to each other.

mod content;
mod draft;
mod json_text;
mod nested;
mod system;
mod wire;

use std::ops::AddAssign;
use std::sync::Arc;

use serde::Serialize;

use crate::json::RawJson;
use crate::timestamp::Timestamp;

pub use content::{Block, Content, ImageBlock, TextBlock, ThinkingBlock, ToolCall};
pub use draft::{Cost, MessageDraft, UndraftableMessage};
pub(crate) use json_text::{content_text, push_member};
pub use nested::NestedCall;
pub use system::{current_system, system_raw};
pub(crate) use wire::{WireContent, WireMessage, WireUsage, coerce_message, restore_raw_values};

/// A message with the roles that a session knows.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentMessage {
    /// Instructions and tools in force.
    System(SystemMessage),
    /// What the user said.
    User(UserMessage),
    /// What the harness says in a developer's role.
    Developer(UserMessage),
    /// What the model said.
    Assistant(AssistantMessage),
    /// What a tool gave back.
    ToolResult(ToolResultMessage),
    /// A command that the user ran.
    BashExecution(BashExecution),
    /// A message of an extension.
    Custom(Arc<CustomMessage>),
    /// The summary of a branch that was left.
    BranchSummary(SummaryMessage),
    /// The summary of older history.
    CompactionSummary(SummaryMessage),
    /// A role that this crate does not know; kept, never sent.
    Other {
        /// The role as written.
        role: String,
        /// Its content, if it has one.
        content: Content,
    },
}

impl AgentMessage {
    /// Returns the name of the role as sessions write it.
    pub fn role(&self) -> &str {
        match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Developer(_) => "developer",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
            Self::BashExecution(_) => "bashExecution",
            Self::Custom(_) => "custom",
            Self::BranchSummary(_) => "branchSummary",
            Self::CompactionSummary(_) => "compactionSummary",
            Self::Other { role, .. } => role,
        }
    }

    /// Returns true when a turn begins with the message: a request or command of the user, a message of an
    /// extension, or a summary in place of those.
    pub fn starts_turn(&self) -> bool {
        match self {
            Self::User(_)
            | Self::BashExecution(_)
            | Self::Custom(_)
            | Self::BranchSummary(_)
            | Self::CompactionSummary(_) => true,
            Self::System(_)
            | Self::Developer(_)
            | Self::Assistant(_)
            | Self::ToolResult(_)
            | Self::Other { .. } => false,
        }
    }

    /// Returns the content of the roles that have one and that a context edit may replace.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::User(message) | Self::Developer(message) => Some(&message.content),
            Self::Assistant(message) => Some(&message.content),
            Self::ToolResult(message) => Some(&message.content),
            Self::Custom(message) => Some(&message.content),
            Self::System(message) => Some(&message.content),
            Self::Other { content, .. } => Some(content),
            Self::BashExecution(_) | Self::BranchSummary(_) | Self::CompactionSummary(_) => None,
        }
    }

    /// Returns the message with its content replaced, as a context edit asks;
    /// roles that an edit does not reach stay as they are.
    #[must_use]
    pub fn with_content(&self, content: Content) -> Self {
        let mut edited = self.clone();
        match &mut edited {
            Self::User(message) | Self::Developer(message) => message.content = content,
            Self::Assistant(message) => message.content = content,
            Self::ToolResult(message) => message.content = content,
            Self::Custom(message) => Arc::make_mut(message).content = content,
            // What a command of the user printed is all that is long of it.
            Self::BashExecution(message) => {
                message.output = content.joined_text("\n");
                message.truncated = false;
                message.full_output_path = None;
            }
            Self::System(_)
            | Self::BranchSummary(_)
            | Self::CompactionSummary(_)
            | Self::Other { .. } => {}
        }
        edited
    }

    /// Returns the tool calls that the message makes.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let content = match self {
            Self::Assistant(message) => Some(&message.content),
            _ => None,
        };
        content.into_iter().flat_map(Content::tool_calls)
    }

    /// Returns the calls that the tool made which answers with the message.
    pub fn nested_calls(&self) -> Vec<NestedCall> {
        match self {
            Self::ToolResult(result) => nested::nested_calls(result.nested_calls.as_ref()),
            _ => Vec::new(),
        }
    }

    /// Returns everything readable in the message: its text, thinking and tool calls, for people and JSON output.
    pub fn display_text(&self) -> String {
        match self {
            Self::System(message) => {
                let mut parts = vec![message.content.display_text()];
                parts.extend(message.sections.iter().filter_map(|(_, text)| text.clone()));
                parts.extend(message.tools_added.iter().map(|tool| tool.get().to_owned()));
                parts.retain(|part| !part.is_empty());
                parts.join("\n\n")
            }
            Self::BashExecution(message) => message.to_text(),
            Self::BranchSummary(message) | Self::CompactionSummary(message) => {
                message.summary.clone()
            }
            _ => self
                .content()
                .map(Content::display_text)
                .unwrap_or_default(),
        }
    }
}

/// Instructions and tools in force from here on.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemMessage {
    /// Instructions, added to those before.
    pub content: Content,
    /// Named sections; a section replaces an earlier one of its name, `None` removes it.
    pub sections: Vec<(String, Option<String>)>,
    /// Tools that were added, as JSON objects with a `name`.
    pub tools_added: Vec<RawJson>,
    /// Names of tools that were removed.
    pub tools_removed: Vec<String>,
    /// When it was said.
    pub timestamp: Option<Timestamp>,
}

/// What the user said.
#[derive(Debug, Clone, PartialEq)]
pub struct UserMessage {
    /// The words and images.
    pub content: Content,
    /// When it was said.
    pub timestamp: Option<Timestamp>,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantMessage {
    /// Text, thinking and tool calls.
    pub content: Content,
    /// The wire that it came over.
    pub api: String,
    /// Who served it.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What was billed, if known.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// What went wrong, for `error` and `aborted`.
    pub error_message: Option<String>,
    /// When it was said.
    pub timestamp: Option<Timestamp>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done.
    Stop,
    /// The output cap cut it off.
    Length,
    /// It waits for the results of its tool calls.
    ToolUse,
    /// The provider failed.
    Error,
    /// The user stopped it.
    Aborted,
    /// Another reason, or none given.
    Other(String),
}

/// Tokens billed for one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Prompt tokens that were not cached.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
    /// All of them as the provider counts; 0 when it does not say.
    pub total_tokens: u64,
    /// True when not every part is known, so that their sum is too low: the session does not give it, or the answer
    /// broke off before the service did.
    #[serde(skip)]
    pub incomplete: bool,
}

impl AddAssign for Usage {
    /// Adds up what several answers took, at most to the largest number.
    fn add_assign(&mut self, other: Self) {
        for (sum, part) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.total_tokens, other.total_tokens),
        ] {
            *sum = sum.saturating_add(part);
        }
        self.incomplete = self.incomplete || other.incomplete;
    }
}

impl Usage {
    /// Returns the tokens that the context held after this answer: the provider's total, else the sum of the parts.
    pub fn context_tokens(&self) -> u64 {
        if self.total_tokens > 0 {
            return self.total_tokens;
        }
        self.prompt_tokens().saturating_add(self.output)
    }

    /// Returns the tokens of the prompt, cached or not.
    pub fn prompt_tokens(&self) -> u64 {
        let cached = self.cache_read.saturating_add(self.cache_write);
        self.input.saturating_add(cached)
    }
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResultMessage {
    /// The call that it answers.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Text and images.
    pub content: Content,
    /// True when the tool failed or was denied.
    pub is_error: bool,
    /// When it came back.
    pub timestamp: Option<Timestamp>,
    /// What is recorded of the calls that the tool itself made; see [`AgentMessage::nested_calls`].
    pub nested_calls: Option<RawJson>,
}

/// A command that the user ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashExecution {
    /// The command line.
    pub command: String,
    /// What it printed.
    pub output: String,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i64>,
    /// True when it was stopped.
    pub cancelled: bool,
    /// True when `output` is not all of it.
    pub truncated: bool,
    /// Where all of it is.
    pub full_output_path: Option<String>,
    /// True when the model must not see it.
    pub exclude_from_context: bool,
    /// When it ran.
    pub timestamp: Option<Timestamp>,
}

/// A message of an extension.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomMessage {
    /// Whose message it is.
    pub custom_type: String,
    /// What it says.
    pub content: Content,
    /// Whether people see it.
    pub display: bool,
    /// What the extension keeps with it.
    pub details: Option<RawJson>,
    /// When it was said.
    pub timestamp: Option<Timestamp>,
}

/// A summary in place of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryMessage {
    /// The summary.
    pub summary: String,
    /// When it was made.
    pub timestamp: Option<Timestamp>,
}
