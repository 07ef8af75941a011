//! Messages that wait to be sent, and entries before they are appended.

use serde::{Deserialize, Serialize};
use session_model::{Block, Content, EntryDraft, EntryId, ImageBlock};

/// A message of the user: a text, and images that follow it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The images.
    pub images: Vec<PromptImage>,
}

/// An image of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptImage {
    /// The bytes in base64.
    pub data: String,
    /// Their type, for example `image/png`.
    pub mime_type: String,
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self {
            text,
            images: Vec::new(),
        }
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// A message that waits to be sent: typed while the agent was busy, or before the session's file exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// The id that its entry will have.
    pub id: EntryId,
    /// The text that the user typed.
    pub text: String,
    /// The images that follow the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<PromptImage>,
    /// When it is sent.
    pub delivery: Delivery,
}

impl Queued {
    /// Returns the content of the message: its text, then its images.
    pub fn content(&self) -> Content {
        let text = std::iter::once(Block::text(&self.text));
        let images = self.images.iter().map(|image| {
            Block::Image(ImageBlock {
                data: image.data.as_str().into(),
                mime_type: image.mime_type.clone(),
            })
        });
        Content::Blocks(text.chain(images).collect())
    }
}

/// When a waiting message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// As a separate prompt, once the agent is idle.
    Prompt,
    /// Into the turn that runs, after the tools that run.
    Steer,
    /// When the running turn is done.
    FollowUp,
}

impl Delivery {
    /// Returns the name that events use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Steer => "steer",
            Self::FollowUp => "follow_up",
        }
    }
}

/// An entry to append: a draft, with its id if one was assigned before.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    /// The contents of the message.
    pub draft: EntryDraft,
    /// Its id; with `None` the store chooses one.
    pub id: Option<EntryId>,
}

impl From<EntryDraft> for NewEntry {
    fn from(draft: EntryDraft) -> Self {
        Self { draft, id: None }
    }
}
