//! What messages consist of: texts, images, thinking, tool calls.

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::RawJson;

/// What a message consists of: one text, or blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// One text.
    Text(String),
    /// Blocks in their order.
    Blocks(Vec<Block>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl Content {
    /// Returns the blocks, when the content is not one plain text.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// Returns the texts: the plain one, or those of the text blocks.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let plain = match self {
            Self::Text(text) => Some(text.as_str()),
            Self::Blocks(_) => None,
        };
        let blocks = self.blocks().iter().filter_map(|block| match block {
            Block::Text(block) => Some(block.text.as_str()),
            Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
        });
        plain.into_iter().chain(blocks)
    }

    /// Returns the texts joined by `separator`.
    pub fn joined_text(&self, separator: &str) -> String {
        self.joined(separator).into_owned()
    }

    /// Returns the same, without a copy of a single text.
    pub fn joined(&self, separator: &str) -> Cow<'_, str> {
        let mut texts = self.texts();
        match (texts.next(), texts.next()) {
            (Some(text), None) => Cow::Borrowed(text),
            _ => Cow::Owned(self.texts().collect::<Vec<_>>().join(separator)),
        }
    }

    /// Returns the tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks().iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text(_) | Block::Image(_) | Block::Thinking(_) | Block::Other { .. } => None,
        })
    }

    /// Returns true when there is neither text nor any block.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }

    pub(super) fn display_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                let parts = blocks.iter().map(Block::display_text);
                parts.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// One block of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(TextBlock),
    /// An image.
    Image(ImageBlock),
    /// The model's thinking, with the provider's signature where there is one.
    Thinking(ThinkingBlock),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// A block that this crate does not know.
    Other {
        /// Its type as written.
        kind: String,
    },
}

impl Block {
    /// Returns a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock {
            text: text.into(),
            signature: None,
        })
    }

    /// Returns readable thinking.
    pub fn thinking(thinking: impl Into<String>, signature: Option<String>) -> Self {
        Self::Thinking(ThinkingBlock {
            thinking: thinking.into(),
            signature,
            redacted: false,
        })
    }

    /// Returns thinking of which only what the provider can read is there.
    pub fn redacted(data: String) -> Self {
        Self::Thinking(ThinkingBlock {
            thinking: String::new(),
            signature: Some(data),
            redacted: true,
        })
    }

    /// Returns a call.
    pub fn call(id: String, name: String, arguments: Option<RawJson>) -> Self {
        Self::ToolCall(ToolCall {
            id,
            name,
            arguments,
            signature: None,
        })
    }

    /// Returns an image of bytes in base64.
    pub fn image(data: impl Into<Arc<str>>, mime_type: String) -> Self {
        Self::Image(ImageBlock {
            data: data.into(),
            mime_type,
        })
    }

    pub(super) fn display_text(&self) -> String {
        match self {
            Self::Text(block) => block.text.clone(),
            Self::Image(block) => format!("[image {}]", block.mime_type),
            Self::Thinking(block) => block.thinking.clone(),
            Self::ToolCall(call) => format!("{}({})", call.name, call.arguments_text()),
            Self::Other { kind } => format!("[{kind}]"),
        }
    }
}

/// Text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// The provider's signature.
    pub signature: Option<String>,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageBlock {
    /// The bytes in base64.
    pub data: Arc<str>,
    /// Their type, for example `image/png`.
    pub mime_type: String,
}

impl ImageBlock {
    /// Returns false where the session has no bytes of it, or only the name of the file that had them (oh-my-pi's).
    pub fn has_bytes(&self) -> bool {
        !self.data.is_empty() && !self.data.starts_with("blob:")
    }

    /// Returns the image as a URL that holds it.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime_type, self.data)
    }
}

/// Thinking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingBlock {
    /// The thinking; may be empty where the provider keeps it to itself.
    pub thinking: String,
    /// The provider's signature, or its encrypted form.
    pub signature: Option<String>,
    /// True when the provider redacted the text.
    pub redacted: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The id that the result names.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them, normally an object. `None` when there were none.
    pub arguments: Option<RawJson>,
    /// The provider's signature.
    pub signature: Option<String>,
}

impl ToolCall {
    /// Returns the arguments as JSON text, in the spelling that peers count.
    pub fn arguments_text(&self) -> String {
        let arguments = self.arguments.as_ref();
        arguments.map_or_else(|| "{}".to_owned(), |raw| crate::json::canonical(raw.get()))
    }
}
