//! Compactions: begun, waited for, and what their end means.

use compaction_core::Strategy;

use crate::machine::step::Step;
use crate::machine::{
    ANSWERS_BETWEEN, AfterCompaction, Background, Compaction, Effect, Job, JobEnd, MAX_FAILURES,
    Notice, Requested, State, StrategyChoice, Trigger,
};

impl Step {
    /// Begins an automatic compaction, by what was prepared where that fits.
    pub(super) fn compact(
        &mut self,
        trigger: Trigger,
        choice: StrategyChoice,
        after: AfterCompaction,
    ) -> State {
        self.begin_compaction(trigger, choice, None, after)
    }

    /// Begins a compaction that was asked for.
    pub(super) fn compact_as_requested(
        &mut self,
        requested: Box<Requested>,
        after: AfterCompaction,
    ) -> State {
        let (trigger, choice) = (requested.trigger(), requested.choice());
        self.begin_compaction(trigger, choice, Some(requested), after)
    }

    fn begin_compaction(
        &mut self,
        trigger: Trigger,
        choice: StrategyChoice,
        requested: Option<Box<Requested>>,
        after: AfterCompaction,
    ) -> State {
        let hands_off = match choice {
            StrategyChoice::Handoff => true,
            StrategyChoice::By(strategy) => strategy == Strategy::Handoff,
            StrategyChoice::InThisSession => false,
            StrategyChoice::Configured => self.memory.policy.hands_off,
        };
        if requested.is_some() || hands_off {
            self.discard_background();
        }
        self.memory.cancelled = false;
        let background = self.memory.background;
        let job = match background {
            Some(Background::Running(job)) => job,
            Some(Background::Ready(_)) | None => self.memory.job(),
        };
        self.tell(Notice::CompactionStarted {
            job,
            trigger: trigger.clone(),
            choice,
        });
        let mut compaction = Compaction {
            job,
            trigger,
            after,
            grace: None,
        };
        match background {
            Some(Background::Running(_)) => {
                let timer = self.memory.job();
                self.effects.push(Effect::GraceTimer(timer));
                compaction.grace = Some(timer);
                State::Compacting(compaction)
            }
            Some(Background::Ready(background)) => self.splice(compaction, background),
            None => self.run(compaction, choice, requested),
        }
    }

    fn run(
        &mut self,
        compaction: Compaction,
        choice: StrategyChoice,
        requested: Option<Box<Requested>>,
    ) -> State {
        self.memory.splices = false;
        self.effects.push(Effect::Compact {
            job: compaction.job,
            trigger: compaction.trigger.clone(),
            choice,
            requested,
            omits_failed: compaction.after == AfterCompaction::Retry,
        });
        State::Compacting(compaction)
    }

    /// Goes on without what was prepared, in the same compaction.
    pub(super) fn compact_anew(&mut self, mut compaction: Compaction) -> State {
        compaction.job = self.memory.job();
        compaction.grace = None;
        self.run(compaction, StrategyChoice::InThisSession, None)
    }

    /// Writes what was prepared.
    pub(super) fn splice(&mut self, compaction: Compaction, background: Job) -> State {
        self.memory.background = None;
        self.memory.splices = true;
        self.effects.push(Effect::Splice {
            job: compaction.job,
            background,
            trigger: compaction.trigger.clone(),
            omits_failed: compaction.after == AfterCompaction::Retry,
        });
        State::Compacting(compaction)
    }

    pub(super) fn compaction_ended(&mut self, compaction: Compaction, ended: JobEnd) -> State {
        let is_cancelled = self.memory.cancelled || self.is_interrupted();
        if ended == JobEnd::Stale && !is_cancelled {
            if self.memory.splices {
                return self.compact_anew(compaction);
            }
            let changed = JobEnd::Failed(CHANGED_MEANWHILE.to_owned());
            return self.compaction_ended(compaction, changed);
        }
        let Compaction { trigger, after, .. } = compaction;
        match ended {
            JobEnd::Stale | JobEnd::Cancelled => {
                let is_automatic = trigger.is_automatic();
                let error = failure(&trigger, "it was cancelled");
                self.report_end(trigger, true, false, Some(CANCELLED.to_owned()));
                self.memory.declined |= is_automatic;
                self.after_failure(after, error)
            }
            JobEnd::Compacted { frees_enough } => {
                let was_short = self.memory.freed_little.is_some();
                self.freed();
                let is_short = !frees_enough && trigger.is_automatic();
                self.report_end(trigger, false, self.asks_again(after, Place::Here), None);
                if is_short {
                    self.memory.freed_little = Some(ANSWERS_BETWEEN);
                }
                if is_short && !was_short {
                    self.tell(Notice::AutomaticStopped(format!(
                        "the compaction freed little; the next waits for {ANSWERS_BETWEEN} answers or an overflow"
                    )));
                }
                self.after_compaction(after, Place::Here)
            }
            JobEnd::Moved | JobEnd::HandedOff => {
                self.freed();
                let asks_again = self.asks_again(after, Place::NewSession);
                self.report_end(trigger, false, asks_again, None);
                self.after_compaction(after, Place::NewSession)
            }
            JobEnd::Nothing(why) | JobEnd::Failed(why) if trigger.is_automatic() => {
                let error = failure(&trigger, &why);
                self.report_end(trigger, false, false, Some(error.clone()));
                let memory = &mut self.memory;
                let was_stopped = memory.is_stopped();
                memory.failures += 1;
                memory.failed_at.get_or_insert(memory.tokens);
                if memory.is_stopped() && !was_stopped {
                    self.tell(Notice::AutomaticStopped(format!(
                        "{MAX_FAILURES} automatic compactions failed; the next waits until the context has changed by a \
                         tenth, or overflows"
                    )));
                }
                self.after_failure(after, error)
            }
            // Reported as it is.
            JobEnd::Nothing(error) => self.end_failed(trigger, after, error),
            JobEnd::Failed(why) => {
                let error = failure(&trigger, &why);
                self.end_failed(trigger, after, error)
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
        !self.is_interrupted()
            && match after {
                AfterCompaction::Retry => self.retries_in(place),
                AfterCompaction::Resume => true,
                AfterCompaction::Send
                | AfterCompaction::Ask
                | AfterCompaction::TurnEnd
                | AfterCompaction::Rest => false,
            }
    }

    fn end_failed(&mut self, trigger: Trigger, after: AfterCompaction, error: String) -> State {
        self.report_end(trigger, false, false, Some(error.clone()));
        self.after_failure(after, error)
    }

    fn report_end(&mut self, trigger: Trigger, aborted: bool, retry: bool, error: Option<String>) {
        self.tell(Notice::CompactionEnded {
            trigger,
            aborted,
            will_retry: retry,
            error,
        });
    }
}

/// Returns the error that people read when a compaction by this trigger failed.
pub(super) fn failure(trigger: &Trigger, why: &str) -> String {
    let what = match trigger {
        Trigger::Manual { .. } => "Compaction failed",
        Trigger::Overflow => "Context overflow recovery failed",
        Trigger::Incomplete => "Incomplete response recovery failed",
        Trigger::Threshold | Trigger::Image | Trigger::Idle => "Auto-compaction failed",
    };
    format!("{what}: {why}")
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
