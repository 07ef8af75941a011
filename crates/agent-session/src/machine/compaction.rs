//! Compactions: begun, waited for, and what their end means.

use compaction_core::Strategy;

use crate::machine::step::Step;
use crate::machine::{
    AfterCompaction, Background, Effect, Ended, Job, MAX_FAILURES, Notice, Reason, State, Stopped,
    StrategyChoice,
};

impl Step {
    /// Begins a compaction, by what was prepared where that fits.
    pub(super) fn compact(
        &mut self,
        reason: Reason,
        focus: Option<String>,
        choice: StrategyChoice,
        after: AfterCompaction,
    ) -> State {
        let hands_off = match choice {
            StrategyChoice::Handoff => true,
            StrategyChoice::By(strategy) | StrategyChoice::Instead(strategy) => {
                strategy == Strategy::Handoff
            }
            StrategyChoice::InThisSession => false,
            StrategyChoice::Configured => self.memory.policy.hands_off,
        };
        if !reason.is_automatic() || hands_off {
            self.discard_background();
        }
        self.memory.cancelled = false;
        match self.memory.background {
            Some(Background::Running(job)) => {
                self.tell(Notice::CompactionStarted {
                    job,
                    reason,
                    choice,
                });
                let timer = self.memory.job();
                self.effects.push(Effect::GraceTimer { job: timer });
                State::Compacting {
                    job,
                    reason,
                    after,
                    grace: Some(timer),
                }
            }
            Some(Background::Ready(background)) => {
                let job = self.memory.job();
                self.tell(Notice::CompactionStarted {
                    job,
                    reason,
                    choice,
                });
                self.splice(job, background, reason, after)
            }
            None => {
                let job = self.memory.job();
                self.tell(Notice::CompactionStarted {
                    job,
                    reason,
                    choice,
                });
                self.run(job, reason, (focus, choice), after)
            }
        }
    }

    fn run(
        &mut self,
        job: Job,
        reason: Reason,
        (focus, choice): (Option<String>, StrategyChoice),
        after: AfterCompaction,
    ) -> State {
        self.memory.splices = false;
        self.effects.push(Effect::Compact {
            job,
            reason,
            focus,
            choice,
            omits_failed: after == AfterCompaction::Retry,
        });
        State::Compacting {
            job,
            reason,
            after,
            grace: None,
        }
    }

    /// Goes on without what was prepared, in the same compaction.
    pub(super) fn compact_anew(&mut self, reason: Reason, after: AfterCompaction) -> State {
        let job = self.memory.job();
        self.run(job, reason, (None, StrategyChoice::InThisSession), after)
    }

    /// Writes what was prepared.
    pub(super) fn splice(
        &mut self,
        job: Job,
        background: Job,
        reason: Reason,
        after: AfterCompaction,
    ) -> State {
        self.memory.background = None;
        self.memory.splices = true;
        self.effects.push(Effect::Splice {
            job,
            background,
            reason,
            omits_failed: after == AfterCompaction::Retry,
        });
        State::Compacting {
            job,
            reason,
            after,
            grace: None,
        }
    }

    pub(super) fn compaction_ended(
        &mut self,
        reason: Reason,
        after: AfterCompaction,
        ended: Ended,
    ) -> State {
        let is_cancelled = self.memory.cancelled || self.memory.pending.is_some();
        match ended {
            Ended::Stale if self.memory.splices && !is_cancelled => {
                self.compact_anew(reason, after)
            }
            Ended::Stale if !is_cancelled => {
                let changed = Ended::Failed(CHANGED_MEANWHILE.to_owned());
                self.compaction_ended(reason, after, changed)
            }
            Ended::Stale | Ended::Cancelled => {
                self.tell(Notice::CompactionEnded {
                    reason,
                    aborted: true,
                    will_retry: false,
                    error: Some(CANCELLED.to_owned()),
                });
                self.memory.declined |= reason.is_automatic();
                self.after_failure(after, reason.failure("it was cancelled"))
            }
            Ended::Compacted { lands } => {
                self.freed();
                self.end_successful(reason, self.asks_again(after, Place::Here));
                if !lands && reason.is_automatic() {
                    self.stop_automatic(None, "the newest compaction freed too little");
                }
                self.goes_on(after, Place::Here)
            }
            Ended::HandedOff => {
                self.freed();
                self.end_successful(reason, self.asks_again(after, Place::NewSession));
                self.goes_on(after, Place::NewSession)
            }
            Ended::Nothing(why) | Ended::Failed(why) if reason.is_automatic() => {
                let error = reason.failure(&why);
                self.end_failed(reason, &error);
                self.memory.failures += 1;
                if self.memory.failures >= MAX_FAILURES {
                    let at = self.memory.tokens;
                    self.stop_automatic(Some(at), "the newest three attempts failed");
                }
                self.after_failure(after, error)
            }
            // These are said as they are.
            Ended::Nothing(why) => {
                self.end_failed(reason, &why);
                self.after_failure(after, why)
            }
            Ended::Failed(why) => {
                let error = reason.failure(&why);
                self.end_failed(reason, &error);
                self.after_failure(after, error)
            }
        }
    }

    /// The context is another one now.
    fn freed(&mut self) {
        self.memory.reset_failures();
        self.memory.handoff_due = false;
        self.memory.compacted = true;
    }

    fn asks_again(&self, after: AfterCompaction, place: Place) -> bool {
        self.memory.pending.is_none()
            && match after {
                AfterCompaction::Retry => self.retries_in(place),
                AfterCompaction::Resume => true,
                AfterCompaction::Send
                | AfterCompaction::Ask
                | AfterCompaction::TurnEnd { .. }
                | AfterCompaction::Rest => false,
            }
    }

    fn end_successful(&mut self, reason: Reason, will_retry: bool) {
        self.tell(Notice::CompactionEnded {
            reason,
            aborted: false,
            will_retry,
            error: None,
        });
    }

    fn end_failed(&mut self, reason: Reason, error: &str) {
        self.tell(Notice::CompactionEnded {
            reason,
            aborted: false,
            will_retry: false,
            error: Some(error.to_owned()),
        });
    }

    fn stop_automatic(&mut self, at: Option<u64>, why: &str) {
        self.memory.stopped = Some(Stopped { at });
        self.tell(Notice::AutomaticStopped(format!(
            "automatic compaction stops: {why}; compact by hand, change the model, or go back"
        )));
    }
}

/// Where the session goes on after a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the session that was compacted.
    Here,
    /// In a new one that has nothing of the turn but a document.
    NewSession,
}

/// What people read when the session is another one than what runs began with.
pub(super) const CHANGED_MEANWHILE: &str = "the session changed meanwhile";

/// What people read when they cancelled a compaction.
pub const CANCELLED: &str = "Compaction cancelled";
