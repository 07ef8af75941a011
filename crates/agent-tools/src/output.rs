//! The result of a call.

use llm_providers::Redactor;
use serde_json::Value;
use session_model::{Block, Content};

use crate::text::each_string;
use crate::text::without_controls;

/// The result of a call: content for the model, and details for all other readers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The content for the model, always blocks.
    pub content: Content,
    /// True if the call failed.
    pub is_error: bool,
    /// Details for programs.
    pub details: Option<Value>,
}

impl ToolOutput {
    /// Returns a good result that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::blocks(vec![Block::text(text)])
    }

    /// Returns a good result of blocks.
    pub fn blocks(blocks: Vec<Block>) -> Self {
        Self {
            content: Content::Blocks(blocks),
            is_error: false,
            details: None,
        }
    }

    /// Returns a failure; the text contains what to do.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Returns the result of a call that was cancelled before it did anything.
    pub fn cancelled() -> Self {
        Self::error("cancelled")
    }

    /// Returns the result of a call that ended in a mistake of the tool's own.
    pub fn failed(tool: &str) -> Self {
        Self::error(format!(
            "{tool} failed on these arguments by a mistake of its own; try other ones"
        ))
    }

    /// Returns the result with details.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self {
            details: Some(details),
            ..self
        }
    }

    /// Returns the result without keys.
    pub fn without_keys(mut self, redactor: &Redactor) -> Self {
        self.each_text(|text| {
            let clean = redactor.clean_answer(text);
            if clean != *text {
                *text = clean;
            }
        });
        self
    }

    /// Returns the result without control characters other than newlines and tabs.
    pub fn cleaned(mut self) -> Self {
        self.each_text(clean);
        self
    }

    /// Changes every text, those of the details included.
    fn each_text(&mut self, change: impl Fn(&mut String)) {
        if let Content::Text(text) = &mut self.content {
            change(text);
        }
        if let Content::Blocks(blocks) = &mut self.content {
            for block in blocks {
                match block {
                    Block::Text(block) => change(&mut block.text),
                    Block::Image(_)
                    | Block::Thinking(_)
                    | Block::ToolCall(_)
                    | Block::Other { .. } => {}
                }
            }
        }
        if let Some(details) = &mut self.details {
            each_string(details, &change);
        }
    }
}

fn clean(text: &mut String) {
    if let Some(cleaned) = without_controls(text) {
        *text = cleaned;
    }
}
