//! A summary that somebody reads, and may edit, before it is written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction_core::{AppliedCompaction, CompactionPlan, prose_of};
use serde_json::json;
use tokio::sync::oneshot;

use crate::machine::JobEnd;
use crate::runtime::compaction::CompactionJob;
use session_protocol::event::SessionEvent;
use session_protocol::{Refusal, Reply};
use summarize::{ModelReport, add_details, bill_in_details, summary_draft};

/// What is said of a summary: another text in its place, or none where it may stay.
type Verdict = Option<String>;

/// Where a summary waits to be read; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Review(Arc<Mutex<Option<oneshot::Sender<Verdict>>>>);

impl Review {
    fn slot(&self) -> MutexGuard<'_, Option<oneshot::Sender<Verdict>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) -> oneshot::Receiver<Verdict> {
        let (sender, verdict) = oneshot::channel();
        *self.slot() = Some(sender);
        verdict
    }

    /// Lets the summary that waits go on.
    pub fn answer(&self, verdict: Verdict) -> Result<Reply, Refusal> {
        let waiting = self.slot().take();
        match waiting.map(|waiting| waiting.send(verdict)) {
            Some(Ok(())) => Ok(Reply::Done {}),
            Some(Err(_)) | None => Err(Refusal::refused("no summary waits to be read")),
        }
    }
}

impl CompactionJob {
    /// Returns what is written: what was applied, or the plan applied to the text that somebody gave in its place. A
    /// text that cannot be used is asked for again.
    pub(super) async fn reviewed(
        &self,
        plan: &CompactionPlan,
        mut applied: AppliedCompaction,
        report: &ModelReport,
    ) -> Result<AppliedCompaction, JobEnd> {
        let Some(review) = self.review.as_ref().filter(|_| self.events.is_read()) else {
            return Ok(applied);
        };
        let mut summary = prose_of(&applied.summary);
        let mut error = None;
        loop {
            let verdict = review.wait();
            self.events.send(SessionEvent::CompactionReview {
                summary: summary.clone(),
                tokens_before: (plan.tokens_in_context() + self.chosen.freed).0,
                tokens_after: applied.tokens_after.0,
                error: error.take(),
            });
            let verdict = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(JobEnd::Cancelled),
                verdict = verdict => verdict.map_err(|_| JobEnd::Cancelled)?,
            };
            let Some(text) = verdict.filter(|text| text.trim() != summary.trim()) else {
                return Ok(applied);
            };
            summary = self.events.without_keys(&text);
            match plan.apply_prose(&summary, applied.summarizer.clone()) {
                Ok(edited) => {
                    applied = edited;
                    if let Some(draft) = summary_draft(&mut applied.drafts) {
                        bill_in_details(draft, report);
                        add_details(draft, &[("edited", json!(true))]);
                    }
                    return Ok(applied);
                }
                Err(why) => error = Some(why.to_string()),
            }
        }
    }
}
