//! The jobs of the runtime: what runs concurrently, and what each brings back.

use std::time::Duration;

use crate::machine::{AnswerEnd, Event, Job, JobEnd};
use crate::runtime::AgentSession;
use crate::runtime::answer::ModelResponse;
use crate::runtime::background::Prepared;
use crate::runtime::compaction::CompactionOutput;
use crate::runtime::navigation::Move;
use crate::runtime::prompting::HookReview;
use session_store::{BoxFuture, NewEntry};
use summarize::NoSummary;

/// A job that runs.
pub(super) type Running = BoxFuture<'static, (Job, Done)>;

/// What a job brings back.
pub(super) enum Done {
    /// What hooks said of messages that are about to be sent.
    HookReview(Box<HookReview>),
    /// An answer.
    Answer(Box<ModelResponse>),
    /// The results of tools.
    Results(Vec<NewEntry>),
    /// A compaction, to the point of being written.
    Compaction(Result<CompactionOutput, JobEnd>),
    /// A compaction that was prepared during the turn; none when that failed.
    Background(Option<Box<Prepared>>),
    /// A move of the leaf, to the point of being written.
    Navigation(Result<Box<Move>, JobEnd>),
    /// Time is up.
    Elapsed,
    /// The timer was stopped.
    Stopped,
}

impl AgentSession {
    /// Returns whether the readers of events, and hooks, are not too far behind.
    pub(super) fn has_room(&self) -> bool {
        !self.events.is_full(1) && !self.notifier.is_full()
    }

    pub(super) fn idle_time(&self) -> Option<Duration> {
        let settings = &self.compaction;
        let after = Duration::from_secs(settings.idle_timeout_seconds);
        settings.idle_enabled.then_some(after)
    }

    /// Takes what a job brought back, and returns what the machine is told.
    pub(super) async fn take(&mut self, job: Job, done: Done) -> Event {
        match done {
            Done::HookReview(review) => self.take_hook_review(job, *review).await,
            Done::Answer(given) => {
                let end = match given.end.clone() {
                    AnswerEnd::Overflow(error) => {
                        AnswerEnd::Overflow(format!("{error}; {}", self.shares()))
                    }
                    end => end,
                };
                self.turn.answer = Some(*given);
                Event::Answered {
                    job,
                    end,
                    can_promote: self.models.can_promote(),
                }
            }
            Done::Results(results) => {
                self.turn.results = results;
                Event::ToolsDone(job)
            }
            Done::Compaction(product) => {
                let ended = match product {
                    // What is cancelled at the last moment is not written.
                    Ok(_) if self.work.is_cancelled(job) => JobEnd::Cancelled,
                    Ok(product) => self.write_product(product).await,
                    Err(ended) => ended,
                };
                self.compaction_run.found_nothing = matches!(ended, JobEnd::Nothing(_));
                Event::CompactionEnded { job, ended }
            }
            Done::Background(prepared) => {
                // One that was discarded does not take the place of another.
                let prepared = prepared.filter(|_| !self.work.is_cancelled(job));
                let ready = prepared.is_some();
                if let Some(prepared) = prepared {
                    self.compaction_run.prepared = Some(*prepared);
                }
                Event::BackgroundEnded { job, ready }
            }
            Done::Navigation(moved) => {
                let ended = match moved {
                    Ok(_) if self.work.is_cancelled(job) => JobEnd::Cancelled,
                    Ok(moved) => self.write_move(*moved).await,
                    Err(ended) => ended,
                };
                self.report_cancelled_move(&ended);
                self.answer_navigation(&ended);
                Event::NavigationEnded { job, ended }
            }
            Done::Elapsed | Done::Stopped => Event::Elapsed(job),
        }
    }
}

/// Returns how a compaction ended without a summary.
pub(super) fn ended(none: NoSummary) -> JobEnd {
    if let Some(why) = none.nothing_to_do() {
        return JobEnd::Nothing(why);
    }
    match none {
        NoSummary::Cancelled => JobEnd::Cancelled,
        NoSummary::Nothing(nothing) => JobEnd::Nothing(nothing.to_string()),
        NoSummary::Failed(failure) => JobEnd::Failed(failure.to_string()),
    }
}
