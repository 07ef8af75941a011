//! The answer of a model: its streamed pieces, and the whole.

use session_model::json::RawJson;
use session_model::{Block, StopReason, ToolCall, Usage};

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Text of the answer, in pieces.
    Text(String),
    /// Text of the model's thinking, in pieces.
    Thinking(String),
    /// A piece of a tool call.
    ToolCall {
        /// The index of the call in the answer, from 0.
        index: usize,
        /// The tool.
        name: String,
        /// More of the arguments' JSON text; may be empty.
        arguments: String,
    },
    /// The answer is complete. Always the last event.
    Done(Answer),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Thinking, text and tool calls in their order, with the provider's signatures.
    pub content: Vec<Block>,
    /// The provider's own compaction items, verbatim; empty but for native compaction.
    pub native: Vec<RawJson>,
    /// The reason why it ended.
    pub stop_reason: StopReason,
    /// The billed usage.
    pub usage: Usage,
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            content: Vec::new(),
            native: Vec::new(),
            stop_reason: StopReason::Stop,
            usage: Usage::default(),
            id: None,
            model: None,
        }
    }
}

impl Answer {
    /// Returns the text of the answer, without thinking and tool calls.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text(block) => Some(block.text.as_str()),
            Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
        });
        texts.collect()
    }

    /// Returns the tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text(_) | Block::Image(_) | Block::Thinking(_) | Block::Other { .. } => None,
        })
    }
}
