//! What the newest compaction of a session took out of the context, as facts: for whoever reminds a model of it.

use std::borrow::Cow;

use session_model::{EntryBody, EntryId, EntryKind, Leaf, SessionTree, build_context};

use crate::ledger::{Ledger, LedgerBudget};
use crate::ledger_block::LedgerItem;
use crate::rules::Profile;
use session_model::tokens::TokenCount;
use session_model::{is_excluded, without_private};

/// What a compaction took out of the context.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedFacts {
    /// How many entries left the context.
    pub entries: usize,
    /// The facts in them that fit the budget, as a ledger chooses them.
    pub items: Vec<LedgerItem>,
    /// The entries that the facts rest on.
    pub sources: Vec<EntryId>,
}

/// Returns what the newest compaction on the path of `tree` took out, in about `budget` tokens; `None` where there was
/// no compaction, or it took nothing. Entries with `<private>` spans, and sessions that the user excluded from searches,
/// give no facts.
pub fn removed_facts(tree: &SessionTree, budget: TokenCount) -> Option<RemovedFacts> {
    let path = tree.path(tree.leaf());
    let mut entries = path.entries().iter().rev();
    let compaction = *entries.find(|index| tree.kind(**index) == EntryKind::Compaction)?;
    let entry = tree.entry(compaction).ok()?;
    let EntryBody::Compaction(body) = &entry.body else {
        return None;
    };
    let before = tree.path(tree.parent(compaction).map_or(Leaf::Root, Leaf::At));
    let context = build_context(&before, Profile::Own.context_rules());
    let mut projected = context.entries.iter();
    let kept = projected.position(|projected| projected.entry.id == body.first_kept);
    let entries = kept.unwrap_or(context.entries.len());
    if entries == 0 {
        return None;
    }
    let mut is_excluded_session = false;
    let mut private: Vec<&EntryId> = Vec::new();
    for projected in &context.entries {
        for message in &projected.messages {
            let text = message.display_text();
            let marked = is_excluded(&text);
            is_excluded_session |= marked && message.role() == "user";
            if marked || matches!(without_private(&text), Cow::Owned(_)) {
                private.push(&projected.entry.id);
            }
        }
    }
    let counter = Profile::Own.counter();
    let budget = LedgerBudget {
        ledger: budget,
        pins: budget,
    };
    let block = Ledger::of(&before, &context, entries).fit(budget, counter);
    let is_public = |id: &EntryId| !is_excluded_session && !private.contains(&id);
    let mut items = block.items;
    items.retain(|item| is_public(&item.entry_id));
    let mut sources = block.sources;
    sources.retain(is_public);
    Some(RemovedFacts {
        entries,
        items,
        sources,
    })
}
