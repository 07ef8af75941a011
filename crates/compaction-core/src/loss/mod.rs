//! The loss report: what of a session its compactions keep in sight, and what they put out of it.
//!
//! A compaction takes messages out of the context. The literals in them (paths, errors, figures, names,
//! addresses, commands), the user's messages and the user's rules are looked up in what the model can read
//! afterwards: the summary and what stays word for word. What is not there is not lost as long as its entry is in the
//! session and can be read by its id; where entries are missing, what they said is gone. And what a summary quotes as the user's words is held against what the user
//! said.
//!
//! The report needs nothing but the entries, so it works for the sessions of other agents as well.

mod against;
mod literals;
mod missing;
mod quotes;
mod readable;
mod removed;
mod said;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_missing;

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
pub use missing::Missing;
pub(crate) use readable::Readable;
pub(crate) use removed::{LookedUp, Removed, Seen};

use literals::{folded, user_text};
use quotes::quotes_of_user;
use readable::each_text;
use said::{Claims, Verdict};

/// How many of a kind there were and where they are now. Each is in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct KindLoss {
    /// How many different ones were taken out of the context.
    pub total: usize,
    /// Those that the model can still read.
    pub in_context: usize,
    /// Those that it can find again by the id of their entry.
    pub recoverable: usize,
    /// Those that nobody can find again, as far as a record tells of them: none, unless the file lost entries.
    pub gone: usize,
    /// Those that were not looked for, because there was too much.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_searched: usize,
}

/// How many texts there were and how many of them stand word for word in the context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Verbatim {
    /// How many were taken out of the context.
    pub total: usize,
    /// Those that the model can still read word for word.
    pub verbatim: usize,
    /// Those that no entry holds any more, as far as a record tells of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub gone: usize,
    /// Those that were not looked for, because there was too much.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_searched: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
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
    /// True when there was too much to look for, so that some of it is nowhere counted but as not searched.
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

    /// Returns how many of them were looked for.
    pub fn searched(&self) -> usize {
        let kinds = self.kinds.values();
        kinds.map(|kind| kind.total - kind.not_searched).sum()
    }

    /// Returns the share of those looked for that the model can still read, in percent; `None` when there were none.
    pub fn in_sight_percent(&self) -> Option<f64> {
        let (total, in_sight) = (self.searched(), self.in_sight());
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
    /// How many quotes were not looked for in all that was said, because there was too much.
    #[serde(skip_serializing_if = "is_zero")]
    pub quotes_not_searched: usize,
    /// What the session no longer holds of what was taken out.
    #[serde(skip_serializing_if = "Missing::is_nothing")]
    pub missing: Missing,
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
    /// How many quotes were not looked for in all that was said.
    #[serde(skip_serializing_if = "is_zero")]
    pub quotes_not_searched: usize,
    /// What the session no longer holds.
    #[serde(skip_serializing_if = "Missing::is_nothing")]
    pub missing: Missing,
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

/// How much is searched in a whole report, in bytes.
const SEARCHED_IN_ALL: u64 = 1024 * 1024 * 1024;

/// What a summary quotes, until it is known who said it.
struct Quoting {
    /// The place of its compaction on the path.
    place: usize,
    /// Each quote, and its number among all.
    quotes: Vec<(String, usize)>,
}

/// Returns what the compactions and edits of a path put out of sight. `proceed` is asked before each of them and
/// while quotes are looked up; `None` once it says no.
pub fn loss_report(
    path: &SessionPath<'_>,
    rules: ContextRules,
    counter: &dyn TokenCounter,
    proceed: &mut dyn FnMut() -> bool,
) -> Option<LossReport> {
    let tree = path.tree();
    let mut report = LossReport::default();
    let mut all = Removed::default();
    let mut gone = Vec::new();
    let mut claims = Claims::default();
    let mut quoting = Vec::new();
    let mut left = SEARCHED_IN_ALL;
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
        let (removed, mut missing) = removed_between(&before, &after, counter);
        let readable = readable(&after, left);
        let searching = readable.left();
        let mut loss = removed.look_up(&readable).loss();
        left = left.saturating_sub(searching - readable.left());
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
        missing.note_entries(tree, &before, &after);
        missing.note_compaction(tree, compaction);
        loss.count_gone(&missing, compaction.details.as_ref());
        report.totals.missing.add(missing);
        gone.push(loss.clone());
        let quotes = quotes_of_user(&compaction.summary).into_iter();
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
    let mut going = true;
    claims.look_up(said_before(path, last, || {
        going = proceed();
        going
    }));
    if !going {
        return None;
    }
    for (loss, quoting) in report.compactions.iter_mut().zip(quoting) {
        for (quote, number) in quoting.quotes {
            match claims.verdict(number, quoting.place) {
                Verdict::Said => {}
                Verdict::Invented => loss.invented.push(quote),
                Verdict::NotSearched => loss.quotes_not_searched += 1,
            }
        }
        report.totals.invented += loss.invented.len();
        report.totals.quotes_not_searched += loss.quotes_not_searched;
    }
    let now = readable(&build_context(path, rules), left);
    let mut loss = all.look_up(&now).loss();
    gone.iter().for_each(|lost| loss.add_gone(lost));
    report.totals = TotalLoss {
        compactions: report.compactions.len(),
        edits: report.edits.len(),
        loss,
        ..report.totals
    };
    Some(report)
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
        if left == projected.messages.as_slice() {
            continue;
        }
        for message in &projected.messages {
            removed.add_counted(message, &projected.entry.id, counter);
        }
        // What an edit shortened is still as it was in its entry.
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

fn readable(context: &SessionContext, searching: u64) -> Readable {
    let mut readable = Readable::searching(searching);
    for (_, message) in context.messages() {
        readable.add(message);
    }
    readable.finish();
    readable
}

/// Returns what was said and printed before a place of a path, by the place of its entry, white space folded, as long
/// as `proceed` says so. A line about the user may quote something else; that is no invention. What an earlier summary
/// invented is an invention still.
fn said_before<'a>(
    path: &'a SessionPath<'_>,
    to: usize,
    mut proceed: impl FnMut() -> bool + 'a,
) -> impl Iterator<Item = (usize, String)> + 'a {
    let tree = path.tree();
    let entries = path.entries()[..to].iter().enumerate();
    let messages = entries.filter(|(_, index)| tree.kind(**index) == EntryKind::Message);
    let messages = messages.take_while(move |_| proceed());
    messages.filter_map(|(place, index)| {
        let entry = tree.entry(*index).ok()?;
        let mut said = String::new();
        for message in entry.messages() {
            match user_text(&message) {
                Some(text) => said.push_str(&folded(&text)),
                None => each_text(&message, &mut |text| {
                    said.push_str(&folded(text));
                    said.push('\n');
                }),
            }
        }
        Some((place, said))
    })
}
