//! The outline of what the newest compaction of a session took out of the context, for reminding a model of it.

use session_facts::SourceMessage;
use session_model::{
    EntryBody, EntryKind, Leaf, SessionTree, TokenCount, build_context, is_excluded,
};

use crate::outline::{Form, Outline, OutlineBudget};
use crate::rules::Profile;

/// What a compaction took out of the context.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedOutline {
    /// How many entries left the context.
    pub entries: usize,
    /// The outline of them, without answers; empty where nothing may be quoted.
    pub text: String,
    /// The file that was changed last.
    pub changed: Option<String>,
}

/// Returns what the newest compaction on the path of `tree` took out, in at most `budget` tokens; `None` where there was
/// no compaction, or it took nothing. Entries with `<private>` spans, and sessions that the user excluded from searches,
/// are not quoted.
pub fn removed_outline(tree: &SessionTree, budget: TokenCount) -> Option<RemovedOutline> {
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
    let mut messages = context.messages();
    let is_excluded_session = messages
        .any(|(_, message)| message.role() == "user" && is_excluded(&message.display_text()));
    let is_public = |source: &SourceMessage| {
        !is_excluded_session && !is_excluded(&source.message.display_text())
    };
    let outline = Outline::of_public(&before, &context, entries, &is_public);
    let form = Form {
        with_answers: false,
        with_ids: true,
    };
    let budget = OutlineBudget {
        tokens: budget.scaled(3, 4),
        pins: budget.scaled(1, 4),
    };
    let written = outline.write(form, budget, Profile::Own.counter());
    Some(RemovedOutline {
        entries,
        text: written.text,
        changed: outline.changed_files().last().cloned(),
    })
}
