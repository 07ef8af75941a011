//! What an undo takes back: one rule for session files and for a session that is lived in.

use compaction_core::{LEAF_ENTRY, PRUNE_ENTRY};
use serde_json::Value;
use session_model::{EntryBody, EntryKind, Leaf, SessionPath, SessionTree, json::RawJson};

/// What an undo takes back.
pub(crate) struct Undoable {
    /// Its place on the path.
    pub place: usize,
    /// `compaction`, `pruning` or `branch`.
    pub kind: &'static str,
    /// Where the session stood before.
    pub back_to: Leaf,
}

/// Returns the newest entry of the path that can be taken back. Only entries that may be one are read.
pub(crate) fn newest_undoable(path: &SessionPath<'_>) -> Option<Undoable> {
    let tree = path.tree();
    let places = path.entries().iter().enumerate().rev();
    let mut candidates = places.filter(|(_, index)| {
        matches!(
            tree.kind(**index),
            EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Custom
        )
    });
    candidates.find_map(|(place, index)| {
        let entry = tree.entry(*index).ok()?;
        let parent = tree.parent(*index).map_or(Leaf::Root, Leaf::At);
        let value = |raw: &RawJson| raw.to_value();
        let (kind, back_to) = match &entry.body {
            EntryBody::Compaction(compaction) => {
                let details = compaction.details.as_ref().map(value);
                let named = named_by(tree, details, "undoTo");
                ("compaction", named.unwrap_or(parent))
            }
            EntryBody::BranchSummary(branch) => {
                let left = tree.find(&branch.from).map(Leaf::At);
                ("branch", left.unwrap_or(parent))
            }
            EntryBody::Custom { custom_type, data } if custom_type == PRUNE_ENTRY => {
                let named = named_by(tree, data.as_ref().map(value), "undoTo");
                ("pruning", named?)
            }
            EntryBody::Custom { custom_type, data } if custom_type == LEAF_ENTRY => {
                let data = data.as_ref().map(value);
                // An undo is not undone by another: the next older step is.
                if data.as_ref().is_some_and(|data| data["reason"] == "undo") {
                    return None;
                }
                ("branch", named_by(tree, data, "from")?)
            }
            _ => return None,
        };
        Some(Undoable {
            place,
            kind,
            back_to,
        })
    })
}

/// Returns the leaf that the member `key` of `data` names, if it names an entry.
fn named_by(tree: &SessionTree, data: Option<Value>, key: &str) -> Option<Leaf> {
    let data = data?;
    let id = data.get(key)?.as_str()?;
    tree.find(id).map(Leaf::At)
}
