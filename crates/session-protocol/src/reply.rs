//! What a session answers to a call.

use schemars::JsonSchema;
use serde::Serialize;
use session_model::EntryId;
use session_store::StoreError;

use crate::event::CompactionResult;
use crate::report::{Snapshot, StateReport};

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// It is done, and there is nothing to tell.
    Done {},
    /// A message is kept.
    Kept(Kept),
    /// A message does not wait any more.
    TakenBack(TakenBack),
    /// What ran has stopped, or goes on.
    Ran(Ran),
    /// A compaction is written.
    Compacted(Box<Compacted>),
    /// The leaf has moved.
    Moved(Moved),
    /// A compaction or a move is taken back.
    Undone(Undone),
    /// What was taken back has come again.
    Redone(Redone),
    /// Something is kept verbatim.
    Pinned(Pinned),
    /// Something is not pinned any more.
    Unpinned(Unpinned),
    /// What is pinned.
    Pins(PinsReport),
    /// A copy goes on.
    Forked(Forked),
    /// Another model answers.
    ModelSet(ModelSet),
    /// How the session is.
    State(Box<StateReport>),
    /// The session as it is, for documents.
    #[serde(skip)]
    Snapshot(Box<Snapshot>),
    /// The session is closed.
    Closed(Closed),
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Kept {
    /// Its id, while it waits and in the session.
    pub message_id: String,
}

/// A message that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TakenBack {
    /// Its id.
    pub message_id: String,
    /// Its text.
    pub text: String,
}

/// Whether something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ran {
    /// Whether something was stopped, or continues now.
    pub running: bool,
}

/// A compaction or a handoff that was written.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compacted {
    /// What it did.
    pub result: CompactionResult,
    /// Whether the turn that it stopped continues.
    pub will_retry: bool,
    /// The session that continues: a new one after a handoff.
    pub session_id: String,
    /// Where it is; null if it is never written.
    pub path: Option<String>,
}

/// A move of the leaf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Moved {
    /// The new leaf; null before all entries.
    pub leaf: Option<String>,
    /// The previous leaf.
    pub from: Option<String>,
    /// The branch summary, if one was written.
    pub summary_entry_id: Option<String>,
    /// Text that returns to the editor.
    pub editor_text: Option<String>,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Undone {
    /// The entry that was taken back; it stays in the session, and `navigate_tree` leads back to it.
    pub undone: String,
    /// `compaction`, `pruning` or `branch`.
    pub kind: &'static str,
    /// Whether agent-cli wrote it.
    pub is_ours: bool,
    /// The new leaf; null before all entries.
    pub leaf: Option<String>,
    /// The previous leaf.
    pub from: Option<String>,
}

/// What was re-applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Redone {
    /// The entry that is back in context.
    pub redone: String,
    /// `compaction`, `pruning` or `branch`.
    pub kind: &'static str,
    /// The new leaf.
    pub leaf: Option<String>,
    /// The previous leaf.
    pub from: Option<String>,
}

/// A new pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pinned {
    /// The pinned entry, or the entry that holds the text.
    pub entry_id: String,
    /// Its tokens.
    pub tokens: u64,
    /// Tokens of all pins.
    pub used_tokens: u64,
    /// Their budget.
    pub budget_tokens: u64,
}

/// A removed pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unpinned {
    /// The entry that was pinned, or that held the text.
    pub entry_id: String,
    /// Tokens of the remaining pins.
    pub used_tokens: u64,
    /// Their budget.
    pub budget_tokens: u64,
}

/// The pins and their budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PinsReport {
    /// The pins, in the order of the file.
    pub pins: Vec<PinReport>,
    /// Tokens of all of them.
    pub used_tokens: u64,
    /// Their budget.
    pub budget_tokens: u64,
}

/// A pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PinReport {
    /// The pinned entry, or the entry that holds the text.
    pub entry_id: String,
    /// Its tokens.
    pub tokens: u64,
    /// The text.
    pub text: String,
}

/// A copy that continues instead of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Forked {
    /// The copy's id.
    pub session_id: String,
    /// Where it is.
    pub path: Option<String>,
    /// The original session.
    pub from: String,
    /// The copy's leaf.
    pub leaf: Option<String>,
}

/// The new model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelSet {
    /// Its name, as `provider/model`.
    pub model: String,
    /// Its window in tokens; 0 when unknown.
    pub window: u64,
    /// The model before.
    pub from: String,
}

/// A session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Closed {
    /// Its id.
    pub session_id: String,
    /// Where it is; null when nothing was written.
    pub path: Option<String>,
}

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of reason.
    pub kind: RefusalKind,
    /// The reason, and what to do.
    pub message: String,
}

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// It cannot be done now, or not with this.
    Refused,
    /// There is nothing to do.
    NothingToDo,
    /// It was tried and failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::failed(format!("cannot write the session: {error}"))
    }
}

impl Refusal {
    /// Returns that something cannot be done now, or not with this.
    pub fn refused(message: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Refused,
            message: message.into(),
        }
    }

    /// Returns that the session has no such entry.
    pub fn no_entry(id: &EntryId) -> Self {
        Self::refused(format!("no entry {id} in this session"))
    }

    /// Returns that there is nothing to do.
    pub fn nothing_to_do(message: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::NothingToDo,
            message: message.into(),
        }
    }

    /// Returns that something was tried and failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Failed,
            message: message.into(),
        }
    }
}
