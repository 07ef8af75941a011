//! The built-in summarizer as a backend: answers the requests of a plan without a model (extractive).
//!
//! The facts are those of the plan's ledger. What the ledger next to the summary shows is not said again.

mod prose;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use session_model::EntryId;

use crate::branch::BranchPlan;
use crate::extract::focus_lines;
use crate::handoff::HandoffPlan;
use crate::ledger::{Ledger, LedgerBlock};
use crate::plan::{CompactionPlan, FORM, LEAST, SPLIT_TURN_HEADING, prefix_cap};
use crate::request::{AnswerEnd, RequestKind, Summarizer, SummaryAnswer, SummaryRequest};
use crate::tokens::{TokenCount, TokenCounter};

use prose::{Form, Prose, carried_of};

/// The most that a summary takes with its ledger and its lists of files, where no setting says how much the ledger takes.
const WHOLE: TokenCount = TokenCount(2950);

impl CompactionPlan {
    /// Returns the answers that the extractive summarizer gives; together they take at most the plan's cap.
    pub fn answer_extractive(&self) -> Vec<SummaryAnswer> {
        let counter = self.profile.counter();
        let mut most = self.summary_cap;
        if self.shares_whole {
            let tags = counter.text(&self.files.tags(self.file_list_limit, &self.ledger.files));
            let left = WHOLE.saturating_sub(self.ledger.tokens + tags);
            most = most.min(left.max(WHOLE.scaled(1, 5)));
        }
        let answer = |kind, cap| {
            let facts = self.facts.as_ref();
            answer_extractive(self.requests(), kind, (facts, &self.ledger), cap, counter)
        };
        // What the beginning of a split turn leaves goes to the history.
        let prefix = answer(RequestKind::TurnPrefix, prefix_cap(most));
        let taken = match prefix.last() {
            Some(prefix) => counter.text(SPLIT_TURN_HEADING) + counter.text(&prefix.text),
            None => TokenCount::ZERO,
        };
        let left = most.saturating_sub(taken).max(LEAST);
        let history = answer(RequestKind::History, left);
        let snapshot = answer(RequestKind::Snapshot, left);
        history.into_iter().chain(prefix).chain(snapshot).collect()
    }
}

impl BranchPlan {
    /// Returns the answers that the extractive summarizer gives, within `cap` tokens.
    pub fn answer_extractive(
        &self,
        cap: TokenCount,
        counter: &dyn TokenCounter,
    ) -> Vec<SummaryAnswer> {
        let facts = (Some(&self.facts), &LedgerBlock::default());
        let cap = cap.max(FORM);
        answer_extractive(self.requests(), RequestKind::Branch, facts, cap, counter)
    }
}

impl HandoffPlan {
    /// Returns the answers that the extractive summarizer gives, within `cap` tokens.
    pub fn answer_extractive(&self, cap: TokenCount) -> Vec<SummaryAnswer> {
        let counter = self.profile.counter();
        let facts = (Some(&self.facts), &self.ledger);
        let cap = cap.max(FORM);
        answer_extractive(self.requests(), RequestKind::Handoff, facts, cap, counter)
    }
}

/// Returns the answers to the requests of a kind, from the facts of a plan, next to its ledger.
fn answer_extractive(
    requests: &[SummaryRequest],
    kind: RequestKind,
    (facts, ledger): (Option<&Ledger>, &LedgerBlock),
    cap: TokenCount,
    counter: &dyn TokenCounter,
) -> Vec<SummaryAnswer> {
    let of_kind = |request: &&SummaryRequest| request.kind == kind;
    // The first part of a kind carries all of its messages; what folds the others does not matter here.
    let Some(first) = requests.iter().find(of_kind) else {
        return Vec::new();
    };
    let own;
    let facts = match facts {
        Some(facts) => facts,
        None => {
            let sources = requests.iter().flat_map(|request| &request.source);
            own = Ledger::of_messages(&sources.cloned().collect::<Vec<_>>(), "");
            &own
        }
    };
    let ids = |request: &SummaryRequest| -> BTreeSet<EntryId> {
        let sources = request.source.iter();
        sources.map(|source| source.entry_id.clone()).collect()
    };
    // The beginning of a turn tells its own facts, the history all others.
    let prefix = requests
        .iter()
        .filter(|it| it.kind == RequestKind::TurnPrefix);
    let prefix: BTreeSet<EntryId> = prefix.flat_map(ids).collect();
    let form = match kind {
        RequestKind::TurnPrefix => Form::TurnPrefix,
        RequestKind::Branch => Form::Branch,
        RequestKind::History
        | RequestKind::Short
        | RequestKind::Snapshot
        | RequestKind::Handoff => Form::History,
    };
    let others = requests.iter().any(|request| request.kind != kind);
    let mut prose = Prose::new(form, cap, counter, !(form == Form::TurnPrefix && others));
    let own = first.previous_summary(None);
    prose.carried(own.map_or_else(|| carried_of(&first.source), |it| Some(it.to_owned())));
    if let Some(focus) = first.focus.as_deref() {
        prose.focus(focus, focus_lines(&first.source, focus));
    }
    if form != Form::History {
        prose.last_steps(&first.source);
    }
    let listed: BTreeSet<_> = ledger
        .items
        .iter()
        .map(|it| (it.kind, &it.entry_id, &it.text))
        .collect();
    for item in &facts.items {
        let here = prefix.contains(&item.entry_id) == (form == Form::TurnPrefix);
        if here && !listed.contains(&(item.kind, &item.entry_id, &item.text)) {
            prose.fact(item, facts.remark(&item.entry_id));
        }
    }
    let text = prose.text();
    let answers = requests.iter().filter(of_kind).map(|_| SummaryAnswer {
        text: text.clone(),
        end: AnswerEnd::Complete,
        summarizer: Summarizer::Extractive,
    });
    answers.collect()
}
