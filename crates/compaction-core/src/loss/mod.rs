//! The loss report: what of a session its compactions keep in context, and what they remove from it.
//!
//! A compaction removes messages from the context. Each of them, and the effects of its calls, is searched for in what
//! the model can read afterwards: the summary and what stays verbatim. It is found verbatim, shortened, named, or not
//! at all. A removed item is not lost as long as its entry is in the session and can be read by its id. And the quotes
//! of a summary are searched for in everything that was said before it.
//!
//! The report needs only the entries, so it works for the sessions of other agents as well.

mod figures;
mod missing;
mod quote_search;
mod quotes;
mod readable;
mod removed;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_missing;

use std::collections::BTreeMap;
use std::sync::Arc;

use session_model::{
    AgentMessage, ContextEditDraft, ContextRules, EntryBody, EntryDraft, EntryId, EntryIndex,
    EntryKind, FirstKept, SessionContext, SessionPath, build_context,
};

use session_facts::SourceMessage;
use session_model::tokens::TokenCounter;

pub use figures::{
    CompactionLoss, ContextLoss, EditLoss, KindLoss, LossKind, LossReport, LostText, TotalLoss,
};
pub use missing::Missing;
pub(crate) use readable::Readable;
pub(crate) use removed::Removed;

use crate::pins::{pinned_text, pins_of};
use quote_search::{Claims, Verdict};
use quotes::quotes;
use readable::{each_text, folded};

/// A row of entries that change what is in the context: edits, and the compaction that they end in.
struct Step {
    /// The index on the path at which it begins.
    start: usize,
    /// The place of its last entry.
    end: usize,
}

/// Returns the steps of a path, oldest first.
fn steps(path: &SessionPath<'_>) -> Vec<Step> {
    let tree = path.tree();
    let mut steps = Vec::new();
    let mut edits: Option<Step> = None;
    for (place, index) in path.entries().iter().enumerate() {
        match tree.kind(*index) {
            EntryKind::ContextEdit => {
                let step = edits.get_or_insert(Step {
                    start: place,
                    end: place,
                });
                step.end = place;
            }
            EntryKind::Compaction => steps.push(Step {
                start: edits.take().map_or(place, |step| step.start),
                end: place,
            }),
            // A mark belongs to the edits before it.
            EntryKind::Custom => {}
            _ => steps.extend(edits.take()),
        }
    }
    steps.extend(edits);
    steps
}

/// The limit of searched text in a whole report, in bytes.
const SEARCHED_IN_ALL: u64 = 1024 * 1024 * 1024;

/// The quotes of a summary whose sources are not known yet.
struct Quoting {
    /// The place of its compaction on the path.
    place: usize,
    /// Each quote, and its number among all.
    quotes: Vec<(String, usize)>,
}

/// Returns what the compactions and edits of a path removed from the context.
pub fn loss_report(
    path: &SessionPath<'_>,
    rules: ContextRules,
    counter: &dyn TokenCounter,
) -> LossReport {
    let tree = path.tree();
    let mut report = LossReport::default();
    let mut all = Vec::new();
    let mut claims = Claims::default();
    let mut quoting = Vec::new();
    let mut left = SEARCHED_IN_ALL;
    let steps = steps(path);
    if steps.is_empty() {
        return report;
    }
    for step in steps {
        let index = path.entries()[step.end];
        let Ok(entry) = tree.entry(index) else {
            continue;
        };
        let before = build_context(&path.before(step.start), rules);
        let after = build_context(&path.before(step.end + 1), rules);
        let (removed, mut missing) = removed_between(&before, &after, counter);
        let readable = readable(&after, left);
        let searching = readable.left();
        let loss = removed.look_up(&readable, counter);
        left = left.saturating_sub(searching - readable.left());
        all.push(removed);
        let EntryBody::Compaction(compaction) = &entry.body else {
            let entries = step.end + 1 - step.start;
            let entry_id = entry.id.clone();
            report.edits.push(EditLoss {
                entry_id,
                entries,
                loss,
            });
            continue;
        };
        missing.note_entries(tree, &before, &after);
        missing.note_compaction(tree, compaction);
        report.totals.missing.add(missing);
        let quotes = quotes(&compaction.summary).into_iter();
        let quotes = quotes.map(|quote| {
            let number = claims.add(&quote);
            (quote, number)
        });
        quoting.push(Quoting {
            place: step.end,
            quotes: quotes.collect(),
        });
        report.compactions.push(CompactionLoss {
            entry_id: entry.id.clone(),
            summary_tokens: counter.text(&compaction.summary),
            loss,
            invented: Vec::new(),
            quotes_not_searched: 0,
            missing,
        });
    }
    let last = quoting.last().map_or(0, |quoting| quoting.place);
    claims.look_up(said_before(path, last));
    for (loss, quoting) in report.compactions.iter_mut().zip(quoting) {
        for (quote, number) in quoting.quotes {
            match claims.verdict(number, quoting.place) {
                Verdict::Found => {}
                Verdict::Invented => loss.invented.push(quote),
                Verdict::NotSearched => loss.quotes_not_searched += 1,
            }
        }
        report.totals.invented += loss.invented.len();
        report.totals.quotes_not_searched += loss.quotes_not_searched;
    }
    let now = readable(&build_context(path, rules), left);
    let loss = Removed::of_all(all).look_up(&now, counter);
    report.totals = TotalLoss {
        compactions: report.compactions.len(),
        edits: report.edits.len(),
        loss,
        ..report.totals
    };
    report
}

