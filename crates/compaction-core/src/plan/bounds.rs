//! The bounds of a plan: when there is nothing left to compact, how much stays, how large a summary may be.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use session_model::{AgentMessage, EntryBody, EntryIndex, EntryKind, SessionContext, SessionPath};

use crate::ledger::{LedgerBlock, LedgerReader};
use crate::measure::{Measure, adapted_keep};
use crate::outline::{Outline, OutlineBudget};
use crate::plan::{NothingToDo, PlanOptions};
use crate::prose::without_ledger;
use crate::restore;
use crate::rules::Rules;
use crate::threshold::{Threshold, threshold};
use session_model::tokens::TokenCount;

/// The size that should stay verbatim, and the size that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KeepBudget {
    /// The setting.
    pub asked: TokenCount,
    /// The setting, bounded by the threshold and adapted to measured usage.
    pub effective: TokenCount,
    /// The size that stays.
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
        // Content that the compaction itself restored does not count as new work.
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

/// Returns the tokens that should stay verbatim: the setting, limited by the threshold and adapted to measured usage.
/// With the system prompt and the tools (`fixed`) they take at most half the threshold; if those are large, a quarter
/// of the remaining tokens.
pub(super) fn effective_keep(
    asked: TokenCount,
    threshold: Option<&Threshold>,
    fixed: TokenCount,
    measure: &Measure,
    rules: &Rules,
) -> TokenCount {
    if !rules.bounded_keep {
        return asked;
    }
    let bound = threshold.map(|Threshold { tokens, .. }| {
        let half = tokens.scaled(1, 2).saturating_sub(fixed);
        half.max(tokens.saturating_sub(fixed).scaled(1, 4))
    });
    let bounded = bound
        .map_or(asked, |bound| asked.min(bound))
        .max(TokenCount(1));
    adapted_keep(bounded, measure.ratio)
}

/// Returns the ledger for a summary from another writer, if the entries from the index `first_kept` of
/// `context.entries` on stay; `most` is the limit of its size.
pub fn ledger_beside(
    path: &SessionPath<'_>,
    context: &SessionContext,
    first_kept: usize,
    options: &PlanOptions,
    most: TokenCount,
) -> LedgerBlock {
    let counter = options.profile.counter();
    let threshold = threshold(
        options.window,
        &options.settings.compaction,
        &options.profile.rules(),
    );
    let gone = context.entries.iter().take(first_kept);
    let gone = gone.flat_map(|projected| &projected.messages);
    let gone: TokenCount = gone.map(|message| counter.message(message)).sum();
    let carried = context
        .compaction()
        .map(|(_, compaction)| compaction.summary.as_str());
    let budget = ledger_budget(options, threshold.as_ref(), gone, carried);
    let pins = budget.pins.min(most);
    let budget = OutlineBudget {
        tokens: budget.tokens.min(most.saturating_sub(pins)),
        pins,
    };
    Outline::of(path, context, first_kept).ledger(LedgerReader::Session, budget, counter)
}

/// Of what leaves the context, the ledger takes at most one part in this many.
const LEDGER_SHARE: u64 = 4;

/// Returns the limit of a ledger: if little leaves the context (`gone`), the ledger must not use as much room. The size
/// of the last summary's ledger is available again, so that small rounds lose nothing.
pub(super) fn ledger_budget(
    options: &PlanOptions,
    threshold: Option<&Threshold>,
    gone: TokenCount,
    carried: Option<&str>,
) -> OutlineBudget {
    let counter = options.profile.counter();
    let settings = &options.settings.compaction;
    let carried = carried.unwrap_or_default();
    let whole = counter.text(carried);
    let before = whole.saturating_sub(counter.text(&without_ledger(carried)));
    let since = gone.saturating_sub(whole).scaled(1, LEDGER_SHARE);
    let room = gone.scaled(1, LEDGER_SHARE).max(before + since);
    OutlineBudget {
        tokens: settings.ledger.budget(options.window, threshold).min(room),
        pins: settings.pins.budget(options.window, threshold),
    }
}

/// Returns the limit of an extractive summary: half of what leaves the context, plus the whole of the previous summary.
pub(super) fn extractive_budget(
    options: &PlanOptions,
    threshold: Option<&Threshold>,
    gone: TokenCount,
    carried: Option<&str>,
) -> TokenCount {
    let carried = carried.map_or(TokenCount::ZERO, |carried| {
        options.profile.counter().text(carried)
    });
    let room = carried + gone.saturating_sub(carried).scaled(1, 2);
    let asked = options
        .settings
        .compaction
        .extractive_budget(options.window, threshold);
    asked.min(room).max(LEAST_SUMMARY)
}

/// The smallest limit of an extractive summary, if little leaves the context.
const LEAST_SUMMARY: TokenCount = TokenCount(200);

/// Returns what the beginning of a split turn may take of a cap.
pub(super) fn prefix_cap(cap: TokenCount) -> TokenCount {
    cap.scaled(1, 4).max(LEAST_SUMMARY.min(cap.scaled(2, 5)))
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
