//! Compactions: begun, waited for, and what their end means.

use crate::session::machine::step::Step;
use crate::session::machine::{
    AfterCompaction, Background, Effect, Ended, Job, MAX_FAILURES, Reason, State, Stopped, Told,
    Wish,
};

impl Step {
    /// Begins a compaction, by what was prepared where that fits.
    pub(super) fn compact(
        &mut self,
        reason: Reason,
        focus: Option<String>,
        wish: Wish,
        after: AfterCompaction,
    ) -> State {
        let hands_off = match wish {
            Wish::Handoff => true,
            Wish::InThisSession => false,
            Wish::Configured => self.memory.policy.hands_off,
        };
        if !reason.is_automatic() || hands_off {
            self.discard_background();
        }
        match self.memory.background {
            Some(Background::Running(job)) => {
                self.tell(Told::CompactionStarted { job, reason });
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
                let job = background;
                self.tell(Told::CompactionStarted { job, reason });
                self.splice(background, reason, after)
            }
            None => {
                let job = self.memory.job();
                self.tell(Told::CompactionStarted { job, reason });
                self.run(job, reason, (focus, wish), after)
            }
        }
    }

    fn run(
        &mut self,
        job: Job,
        reason: Reason,
        (focus, wish): (Option<String>, Wish),
        after: AfterCompaction,
    ) -> State {
        self.effects.push(Effect::Compact {
            job,
            reason,
            focus,
            wish,
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
    pub(super) fn compact_anew(
        &mut self,
        reason: Reason,
        focus: Option<String>,
        after: AfterCompaction,
    ) -> State {
        let job = self.memory.job();
        self.run(job, reason, (focus, Wish::InThisSession), after)
    }

    pub(super) fn splice(
        &mut self,
        background: Job,
        reason: Reason,
        after: AfterCompaction,
    ) -> State {
        self.memory.background = None;
        let job = self.memory.job();
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

    pub(super) fn abort_compaction(&mut self, state: State) -> State {
        match state {
            State::Compacting {
                job,
                reason,
                after,
                grace,
            } => self.cancel_compaction(job, reason, after, grace),
            State::Navigating { job } => {
                self.effects.push(Effect::Cancel { job });
                State::Navigating { job }
            }
            other => {
                self.discard_background();
                other
            }
        }
    }

    pub(super) fn cancel_compaction(
        &mut self,
        job: Job,
        reason: Reason,
        after: AfterCompaction,
        grace: Option<Job>,
    ) -> State {
        if grace.is_some() {
            // Only a preparation was waited for; nothing else runs.
            self.discard_background();
            return self.compaction_ended(reason, after, Ended::Cancelled);
        }
        self.effects.push(Effect::Cancel { job });
        State::Compacting {
            job,
            reason,
            after,
            grace,
        }
    }

    pub(super) fn compaction_ended(
        &mut self,
        reason: Reason,
        after: AfterCompaction,
        ended: Ended,
    ) -> State {
        match ended {
            Ended::Stale if self.memory.wanted.is_none() => self.compact_anew(reason, None, after),
            Ended::Stale | Ended::Cancelled => {
                self.tell(Told::CompactionEnded {
                    reason,
                    aborted: true,
                    will_retry: false,
                    error: Some(CANCELLED.to_owned()),
                });
                self.memory.declined |= reason.is_automatic();
                self.after_failure(after, reason.failure("it was cancelled"))
            }
            Ended::Compacted { lands } => {
                self.memory.start_over();
                self.ended_well(reason, after);
                if !lands && reason.is_automatic() {
                    self.stop_automatic("the newest compaction freed too little");
                }
                self.goes_on(after, false)
            }
            Ended::HandedOff => {
                self.memory.start_over();
                self.memory.handoff_due = false;
                self.ended_well(reason, after);
                self.goes_on(after, true)
            }
            Ended::Nothing(why) | Ended::Failed(why) if reason.is_automatic() => {
                let error = reason.failure(&why);
                self.ended_badly(reason, &error);
                self.memory.failures += 1;
                if self.memory.failures >= MAX_FAILURES {
                    self.stop_automatic("the newest three attempts failed");
                }
                self.after_failure(after, error)
            }
            // These are said as they are.
            Ended::Nothing(why) => {
                self.ended_badly(reason, &why);
                self.after_failure(after, why)
            }
            Ended::Failed(why) => {
                let error = reason.failure(&why);
                self.ended_badly(reason, &error);
                self.after_failure(after, error)
            }
        }
    }

    fn ended_well(&mut self, reason: Reason, after: AfterCompaction) {
        let will_retry = matches!(after, AfterCompaction::Retry | AfterCompaction::Resume);
        self.tell(Told::CompactionEnded {
            reason,
            aborted: false,
            will_retry: will_retry && self.memory.wanted.is_none(),
            error: None,
        });
    }

    fn ended_badly(&mut self, reason: Reason, error: &str) {
        self.tell(Told::CompactionEnded {
            reason,
            aborted: false,
            will_retry: false,
            error: Some(error.to_owned()),
        });
    }

    fn stop_automatic(&mut self, why: &str) {
        self.memory.stopped = Some(Stopped {
            at: self.memory.tokens,
        });
        self.tell(Told::AutomaticStopped(format!(
            "automatic compaction stops: {why}; compact by hand, change the model, or go back"
        )));
    }
}

/// What people read when they cancelled a compaction.
pub const CANCELLED: &str = "Compaction cancelled";
