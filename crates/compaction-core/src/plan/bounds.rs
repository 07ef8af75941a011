//! The bounds of a plan: when there is nothing left to compact, how much stays, how large a summary may be.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use session_model::{AgentMessage, EntryBody, EntryIndex, EntryKind, SessionContext, SessionPath};

use crate::ledger::{Ledger, LedgerBlock, LedgerBudget, Shares, without_ledger};
use crate::measure::{Measure, adapted_keep};
use crate::plan::{CompactionPlan, NothingToDo, PlanOptions};
use crate::request::Summarizer;
use crate::restore;
use crate::rules::Rules;
use crate::threshold::{Threshold, threshold};
use session_model::tokens::{TokenCount, TokenCounter};

/// What should stay verbatim and what does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KeepBudget {
    /// The setting.
    pub asked: TokenCount,
    /// The setting, bounded by the threshold and adapted to measured usage.
    pub effective: TokenCount,
    /// What stays.
    pub kept: TokenCount,
}

/// Refuses to compact what ends in a compaction.
pub(super) fn refuse_compacted(
    path: &SessionPath<'_>,
    context: &SessionContext,
    rules: &Rules,
    due: bool,
) -> Result<(), NothingToDo> {
    let compacted = if rules.compacts_compacted {
        let newest = path.newest(EntryKind::Compaction);
        let after = newest.map_or(0, |(place, _)| place + 1);
        let after: BTreeSet<EntryIndex> = path.entries()[after..].iter().copied().collect();
        // What the compaction itself brought back is no work that was done since.
        let visible_after = context.entries.iter().any(|projected| {
            !projected.messages.is_empty()
                && !restore::is_restored(&projected.entry.body)
                && after.contains(&projected.index)
        });
        context.compaction().is_some() && !visible_after && !due
    } else {
        let last = path.entries().last();
        last.is_some_and(|index| path.tree().kind(*index) == EntryKind::Compaction)
    };
    if compacted {
        return Err(NothingToDo::AlreadyCompacted);
    }
    Ok(())
}

/// Returns what should stay verbatim: the setting, bounded by the threshold and adapted to measured usage.
pub(super) fn effective_keep(
    asked: TokenCount,
    threshold: Option<&Threshold>,
    measure: &Measure,
    rules: &Rules,
) -> TokenCount {
    if !rules.bounded_keep {
        return asked;
    }
    let half = threshold.map(|threshold| threshold.tokens.scaled(1, 2));
    let bounded = half
        .map_or(asked, |half| asked.min(half))
        .max(TokenCount(1));
    adapted_keep(bounded, measure.ratio)
}

/// A summary takes at most a quarter of the threshold, whatever the setting says.
pub(super) fn summary_cap(setting: TokenCount, threshold: Option<&Threshold>) -> TokenCount {
    let quarter = threshold.map(|threshold| threshold.tokens.scaled(1, 4));
    quarter
        .map_or(setting, |quarter| setting.min(quarter))
        .max(TokenCount(200))
}

/// What the form of a summary needs with a few facts in it, and the least that one may take.
pub(crate) const FORM: TokenCount = TokenCount(200);
pub(crate) const LEAST: TokenCount = TokenCount(32);

/// Returns what the beginning of a split turn may take of a cap: a quarter, but room for its form.
pub(crate) fn prefix_cap(cap: TokenCount) -> TokenCount {
    let form = FORM.min(cap.scaled(2, 5));
    cap.scaled(1, 4).max(form).max(LEAST)
}

/// Returns the ledger for a summary from another writer, behind which the entries from the place `first_kept` of
/// the context stay, by the rule of every plan; `most` is what it may take in all. Where that is little, rules go first.
pub fn ledger_beside(
    path: &SessionPath<'_>,
    context: &SessionContext,
    first_kept: usize,
    options: &PlanOptions,
    most: TokenCount,
) -> LedgerBlock {
    let counter = options.profile.counter();
    let settings = &options.settings.compaction;
    let threshold = threshold(options.window, settings, &options.profile.rules());
    let gone = context.entries.iter().take(first_kept);
    let gone = gone.flat_map(|projected| &projected.messages);
    let gone: TokenCount = gone.map(|message| counter.message(message)).sum();
    let carried = context
        .compaction()
        .map(|(_, compaction)| compaction.summary.as_str());
    let room = ledger_room(gone, carried, counter);
    let ledger = Ledger::of(path, context, first_kept);
    let pins = settings.pins.budget(options.window, threshold.as_ref());
    let pins = LedgerBudget {
        ledger: TokenCount::ZERO,
        pins: pins.min(most),
    };
    let left = most.saturating_sub(ledger.fit(pins, counter).tokens);
    let asked = settings.ledger.budget(options.window, threshold.as_ref());
    let asked = asked.min(room);
    let shares = match left < asked {
        true => Shares::RulesFirst,
        false => Shares::Each,
    };
    let budget = LedgerBudget {
        ledger: asked.min(left),
        ..pins
    };
    ledger.fit_as(shares, budget, counter)
}

