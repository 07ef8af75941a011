//! The built-in summarizer as a backend: answers the requests of a plan without a model (extractive).

use crate::branch::BranchPlan;
use crate::extract::{ExtractInput, ExtractKind, extract};
use crate::files::{FileCalls, FileOps};
use crate::handoff::HandoffPlan;
use crate::ledger::LedgerBlock;
use crate::plan::{CompactionPlan, SPLIT_TURN_HEADING};
use crate::request::{AnswerEnd, RequestKind, Summarizer, SummaryAnswer, SummaryRequest};
use crate::tokens::{TokenCount, TokenCounter};

/// What the form of a summary needs with a few facts in it, and the least that one may take.
const FORM: TokenCount = TokenCount(200);
const LEAST: TokenCount = TokenCount(32);

impl CompactionPlan {
    /// Returns the answers that the extractive summarizer gives; together they take at most the plan's cap.
    pub fn answer_extractive(&self) -> Vec<SummaryAnswer> {
        let counter = self.profile.counter();
        let answer = |kind, cap| {
            let requests = self
                .requests()
                .iter()
                .filter(|request| request.kind == kind);
            let requests: Vec<&SummaryRequest> = requests.collect();
            answer_extractive(&requests, &self.files, Some(&self.ledger), cap, counter)
        };
        // What the beginning of a split turn leaves goes to the history.
        let prefix = answer(RequestKind::TurnPrefix, self.prefix_cap());
        let taken = match prefix.last() {
            Some(prefix) => counter.text(SPLIT_TURN_HEADING) + counter.text(&prefix.text),
            None => TokenCount::ZERO,
        };
        let left = self.summary_cap.saturating_sub(taken).max(LEAST);
        let history = answer(RequestKind::History, left);
        let snapshot = answer(RequestKind::Snapshot, left);
        history.into_iter().chain(prefix).chain(snapshot).collect()
    }

    /// Returns what the beginning of a split turn may take: a quarter of the cap, but room for its form.
    pub(crate) fn prefix_cap(&self) -> TokenCount {
        let form = FORM.min(self.summary_cap.scaled(2, 5));
        let quarter = self.summary_cap.scaled(1, 4);
        quarter.max(form).max(LEAST)
    }
}

impl BranchPlan {
    /// Returns the answers that the extractive summarizer gives, within `cap` tokens.
    pub fn answer_extractive(
        &self,
        cap: TokenCount,
        counter: &dyn TokenCounter,
    ) -> Vec<SummaryAnswer> {
        let requests: Vec<&SummaryRequest> = self.requests().iter().collect();
        answer_extractive(&requests, &self.files, None, cap.max(FORM), counter)
    }
}

impl HandoffPlan {
    /// Returns the answers that the extractive summarizer gives, within `cap` tokens.
    pub fn answer_extractive(&self, cap: TokenCount) -> Vec<SummaryAnswer> {
        let requests: Vec<&SummaryRequest> = self.requests().iter().collect();
        let counter = self.profile.counter();
        answer_extractive(
            &requests,
            &self.files,
            Some(&self.ledger),
            cap.max(FORM),
            counter,
        )
    }
}

fn answer_extractive(
    requests: &[&SummaryRequest],
    files: &FileOps,
    ledger: Option<&LedgerBlock>,
    cap: TokenCount,
    counter: &dyn TokenCounter,
) -> Vec<SummaryAnswer> {
    let mut text = String::new();
    let answers = requests.iter().map(|request| {
        // The first part of a kind carries all of its messages; what folds the others does not matter here.
        if request.part == 1 {
            // The beginning of a turn names its own files; the history names all.
            let mut own = FileOps::default();
            own.add_messages(
                request.source.iter().map(|source| &source.message),
                FileCalls::Succeeded,
            );
            let files = match request.kind {
                RequestKind::TurnPrefix => &own,
                RequestKind::History
                | RequestKind::Short
                | RequestKind::Branch
                | RequestKind::Snapshot
                | RequestKind::Handoff => files,
            };
            let read = files.read_by_recency();
            let modified = files.modified_by_recency();
            text = extract(&ExtractInput {
                kind: match request.kind {
                    RequestKind::History
                    | RequestKind::Short
                    | RequestKind::Snapshot
                    | RequestKind::Handoff => ExtractKind::History,
                    RequestKind::TurnPrefix => ExtractKind::TurnPrefix,
                    RequestKind::Branch => ExtractKind::Branch,
                },
                messages: &request.source,
                previous: request.previous_summary(None),
                focus: request.focus.as_deref(),
                read_files: &read,
                modified_files: &modified,
                ledger,
                cap: cap.0,
                count: &|text: &str| counter.text(text).0,
            });
        }
        SummaryAnswer {
            text: text.clone(),
            end: AnswerEnd::Complete,
            summarizer: Summarizer::Extractive,
        }
    });
    answers.collect()
}
