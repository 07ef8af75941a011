//! The payloads of hooks, and their possible answers.

use compaction_core::{BranchPlan, CompactionPlan};
use serde_json::{Map, Value};
use session_model::{AgentMessage, EntryId, Leaf, SessionPath, SessionTree};

use crate::point::HookPoint;

/// A message of the user that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct BeforePromptEvent<'a> {
    /// The text of the message.
    pub text: &'a str,
    /// The id that it will have in the session.
    pub entry_id: &'a EntryId,
}

/// Additions of a hook to a message of the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BeforePromptResult {
    /// Texts that the model reads next to the message.
    pub context: Vec<String>,
}

/// A tool call that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct ToolCallEvent<'a> {
    /// The call's id.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Its arguments.
    pub arguments: &'a Value,
}

/// The effect of a hook on a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolCallResult {
    /// Nothing.
    #[default]
    Proceed,
    /// The call does not run; the model gets the reason.
    Block {
        /// The reason.
        reason: Option<String>,
    },
}

/// A compaction that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct BeforeCompactEvent<'a> {
    /// The plan of the compaction.
    pub plan: &'a CompactionPlan,
    /// The entries of the branch, root first.
    pub path: &'a SessionPath<'a>,
    /// The user's instructions on what the summary should focus on.
    pub custom_instructions: Option<&'a str>,
    /// The reason of the compaction: `manual`, `overflow`, `incomplete`, `threshold`, `image` or `idle`.
    pub reason: &'a str,
    /// True if the request of the turn is repeated afterwards.
    pub will_retry: bool,
}

/// The effect of a hook on a compaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BeforeCompactResult {
    /// Nothing.
    #[default]
    Proceed,
    /// It does not happen.
    Cancel {
        /// The reason.
        reason: Option<String>,
    },
    /// It happens with this summary instead of the plan's own.
    Replace(Box<CompactionOverride>),
}

/// A compaction that a hook supplies.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionOverride {
    /// The summary.
    pub summary: String,
    /// True if the ledger (facts that the program extracts) is appended to it.
    pub ledger: bool,
    /// A short form for lists.
    pub short_summary: Option<String>,
    /// The first entry that stays; must be on the path.
    pub first_kept: EntryId,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Details that are stored with the entry.
    pub details: Option<Value>,
    /// Provider payloads.
    pub preserve_data: Map<String, Value>,
}

/// The requests of a compaction are being made.
#[derive(Debug, Clone, Copy)]
pub struct CompactingEvent<'a> {
    /// The strategy: `context-full`, `restore` or `handoff`; a handoff takes the context lines alone.
    pub strategy: &'a str,
    /// The messages that are summarized.
    pub messages: &'a [&'a AgentMessage],
}

/// Additions of a hook to the requests of a compaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactingResult {
    /// A prompt that replaces the base prompt.
    pub prompt: Option<String>,
    /// Lines of additional context.
    pub context: Vec<String>,
    /// Data stored on the compaction entry.
    pub preserve_data: Map<String, Value>,
}

/// The leaf is about to move.
#[derive(Debug, Clone, Copy)]
pub struct BeforeTreeEvent<'a> {
    /// The session.
    pub tree: &'a SessionTree,
    /// The plan, with the entries to summarize and the common ancestor.
    pub plan: &'a BranchPlan,
    /// The current leaf.
    pub old_leaf: Leaf,
    /// The new leaf.
    pub target: Leaf,
    /// True if the user wants a summary.
    pub user_wants_summary: bool,
}

/// The effect of a hook on a change of branch.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BeforeTreeResult {
    /// Nothing.
    #[default]
    Proceed,
    /// It does not happen.
    Cancel {
        /// The reason.
        reason: Option<String>,
    },
    /// Its summary is this one, if the user wants one.
    Summary(BranchSummaryOverride),
}

/// A branch summary that a hook supplies.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummaryOverride {
    /// The summary.
    pub summary: String,
    /// Details that are stored with the entry.
    pub details: Option<Value>,
}

/// An event that has happened; no answer is expected.
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    /// `session_start`: the session is open.
    SessionStart {
        /// Entries that were there already.
        entries: usize,
        /// The model, as `provider/model`.
        model: String,
    },
    /// `session_shutdown`: the session ends.
    SessionShutdown {
        /// The reason: `end`, or `handoff` or `fork` when another session continues.
        reason: &'static str,
    },
    /// `tool_result`: a tool has run.
    ToolResult {
        /// The call's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// True if the call failed.
        is_error: bool,
        /// The text that the model sees.
        output: String,
    },
    /// `turn_end`: a turn is over.
    TurnEnd {
        /// `done`, `failed` or `aborted`.
        end: &'static str,
        /// The error, if there was one.
        error: Option<String>,
    },
    /// `session_compact`: a compaction is written.
    SessionCompact {
        /// The entry as it is in the file.
        entry: Value,
        /// True if a hook supplied it.
        from_extension: bool,
        /// The reason of the compaction.
        reason: &'static str,
        /// The summary as it is stored: without what a model thought before it.
        summary: String,
        /// `manual` if the user started it, else `auto`.
        trigger: &'static str,
    },
    /// `session_compact_failed`: a compaction failed or was cancelled.
    SessionCompactFailed {
        /// The reason of the compaction.
        reason: &'static str,
        /// The error, if there was one.
        error: Option<String>,
        /// True if it was cancelled.
        aborted: bool,
        /// True if the request of the turn is repeated nevertheless.
        will_retry: bool,
    },
    /// `session_tree`: the leaf has moved.
    SessionTree {
        /// The id of the new leaf; none before the first entry.
        new_leaf: Option<String>,
        /// The id of the previous leaf.
        old_leaf: Option<String>,
        /// The entry of the summary as it is in the file.
        summary_entry: Option<Value>,
    },
}

impl Notification {
    /// Returns the point that it belongs to.
    pub const fn point(&self) -> HookPoint {
        match self {
            Self::SessionStart { .. } => HookPoint::SessionStart,
            Self::SessionShutdown { .. } => HookPoint::SessionShutdown,
            Self::ToolResult { .. } => HookPoint::ToolResult,
            Self::TurnEnd { .. } => HookPoint::TurnEnd,
            Self::SessionCompact { .. } => HookPoint::SessionCompact,
            Self::SessionCompactFailed { .. } => HookPoint::SessionCompactFailed,
            Self::SessionTree { .. } => HookPoint::SessionTree,
        }
    }
}
