//! The loss report: what of a session its compactions keep in sight, and what they put out of it.
//!
//! A compaction takes messages out of the context. The literals in them (paths, errors, figures, names,
//! addresses, commands), the user's messages and the user's rules are looked up in what the model can read
//! afterwards: the summary and what stays word for word. What is not there is not lost: the entry is in the
//! session and can be read by its id. And what a summary quotes as the user's words is held against what the user
//! said.
//!
//! The report needs nothing but the entries, so it works for the sessions of other agents as well.

mod against;
mod literals;
mod quotes;
mod readable;
mod removed;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use session_model::{
    AgentMessage, ContextEditDraft, ContextRules, EntryBody, EntryDraft, EntryId, EntryIndex,
    EntryKind, FirstKept, Leaf, SessionContext, SessionPath, build_context,
};

use crate::tokens::{TokenCount, TokenCounter};

pub use against::{OurLoss, OurReport, loss_of_ours};
pub use literals::{Literal, LiteralKind};
pub(crate) use readable::Readable;
pub(crate) use removed::{Removed, Seen};

use literals::{folded, user_text};
use quotes::{is_said, quotes_of_user};

/// How many of a kind there were and where they are now. Each is in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct KindLoss {
    /// How many different ones were taken out of the context.
    pub total: usize,
    /// Those that the model can still read.
    pub in_context: usize,
    /// Those that it can find again by the id of their entry.
    pub recoverable: usize,
    /// Those that nobody can find again: none, as long as entries are only ever added.
    pub gone: usize,
}

/// How many texts there were and how many of them stand word for word in the context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Verbatim {
    /// How many were taken out of the context.
    pub total: usize,
    /// Those that the model can still read word for word.
    pub verbatim: usize,
}

/// What was taken out of a context, and how much of it can be read all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ContextLoss {
    /// Tokens of the messages that were taken out.
    pub removed_tokens: TokenCount,
    /// The literals in them, by the name of their kind.
    pub kinds: BTreeMap<&'static str, KindLoss>,
    /// The messages of the user.
    pub user_messages: Verbatim,
    /// The rules that the user stated.
    pub rules: Verbatim,
    /// True when there was too much to look for, so that more may be in sight than is said.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
}

impl ContextLoss {
    /// Returns how many literals there were, of all kinds.
    pub fn total(&self) -> usize {
        self.kinds.values().map(|kind| kind.total).sum()
    }

    /// Returns how many of them the model can still read.
    pub fn in_sight(&self) -> usize {
        self.kinds.values().map(|kind| kind.in_context).sum()
    }

    /// Returns the share of them that the model can still read, in percent; `None` when there were none.
    pub fn in_sight_percent(&self) -> Option<f64> {
        let (total, in_sight) = (self.total(), self.in_sight());
        let tenths = (in_sight * 1000).checked_div(total)?;
        u32::try_from(tenths)
            .ok()
            .map(|tenths| f64::from(tenths) / 10.0)
    }

    /// Returns the copy that an entry's details keep: kinds of which there was nothing are left out.
    pub(crate) fn details(&self) -> Value {
        let kinds = self.kinds.iter().filter(|(_, kind)| kind.total > 0);
        let kinds: BTreeMap<_, _> = kinds
            .map(|(name, kind)| {
                let kind = json!({ "total": kind.total, "inContext": kind.in_context });
                (name, kind)
            })
            .collect();
        let mut details = json!({
            "inSightPercent": self.in_sight_percent(),
            "removedTokens": self.removed_tokens,
            "kinds": kinds,
            "userMessages": self.user_messages,
            "rules": self.rules,
        });
        if self.in_part {
            details["inPart"] = json!(true);
        }
        details
    }
}

/// What one compaction put out of sight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactionLoss {
    /// The compaction.
    pub entry_id: EntryId,
    /// Tokens of its summary.
    pub summary_tokens: TokenCount,
    /// What it took out of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
    /// What the summary quotes as the user's words and the user never said.
    pub invented: Vec<String>,
}

/// What edits of entries without a compaction put out of sight: prunings, shortened results, answers that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditLoss {
    /// The last of them.
    pub entry_id: EntryId,
    /// How many entries they are.
    pub entries: usize,
    /// What they took out of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
}

/// What all compactions and edits of a branch together put out of sight, held against the context as it is now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TotalLoss {
    /// How many compactions there are.
    pub compactions: usize,
    /// How often entries were edited without one.
    pub edits: usize,
    /// What they took out of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
    /// How many quotes were invented.
    pub invented: usize,
}

/// What the compactions and edits of a branch put out of sight.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LossReport {
    /// Each of them, oldest first.
    pub compactions: Vec<CompactionLoss>,
    /// Edits without a compaction, oldest first; those in front of a compaction count with it.
    pub edits: Vec<EditLoss>,
    /// All of them together.
    pub totals: TotalLoss,
}