/// Of what leaves the context, the ledger takes at most one part in this many.
pub(super) const LEDGER_SHARE: u64 = 4;

/// Returns what a ledger may take: where little goes, it must not take its place. What the ledger of the summary
/// before took is there again, so that small rounds lose nothing.
pub(super) fn ledger_room(
    gone: TokenCount,
    carried: Option<&str>,
    counter: &dyn TokenCounter,
) -> TokenCount {
    let carried = carried.unwrap_or_default();
    let whole = counter.text(carried);
    let before = whole.saturating_sub(counter.text(&without_ledger(carried)));
    let since = gone.saturating_sub(whole).scaled(1, LEDGER_SHARE);
    gone.scaled(1, LEDGER_SHARE).max(before + since)
}

/// The least that a ledger may take next to the prose of a model.
const LEAST_BESIDE: TokenCount = TokenCount(700);

/// Returns what a ledger may take by default next to the prose of a model, which tells most of it: a 250th of what
/// leaves the context.
pub(super) fn beside_prose(gone: TokenCount) -> TokenCount {
    gone.scaled(1, 250).max(LEAST_BESIDE)
}

/// From this cap on the log of an extractive summary tells figures and choices too; below it they stand in the ledger, in
/// fewer words.
const TELLS_ALL: TokenCount = TokenCount(2000);

impl CompactionPlan {
    /// Returns the ledger next to an extractive summary, in which a log quotes what the user said.
    pub(crate) fn ledger_next_to_log(&self) -> LedgerBlock {
        let (Some(facts), Some((_, alone))) = (&self.facts, self.beside) else {
            return self.ledger.clone();
        };
        // What the user said in full tells more than what was recognized in it.
        let budget = LedgerBudget {
            ledger: self.ledger.budget.min(self.summary_cap.scaled(1, 3)),
            ..alone
        };
        let counter = self.profile.counter();
        let facts = facts.next_to_log(self.summary_cap >= TELLS_ALL);
        facts.fit_as(self.shares_next_to_log(), budget, counter)
    }

    fn shares_next_to_log(&self) -> Shares {
        match self.summary_cap >= TELLS_ALL {
            true => Shares::NextToLog,
            false => Shares::RulesFirst,
        }
    }

    /// Returns the ledger for the prose of this writer: next to a model's, only what that lacks.
    pub(crate) fn ledger_for(&self, prose: &str, summarizer: &Summarizer) -> LedgerBlock {
        let (Some(facts), Some((beside, alone))) = (&self.facts, &self.beside) else {
            return self.ledger.clone();
        };
        let counter = self.profile.counter();
        match summarizer {
            Summarizer::Extractive => self.ledger_next_to_prose(facts, prose, *alone),
            Summarizer::Native {
                readable: false, ..
            } => facts.fit(*alone, counter),
            Summarizer::Model { .. }
            | Summarizer::Native { .. }
            | Summarizer::Remote { .. }
            | Summarizer::Hook { .. } => facts.lacking(prose).fit(*beside, counter),
        }
    }
}

impl CompactionPlan {
    /// Returns the ledger that fits into what extractive prose and the lists of files leave of the cap.
    fn ledger_next_to_prose(
        &self,
        facts: &Ledger,
        prose: &str,
        budget: LedgerBudget,
    ) -> LedgerBlock {
        let counter = self.profile.counter();
        let facts = facts.lacking_in_log(prose);
        let room = self.summary_cap.saturating_sub(counter.text(prose));
        // Prose that somebody has edited may take all of it.
        let least = self.ledger.budget.scaled(1, 4);
        let next_to_log = self.ledger_next_to_log();
        let room = room.saturating_sub(next_to_log.pin_tokens);
        let mut files = next_to_log.files;
        loop {
            let tags = counter.text(&self.files.tags(self.file_list_limit, &files));
            let left = room.saturating_sub(tags).max(least);
            let budget = LedgerBudget {
                ledger: self.ledger.budget.min(left),
                ..budget
            };
            let block = facts.fit_as(self.shares_next_to_log(), budget, counter);
            // The files that it does not list, the tags do.
            match files.iter().all(|file| block.files.contains(file)) {
                true => return block,
                false => files.retain(|file| block.files.contains(file)),
            }
        }
    }
}

/// Returns how many messages a conversation has: the summary before it and what that brought back count, its
/// acknowledgement and instructions do not.
pub(super) fn conversation_len(context: &SessionContext) -> usize {
    let entries = context.entries.iter().enumerate();
    let counts = entries.map(|(place, projected)| {
        let is_system =
            |message: &&Arc<AgentMessage>| matches!(***message, AgentMessage::System(_));
        let messages = projected.messages.iter();
        let count = messages.filter(|message| !is_system(message)).count();
        match &projected.entry.body {
            EntryBody::Compaction(_) if place == 0 => count.min(1),
            _ => count,
        }
    });
    counts.sum()
}
