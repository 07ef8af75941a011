//! The strategy `restore`: everything is summarized, and content that the next turn needs is restored: the files that
//! were touched last, as they are on disk now, and the newest images.
//!
//! ```text
//! SessionContext -> touched_files -> (the caller reads the disk) -> RestoreInput -> Restored -> one message
//! ```
//!
//! **Invariants.** Nothing here reads a file: contents come in as data, each with what is known of it. What is
//! restored is one message, after the summary and its acknowledgement, marked as content and not as instructions.
//! Everything in it counts against the budget, with what frames it.

mod assemble;
mod before;
mod fresh;
mod images;
mod pending;
mod snapshot;
mod words;

use serde::Serialize;
use serde_json::{Value, json};
use session_model::{Block, Content, EntryBody, EntryId, SessionContext};

use session_facts::{RESTORED_CONTEXT, SourceMessage, TouchedFile, content_hash, touched_in};
use session_model::tokens::TokenCount;

pub(crate) use assemble::restored;
pub(crate) use before::{references, turns_before};
pub(crate) use pending::pending_calls;
pub(crate) use snapshot::snapshot_of;

/// The state on disk of a touched file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Its text, decoded.
    Text(String),
    /// It is larger than could ever fit, so it was not read.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
    /// It was being written while it was read, twice.
    Unsettled,
    /// It is no text.
    Binary,
    /// It is not there.
    Missing,
    /// It is no regular file, or may not be read.
    Unreadable {
        /// The reason.
        reason: String,
    },
}

/// A touched file inside the workspace and what is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFile {
    /// The agent's use of it.
    pub touched: TouchedFile,
    /// The path to show: relative to the workspace if it can be.
    pub shown: String,
    /// The state on disk.
    pub state: FileState,
}

/// The state on disk of [`touched_files`], as the caller found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreInput {
    /// Files inside the workspace, newest first, each once by its resolved path.
    pub files: Vec<DiskFile>,
    /// Paths that were left out because they lead out of the workspace. The model does not see them.
    pub outside: Vec<String>,
    /// The error that prevents any restoration.
    pub failed: Option<String>,
}

/// Says if a file is as the agent saw it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// It is.
    Unchanged,
    /// It is another one now.
    Changed,
    /// It was deleted.
    Deleted,
    /// It is not known.
    Unknown,
}

/// The outcome for a touched file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its text is in the context.
    Embedded,
    /// Its path is.
    Reference,
    /// It is not there; the context does not name it.
    Missing,
    /// It is no text; the context does not name it.
    Binary,
    /// It cannot be read; the context does not name it.
    Unreadable,
    /// Not even its path fits; the context does not name it.
    LeftOut,
}

impl Outcome {
    /// Returns the name that JSON output uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Reference => "reference",
            Self::Missing => "missing",
            Self::Binary => "binary",
            Self::Unreadable => "unreadable",
            Self::LeftOut => "left_out",
        }
    }
}

/// A file and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoredFile {
    /// The path as the call contains it.
    pub path: String,
    /// The path, as it is shown.
    pub shown: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Says if it is unchanged.
    pub freshness: Freshness,
    /// The entry of the call that touched it.
    pub entry_id: EntryId,
    /// Tokens of its block; zero for what is not embedded.
    pub tokens: TokenCount,
    /// The hash of the content that the agent saw last, if it is known; see [`content_hash`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// The outcome for one of the newest images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageOutcome {
    /// It is in the context.
    Shown,
    /// It takes more tokens than are left.
    OverBudget,
    /// It has more bytes than are sent.
    TooLarge,
}

/// An image that comes back, or would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoredImage {
    /// The entry that it is in.
    pub entry_id: EntryId,
    /// The tool that it comes from; `None` for the user's.
    pub tool: Option<String>,
    /// The arguments of the tool call, bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// In which turn, from 1.
    pub turn: usize,
    /// The outcome.
    pub outcome: ImageOutcome,
    /// Tokens of it with its caption.
    pub tokens: TokenCount,
}

/// The restored content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Restored {
    /// The content of the one message; `None` if nothing is restored.
    pub content: Option<Content>,
    /// The files touched last, newest first.
    pub files: Vec<RestoredFile>,
    /// The newest images, oldest first; those too large to be sent take the place of none.
    pub images: Vec<RestoredImage>,
    /// Tokens of the message.
    pub tokens: TokenCount,
    /// The number of turns in the session so far.
    pub turns: usize,
    /// The error that prevented any restoration.
    pub failed: Option<String>,
}

impl Restored {
    /// Returns the files whose text or path is in the context.
    pub fn reported_files(&self) -> impl Iterator<Item = &RestoredFile> {
        self.files.iter().filter(|file| match file.outcome {
            Outcome::Embedded | Outcome::Reference => true,
            Outcome::Missing | Outcome::Binary | Outcome::Unreadable | Outcome::LeftOut => false,
        })
    }

    /// Returns the images that are in the context.
    pub fn images_shown(&self) -> impl Iterator<Item = &RestoredImage> {
        let images = self.images.iter();
        images.filter(|image| image.outcome == ImageOutcome::Shown)
    }

    /// Returns the parts of it that are in the hash of a plan.
    pub(crate) fn parts(&self) -> Vec<String> {
        let blocks = self.content.iter().flat_map(Content::blocks);
        let parts = blocks.map(|block| match block {
            Block::Image(image) => format!("{} {}", image.mime_type, content_hash(&image.data)),
            Block::Text(text) => text.text.clone(),
            Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => String::new(),
        });
        parts.chain(self.failed.clone()).collect()
    }

    /// Returns its description for the details of a compaction.
    pub(crate) fn details(&self) -> Value {
        json!({
            "files": self.files,
            "images": self.images,
            "tokens": self.tokens,
            "turns": self.turns,
            "failed": self.failed,
        })
    }

    /// Returns its description for the details of the message that restores it.
    pub(crate) fn message_details(&self) -> Value {
        json!({ "files": self.files, "images": self.images })
    }
}

/// Returns true for the entry of the message that brings files and images back.
pub(crate) fn is_restored(body: &EntryBody) -> bool {
    match body {
        EntryBody::CustomMessage(message) => message.custom_type == RESTORED_CONTEXT,
        _ => false,
    }
}

/// Returns the files that the context's calls touched, newest first; see [`touched_in`].
pub fn touched_files(context: &SessionContext) -> Vec<TouchedFile> {
    // The agent saw what an edit shortened or removed later.
    let originals = context.entries.iter().flat_map(|projected| {
        let messages = projected.original_messages().into_iter();
        messages.map(|message| SourceMessage {
            entry_id: projected.entry.id.clone(),
            message,
        })
    });
    touched_in(&originals.collect::<Vec<_>>(), "")
}
