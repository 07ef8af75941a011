//! The strategy `restore`: everything is summarized, and what the work goes on with is brought back: the files that
//! were touched last, as they are on disk now, and the newest images.
//!
//! ```text
//! SessionPath -> touched_files -> (the caller reads the disk) -> RestoreInput -> Restored -> one message
//! ```
//!
//! **Invariants.** Nothing here reads a file: contents come in as data, each with what is known of it. What is
//! restored is one message, after the summary and its acknowledgement, marked as content and not as instructions.
//! Everything in it counts against the budget, with what frames it.

use serde::Serialize;
use session_model::{AssistantMessage, Content, EntryId, SessionContext};

use crate::files::FileAction;
use crate::request::SourceMessage;
use crate::settings::RestoreSettings;
use crate::tokens::{TokenCount, TokenCounter};

/// The custom type of the message that brings files and images back.
pub const RESTORED_CONTEXT: &str = "restored_context";

/// What the agent saw of a file last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastSeen {
    /// All of its text.
    Text(String),
    /// The hash of its content; see [`content_hash`].
    Hash(String),
    /// Nobody can tell: a part of it, or a change of it whose result was not seen.
    Unknown,
}

/// A file that a call of the agent read or changed without failing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedFile {
    /// The path, as the call spells it.
    pub path: String,
    /// What was done last.
    pub action: FileAction,
    /// The entry of the call.
    pub entry_id: EntryId,
    /// What was seen of it last.
    pub last_seen: LastSeen,
}

/// What is on disk where a touched file was.
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
        /// Why.
        reason: String,
    },
}

/// A touched file inside the workspace and what is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFile {
    /// What the agent did with it.
    pub touched: TouchedFile,
    /// The path to show: relative to the workspace where it can be.
    pub shown: String,
    /// What is there.
    pub state: FileState,
}

/// What a caller found on disk for [`touched_files`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreInput {
    /// Files inside the workspace, newest first, each once by its resolved path.
    pub files: Vec<DiskFile>,
    /// Paths that were left out because they lead out of the workspace. The model is not told.
    pub outside: Vec<String>,
    /// What went wrong as a whole, so that nothing is brought back.
    pub failed: Option<String>,
}

/// Whether a file is as the agent saw it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// It is.
    Unchanged,
    /// It is another one now.
    Changed,
    /// It is gone.
    Deleted,
    /// Nobody can tell.
    Unknown,
}

/// What becomes of a touched file.
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
}

/// A file and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoredFile {
    /// The path, as it is shown.
    pub path: String,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Whether it is as it was.
    pub freshness: Freshness,
    /// The entry of the call that touched it.
    pub entry_id: EntryId,
    /// Tokens of its block; zero for what is not embedded.
    pub tokens: TokenCount,
}

/// An image that comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoredImage {
    /// The entry that it is in.
    pub entry_id: EntryId,
    /// The tool that it comes from; `None` for the user's.
    pub tool: Option<String>,
    /// In which turn, from 1.
    pub turn: usize,
    /// Tokens of it.
    pub tokens: TokenCount,
}

/// What is brought back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Restored {
    /// The content of the one message; `None` where nothing comes back.
    pub content: Option<Content>,
    /// Every touched file, newest first.
    pub files: Vec<RestoredFile>,
    /// The images, oldest first.
    pub images: Vec<RestoredImage>,
    /// Tokens of the message.
    pub tokens: TokenCount,
    /// Why nothing comes back, where something went wrong.
    pub failed: Option<String>,
}

/// Returns the files that the context's calls touched, newest first, each spelling once; of parallel calls the last is
/// the newest. Calls that failed do not count.
pub fn touched_files(_context: &SessionContext) -> Vec<TouchedFile> {
    Vec::new()
}

/// Returns the same for messages of any origin, oldest first.
pub(crate) fn touched_in(_messages: &[SourceMessage]) -> Vec<TouchedFile> {
    Vec::new()
}

/// Returns the hash by which contents are compared: 16 hex digits of BLAKE3.
pub fn content_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns what is brought back.
pub(crate) fn restored(
    _context: &SessionContext,
    input: &RestoreInput,
    _settings: &RestoreSettings,
    _counter: &dyn TokenCounter,
) -> Restored {
    Restored {
        failed: input.failed.clone(),
        ..Restored::default()
    }
}

/// Returns the answer at the end of a context whose calls have no results yet: its calls, with the signed thinking
/// that stands before them; its text is in the summary.
pub(crate) fn pending_calls(_context: &SessionContext) -> Option<AssistantMessage> {
    None
}

impl Restored {
    /// Returns what of it goes into the hash of a plan.
    pub(crate) fn parts(&self) -> Vec<String> {
        let content = self.content.iter();
        content.map(|content| format!("{content:?}")).collect()
    }
}

/// Returns the snapshot of an answer: without the scratchpad in front of it.
pub(crate) fn snapshot_of(answer: &str) -> &str {
    answer.trim()
}
