//! How many tokens the model of an imported session took, as far as the session tells.

use session_model::json::Members;
use session_model::{EntryBody, EntryKind, SessionTree};

use crate::IMPORT_ENTRY;

/// Returns the window of the model that an imported session states.
pub fn stated_window(tree: &SessionTree) -> Option<u64> {
    let entry = tree.entry(tree.indices().next()?).ok()?;
    match &entry.body {
        EntryBody::Custom {
            custom_type,
            data: Some(data),
        } if *custom_type == IMPORT_ENTRY => Members::parse(data.get())?.count("contextWindow"),
        _ => None,
    }
}

/// Returns the most tokens at which the agent of an imported session compacted it by itself: its window cannot be much
/// larger.
pub fn automatic_compaction(tree: &SessionTree) -> Option<u64> {
    let compactions = tree
        .indices()
        .filter(|index| tree.kind(*index) == EntryKind::Compaction);
    let found = compactions.filter_map(|index| match tree.entry(index).ok()?.body {
        EntryBody::Compaction(compaction) => {
            let details = compaction.details.as_ref()?;
            let trigger = Members::parse(details.get())?.text("trigger")?;
            (trigger == "auto").then_some(compaction.tokens_before)
        }
        _ => None,
    });
    found.max()
}
