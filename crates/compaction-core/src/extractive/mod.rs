//! The built-in summarizer as a backend: answers the requests of a plan without a model (extractive).
//!
//! The facts are those of the plan's ledger. What the ledger next to the summary shows is not said again.

mod log;
mod prose;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use session_model::EntryId;

use crate::branch::BranchPlan;
use crate::handoff::HandoffPlan;
use crate::ledger::{Ledger, LedgerBlock, LedgerItem, LedgerKind};
use crate::plan::{CompactionPlan, FORM, LEAST, SPLIT_TURN_HEADING, merge_answers, prefix_cap};
use crate::request::{AnswerEnd, RequestKind, Summarizer, SummaryAnswer, SummaryRequest};
use session_facts::focus_lines;
use session_model::tokens::{TokenCount, TokenCounter};

use log::Log;
use prose::{Form, Prose, carried_of};

/// What a choice or a figure takes in a ledger, and the most of the cap, in percent, that is kept free for those that a
/// log has no room for.
const FACT: TokenCount = TokenCount(24);
const FACTS: u64 = 20;

impl CompactionPlan {
    /// Returns the answers that the extractive summarizer gives. With the ledger and the lists of files they take at most
    /// the plan's cap, a fifth of which is theirs in any case.
    pub fn answer_extractive(&self) -> Vec<SummaryAnswer> {
        let ledger = self.ledger_next_to_log();
        let answers = self.answers_next_to(&ledger, TokenCount::ZERO);
        match self.facts_left_out(&answers) {
            0 => answers,
            // In the ledger they take fewer words than in the log.
            facts => {
                let room = TokenCount(facts as u64 * FACT.0);
                let most = self.summary_cap.scaled(FACTS, 100);
                self.answers_next_to(&ledger, room.min(most))
            }
        }
    }

    /// Returns how many choices and figures neither these answers nor the ledger next to them tell.
    fn facts_left_out(&self, answers: &[SummaryAnswer]) -> usize {
        let previous = self.previous_summary.as_deref();
        let Ok((prose, writer)) = merge_answers(self.requests(), answers, previous) else {
            return 0;
        };
        let count = |items: &[LedgerItem]| {
            let facts = [LedgerKind::Decision, LedgerKind::Figure];
            items
                .iter()
                .filter(|item| facts.contains(&item.kind))
                .count()
        };
        let facts = self
            .facts
            .as_ref()
            .map(|facts| facts.lacking_in_log(&prose));
        let lacking = facts.map_or(0, |facts| count(&facts.items));
        lacking.saturating_sub(count(&self.ledger_for(&prose, &writer).items))
    }

    /// Returns the answers next to a ledger that takes `more` than it does now.
    fn answers_next_to(&self, ledger: &LedgerBlock, more: TokenCount) -> Vec<SummaryAnswer> {
        let counter = self.profile.counter();
        let tags = counter.text(&self.files.tags(self.file_list_limit, &ledger.files)) + more;
        let left = self.summary_cap.saturating_sub(ledger.tokens + tags);
        let most = left.max(self.summary_cap.scaled(1, 5)).max(FORM);
        let answer = |kind, cap| {
            let facts = self.facts.as_ref();
            answer_extractive(self.requests(), kind, (facts, ledger), cap, counter)
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
        // What an answer came to tells little without the message that it answers.
        let mut ledger = self.ledger.clone();
        ledger.items.retain(|item| !item.kind.is_message());
        let facts = (Some(&self.facts), &ledger);
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
    let says_made = !(form == Form::TurnPrefix && others);
    let log = Log::next_to(&ledger.items);
    let mut prose = Prose::new(form, cap, counter, says_made, log);
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
    let is_here = |id: &EntryId| prefix.contains(id) == (form == Form::TurnPrefix);
    for item in &facts.items {
        if is_here(&item.entry_id) && !listed.contains(&(item.kind, &item.entry_id, &item.text)) {
            prose.fact(
                item,
                facts.remark(&item.entry_id),
                facts.place(&item.entry_id),
            );
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
