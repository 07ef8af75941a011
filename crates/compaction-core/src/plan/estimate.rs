//! The size of the context before and after a compaction.

use session_model::tokens::TokenCount;
use session_model::{AgentMessage, SummaryMessage, acknowledgement, resumed};

use crate::plan::answers::SPLIT_TURN_HEADING;
use crate::plan::{CompactionPlan, Disposition, prefix_cap};
use crate::request::{RequestKind, SummaryRequest};
use crate::rules::Profile;

impl CompactionPlan {
    /// Returns the estimate of the context as it is.
    pub fn tokens_in_context(&self) -> TokenCount {
        let entries: TokenCount = self.entries.iter().map(|entry| entry.tokens).sum();
        entries + self.system_tokens()
    }

    /// Returns the estimate of the context after, with this summary in it.
    pub fn tokens_after(&self, summary: &str) -> TokenCount {
        let stays = |disposition| matches!(disposition, Disposition::Kept | Disposition::Pruned);
        let kept = self.entries.iter().filter(|entry| stays(entry.disposition));
        let kept: TokenCount = kept.map(|entry| entry.tokens).sum();
        let elided: TokenCount = self.elisions.iter().map(|elision| elision.saved).sum();
        // The instruction to continue follows the summary.
        let summary = match self.restored {
            Some(_) => resumed(summary),
            None => summary.to_owned(),
        };
        let message = AgentMessage::CompactionSummary(SummaryMessage {
            summary,
            timestamp: None,
        });
        let summary = self.profile.counter().message(&message);
        kept.saturating_sub(elided) + summary + self.system_tokens() + self.tokens_behind()
    }

    /// Returns the estimate of the context after, with the largest prose that is useful in it.
    pub(super) fn most_tokens_after(&self) -> TokenCount {
        let counter = self.profile.counter();
        let tags = counter.text(&self.files.tags(self.file_list_limit));
        let resume = match self.restored {
            Some(_) => counter.text(&resumed("")),
            None => TokenCount::ZERO,
        };
        let summary = self.most_prose() + self.ledger.tokens + tags + resume;
        let shortened: TokenCount = self.elisions.iter().map(|elision| elision.saved).sum();
        let kept = self.keep.kept.saturating_sub(shortened);
        kept + self.system_tokens() + summary + self.tokens_behind()
    }

    /// Returns what prose may take: where only the beginning of a turn is summarized, the previous summary comes before
    /// it verbatim.
    fn most_prose(&self) -> TokenCount {
        let history = |request: &SummaryRequest| request.kind != RequestKind::TurnPrefix;
        let carried = self.previous_summary.as_ref();
        match carried.filter(|_| !self.requests().iter().any(history)) {
            Some(carried) => {
                let counter = self.profile.counter();
                let carried = counter.text(carried) + counter.text(SPLIT_TURN_HEADING);
                self.summary_cap.max(carried + prefix_cap(self.summary_cap))
            }
            None => self.summary_cap,
        }
    }

    /// Returns the size of the messages after the summary although nothing is kept: its acknowledgement, restored
    /// content and calls that wait.
    fn tokens_behind(&self) -> TokenCount {
        let Some(restored) = &self.restored else {
            return TokenCount::ZERO;
        };
        let answers = self.pending.clone().into_iter().chain([acknowledgement()]);
        let answers = answers.map(AgentMessage::Assistant);
        let counter = self.profile.counter();
        let answers: TokenCount = answers.map(|answer| counter.message(&answer)).sum();
        answers + restored.tokens
    }

    pub(super) fn system_tokens(&self) -> TokenCount {
        // If the rules leave system messages in place, they are among the entries.
        let in_place = self.profile == Profile::Pi;
        let system = self.system.as_ref().filter(|_| !in_place);
        let system = system.map(|system| AgentMessage::System(system.clone()));
        let counter = self.profile.counter();
        system.map_or(TokenCount::ZERO, |system| counter.message(&system))
    }
}
