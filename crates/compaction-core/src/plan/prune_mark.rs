//! The marks of pruned output: the notice that replaces it, and the entry that says how to undo it.

use session_model::{CustomDraft, EntryDraft, EntryId, json::RawJson};

use crate::plan::PlanHash;
use session_model::tokens::TokenCount;

/// Returns the notice that replaces pruned output.
pub fn notice(tokens: TokenCount) -> String {
    format!("[Output truncated - {tokens} tokens]")
}

/// The custom type of the entry that marks a pruning, so that it can be undone.
pub const PRUNE_ENTRY: &str = "agent-cli/prune";

/// Returns the entry that describes the edits before it and says how to undo them.
pub(crate) fn prune_mark(
    leaf: &EntryId,
    hash: &PlanHash,
    pruned: usize,
    saved: TokenCount,
) -> EntryDraft {
    let data = serde_json::json!({
        "undoTo": leaf,
        "planHash": hash,
        "pruned": pruned,
        "saved": saved,
    });
    EntryDraft::Custom(CustomDraft {
        custom_type: PRUNE_ENTRY.to_owned(),
        data: RawJson::of(&data).ok(),
    })
}