/// A row of entries that change what is in the context: edits, and the compaction that they end in.
struct Step {
    /// Where it begins on the path.
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

/// Returns what the compactions and edits of a path put out of sight. `proceed` is asked before each of them; `None`
/// once it says no.
pub fn loss_report(
    path: &SessionPath<'_>,
    rules: ContextRules,
    counter: &dyn TokenCounter,
    proceed: &mut dyn FnMut() -> bool,
) -> Option<LossReport> {
    let tree = path.tree();
    let mut report = LossReport::default();
    let mut all = Removed::default();
    let mut said: Vec<String> = Vec::new();
    let mut heard = 0;
    let steps = steps(path);
    if steps.is_empty() {
        return Some(report);
    }
    for step in steps {
        if !proceed() {
            return None;
        }
        let index = path.entries()[step.end];
        let Ok(entry) = tree.entry(index) else {
            continue;
        };
        let parent = tree.parent(path.entries()[step.start]);
        let leaf_before = parent.map_or(Leaf::Root, Leaf::At);
        let before = build_context(&tree.path(leaf_before), rules);
        let after = build_context(&tree.path(Leaf::At(index)), rules);
        let removed = removed_between(&before, &after, counter);
        let readable = readable(&after);
        let loss = removed.look_up(&readable).loss();
        all.merge(removed);
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
        said.extend(user_messages(path, heard, step.end));
        heard = step.end;
        let quotes = quotes_of_user(&compaction.summary).into_iter();
        let unsaid: Vec<String> = quotes
            .filter(|quote| !is_said(quote, said.iter()))
            .collect();
        let invented = found_nowhere(unsaid, path, step.end);
        report.totals.invented += invented.len();
        report.compactions.push(CompactionLoss {
            entry_id: entry.id.clone(),
            summary_tokens: counter.text(&compaction.summary),
            loss,
            invented,
        });
    }
    let now = readable(&build_context(path, rules));
    report.totals = TotalLoss {
        compactions: report.compactions.len(),
        edits: report.edits.len(),
        loss: all.look_up(&now).loss(),
        invented: report.totals.invented,
    };
    Some(report)
}

/// Returns what one context has and the next one has not.
fn removed_between(
    before: &SessionContext,
    after: &SessionContext,
    counter: &dyn TokenCounter,
) -> Removed {
    let kept: BTreeMap<EntryIndex, &[Arc<AgentMessage>]> = after
        .entries
        .iter()
        .map(|projected| (projected.index, projected.messages.as_slice()))
        .collect();
    let mut removed = Removed::default();
    for projected in &before.entries {
        let left = kept.get(&projected.index).copied().unwrap_or_default();
        if left == projected.messages.as_slice() {
            continue;
        }
        for message in &projected.messages {
            removed.add_counted(message, &projected.entry.id, counter);
        }
    }
    removed
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
            EntryDraft::BranchSummary(_)
            | EntryDraft::Custom(_)
            | EntryDraft::Label(_)
            | EntryDraft::SessionInfo(_)
            | EntryDraft::ModelChange(_)
            | EntryDraft::ThinkingLevelChange(_) => {}
        }
    }
    let mut removed = Removed::default();
    let mut keeps = compaction.is_none();
    if let Some(compaction) = compaction {
        readable.add_text(&compaction.summary);
    }
    for projected in &context.entries {
        let id = &projected.entry.id;
        keeps |= compaction.is_some_and(|compaction| match &compaction.first_kept {
            FirstKept::Entry(first) => first == id,
            FirstKept::None => false,
        });
        for message in &projected.messages {
            let left = match (keeps, edits.get(id)) {
                (true, None) => {
                    readable.add(message);
                    continue;
                }
                (true, Some(edit)) => edit.replacement.clone(),
                (false, _) => None,
            };
            if let Some(content) = left {
                readable.add(&message.with_content(content));
            }
            removed.add_counted(message, id, counter);
        }
    }
    readable.finish();
    removed.look_up(&readable).loss()
}

fn readable(context: &SessionContext) -> Readable {
    let mut readable = Readable::default();
    for (_, message) in context.messages() {
        readable.add(message);
    }
    readable.finish();
    readable
}

/// Returns the quotes that nobody said and nothing printed before a place of the path. A line about the user may
/// quote something else; that is no invention.
fn found_nowhere(mut quotes: Vec<String>, path: &SessionPath<'_>, to: usize) -> Vec<String> {
    let tree = path.tree();
    for index in path.entries()[..to].iter().rev() {
        if quotes.is_empty() {
            break;
        }
        // What an earlier summary invented is an invention still.
        if tree.kind(*index) != EntryKind::Message {
            continue;
        }
        let Ok(entry) = tree.entry(*index) else {
            continue;
        };
        let mut readable = Readable::default();
        for message in entry.messages() {
            readable.add(&message);
        }
        quotes.retain(|quote| !is_said(quote, std::iter::once(readable.text())));
    }
    quotes
}

/// Returns what the user said between two places of a path, white space folded.
fn user_messages<'a>(
    path: &'a SessionPath<'_>,
    from: usize,
    to: usize,
) -> impl Iterator<Item = String> + 'a {
    let tree = path.tree();
    let entries = path.entries()[from..to].iter();
    let entries = entries.filter(|index| tree.kind(**index) == EntryKind::Message);
    entries.filter_map(|index| match tree.entry(*index).ok()?.body {
        EntryBody::Message(message) => user_text(&message).map(|text| folded(&text)),
        _ => None,
    })
}
