//! The hook points: what each is told and what it may return.

use compaction_core::{BranchPlan, CompactionPlan};
use serde_json::{Map, Value};
use session_model::EntryId;

/// Why a hook failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// What a hook is told before a compaction.
#[derive(Debug, Clone, Copy)]
pub struct BeforeCompactEvent<'a> {
    /// What would be done.
    pub plan: &'a CompactionPlan,
    /// The ids of the entries on the path, root first.
    pub branch: &'a [EntryId],
    /// What the user asked the summary to focus on.
    pub custom_instructions: Option<&'a str>,
    /// Whether the turn is retried afterwards.
    pub will_retry: bool,
}

/// What a hook may do to a compaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BeforeCompactResult {
    /// Nothing.
    #[default]
    Proceed,
    /// It does not happen.
    Cancel,
    /// It happens with this in the place of the plan's own summary.
    Replace(Box<CompactionOverride>),
}

/// A compaction that a hook supplies.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionOverride {
    /// The summary.
    pub summary: String,
    /// A short form for lists.
    pub short_summary: Option<String>,
    /// The first entry that stays; must be on the path.
    pub first_kept: EntryId,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// What is kept with the entry.
    pub details: Option<Value>,
    /// Provider payloads.
    pub preserve_data: Map<String, Value>,
}

/// What a hook may add to the requests of a compaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactingResult {
    /// A prompt in the place of the base prompt.
    pub prompt: Option<String>,
    /// Lines of additional context.
    pub context: Vec<String>,
    /// Data stored on the compaction entry.
    pub preserve_data: Map<String, Value>,
}

/// What a hook is told before a change of branch.
#[derive(Debug, Clone, Copy)]
pub struct BeforeTreeEvent<'a> {
    /// What would be done, the entries to summarize and the common ancestor included.
    pub plan: &'a BranchPlan,
    /// Whether the user wants a summary.
    pub user_wants_summary: bool,
}

/// What a hook may do to a change of branch.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BeforeTreeResult {
    /// Nothing.
    #[default]
    Proceed,
    /// It does not happen.
    Cancel,
    /// Its summary is this one, if the user wants one.
    Summary(BranchSummaryOverride),
}

/// A branch summary that a hook supplies.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummaryOverride {
    /// The summary.
    pub summary: String,
    /// What is kept with the entry.
    pub details: Option<Value>,
}

/// Something that looks at compactions and changes of branch. Every method does nothing unless written.
pub trait Hook: Send + Sync {
    /// Returns the name that failures are reported under.
    fn name(&self) -> &str;

    /// `session_before_compact`: may cancel or replace a compaction.
    fn before_compact(
        &self,
        event: &BeforeCompactEvent<'_>,
    ) -> Result<BeforeCompactResult, HookError> {
        let _ = event;
        Ok(BeforeCompactResult::Proceed)
    }

    /// `session.compacting`: may add to the requests of a compaction.
    fn compacting(&self, session_id: &str) -> Result<CompactingResult, HookError> {
        let _ = session_id;
        Ok(CompactingResult::default())
    }

    /// `session_before_tree`: may cancel a change of branch or supply its summary.
    fn before_tree(&self, event: &BeforeTreeEvent<'_>) -> Result<BeforeTreeResult, HookError> {
        let _ = event;
        Ok(BeforeTreeResult::Proceed)
    }
}