/// Returns what one context has and the next one has not, and what of that is nowhere.
fn removed_between(
    before: &SessionContext,
    after: &SessionContext,
    counter: &dyn TokenCounter,
) -> (Removed, Missing) {
    let kept: BTreeMap<EntryIndex, &[Arc<AgentMessage>]> = after
        .entries
        .iter()
        .map(|projected| (projected.index, projected.messages.as_slice()))
        .collect();
    let mut removed = Removed::default();
    let mut missing = Missing::default();
    for projected in &before.entries {
        let left = kept.get(&projected.index).copied().unwrap_or_default();
        let stays = left == projected.messages.as_slice();
        for message in &projected.messages {
            let source = SourceMessage {
                entry_id: projected.entry.id.clone(),
                message: message.clone(),
            };
            if stays {
                removed.add_kept(source);
            } else {
                removed.add(source, counter.message(message));
            }
        }
        if stays {
            continue;
        }
        // The entry still has the text that an edit shortened.
        for message in projected.original_messages() {
            missing.note(&message);
        }
    }
    (removed, missing)
}

/// Returns what drafts would take out of a context if they were appended: edits of entries, and a compaction with what
/// it brings back.
pub fn loss_of_drafts(
    context: &SessionContext,
    drafts: &[EntryDraft],
    counter: &dyn TokenCounter,
) -> ContextLoss {
    let mut edits: BTreeMap<&EntryId, &ContextEditDraft> = BTreeMap::new();
    let mut compaction = None;
    let mut readable = Readable::default();
    for draft in drafts {
        match draft {
            EntryDraft::ContextEdit(edit) => drop(edits.insert(&edit.target, edit)),
            EntryDraft::Compaction(draft) => compaction = Some(&**draft),
            EntryDraft::CustomMessage(draft) => readable.add_content(&draft.content),
            EntryDraft::Message(draft) => readable.add(draft.message()),
            _ => {}
        }
    }
    let mut removed = Removed::default();
    let mut keeps = compaction.is_none();
    if let Some(compaction) = compaction {
        readable.add_summary(&compaction.summary);
    }
    for projected in &context.entries {
        let id = &projected.entry.id;
        keeps |= compaction.is_some_and(|compaction| match &compaction.first_kept {
            FirstKept::Entry(first) => first == id,
            FirstKept::None => false,
        });
        for message in &projected.messages {
            let source = SourceMessage {
                entry_id: id.clone(),
                message: message.clone(),
            };
            let left = match (keeps, edits.get(id)) {
                (true, None) => {
                    readable.add(message);
                    removed.add_kept(source);
                    continue;
                }
                (true, Some(edit)) => edit.replacement.clone(),
                (false, _) => None,
            };
            if let Some(content) = left {
                readable.add(&message.with_content(content));
            }
            removed.add(source, counter.message(message));
        }
    }
    readable.finish();
    removed.look_up(&readable, counter)
}

fn readable(context: &SessionContext, searching: u64) -> Readable {
    let mut readable = Readable::searching(searching);
    for (_, message) in context.messages() {
        readable.add(message);
    }
    readable.finish();
    readable
}

/// Returns the messages and outputs before an index of a path, by the index of their entries, with white space folded.
/// A text that an earlier summary invented still counts as invented.
fn said_before<'a>(
    path: &'a SessionPath<'_>,
    to: usize,
) -> impl Iterator<Item = (usize, String)> + 'a {
    let tree = path.tree();
    let entries = path.entries()[..to].iter().enumerate();
    let says = |kind| {
        matches!(
            kind,
            EntryKind::Message
                | EntryKind::CustomMessage
                | EntryKind::BranchSummary
                | EntryKind::Compaction
                | EntryKind::Custom
        )
    };
    let messages = entries.filter(move |(_, index)| says(tree.kind(**index)));
    let said = messages.filter_map(|(place, index)| {
        let entry = tree.entry(*index).ok()?;
        let mut said = pinned_text(&entry)
            .map(|text| folded(&text))
            .unwrap_or_default();
        for message in entry.messages() {
            each_text(&message, &mut |text| {
                said.push_str(&folded(text));
                said.push('\n');
            });
        }
        Some((place, said))
    });
    // A text that is pinned on another branch is pinned here too.
    let pins = pins_of(path).into_iter().filter_map(move |pin| {
        let written = tree.find(&pin.entry_id)?;
        let before = path.entries().partition_point(|index| *index < written);
        Some((before.saturating_sub(1), folded(&pin.text)))
    });
    said.chain(pins)
}
