//! The outline of what is out of context, for a model that asks for it or has to be reminded of it.

use session_facts::SourceMessage;
use session_model::{EntryBody, EntryKind, SessionPath, TokenCount, build_context, is_excluded};

use crate::outline::{Form, Outline, OutlineBudget};
use crate::rules::Profile;

/// The entries to outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// Those that the newest compaction took out, without answers.
    ByNewest,
    /// Entries that a compaction removes which is not in the session yet, and whose kept range is not known; without
    /// answers.
    AtLeaf,
    /// All that are out of the context now, with answers.
    UntilNow,
}

/// The outline of what is out of context.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedOutline {
    /// The number of entries that left the context.
    pub entries: usize,
    /// The outline of them; empty if nothing may be quoted.
    pub text: String,
    /// The file that was changed last.
    pub changed: Option<String>,
}

/// Returns the outline of what is out of the context of `path`, in at most `budget` tokens; `None` if nothing is.
/// Entries with `<private>` spans, and sessions that the user excluded from searches, are not quoted.
pub fn removed_outline(
    path: &SessionPath<'_>,
    removed: Removed,
    budget: TokenCount,
) -> Option<RemovedOutline> {
    let tree = path.tree();
    let (path, first_kept) = match removed {
        Removed::ByNewest => {
            let (place, index) = path.newest(EntryKind::Compaction)?;
            let EntryBody::Compaction(body) = tree.entry(index).ok()?.body else {
                return None;
            };
            (path.before(place), Some(body.first_kept))
        }
        Removed::AtLeaf | Removed::UntilNow => (path.clone(), None),
    };
    let context = build_context(&path, Profile::Own.context_rules());
    let kept = |id| {
        context
            .entries
            .iter()
            .position(|projected| projected.entry.id == id)
    };
    let (entries, kept) = match removed {
        Removed::UntilNow => {
            let said = path.entries().iter();
            let said = said.filter(|index| tree.kind(**index) == EntryKind::Message);
            let shown = context.entries.iter();
            let shown = shown.filter(|it| tree.kind(it.index) == EntryKind::Message && !it.omitted);
            (said.count().saturating_sub(shown.count()), 0)
        }
        Removed::ByNewest | Removed::AtLeaf => {
            let kept = first_kept.and_then(kept);
            let kept = kept.unwrap_or(context.entries.len());
            (kept, kept)
        }
    };
    if entries == 0 {
        return None;
    }
    let mut messages = context.messages();
    let is_excluded_session = messages
        .any(|(_, message)| message.role() == "user" && is_excluded(&message.display_text()));
    let is_public = |source: &SourceMessage| {
        !is_excluded_session && !is_excluded(&source.message.display_text())
    };
    let outline = Outline::of_public(&path, &context, kept, &is_public);
    let form = Form {
        with_answers: removed == Removed::UntilNow,
        with_ids: true,
    };
    let budget = OutlineBudget {
        tokens: budget.scaled(7, 8),
        pins: budget.scaled(1, 8),
    };
    let written = outline.write(form, budget, Profile::Own.counter());
    Some(RemovedOutline {
        entries,
        text: written.text,
        changed: outline.changed_files().last().cloned(),
    })
}
