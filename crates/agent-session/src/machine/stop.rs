//! What is to stop, and what is wanted in its place.

use crate::machine::step::Step;
use crate::machine::{
    AfterCompaction, CANCELLED, Compaction, Effect, Interruption, JobEnd, Notice, Requested, State,
    Write,
};

impl Step {
    /// Interrupts what runs.
    pub(super) fn stop(&mut self, state: State, wanted: Interruption) -> State {
        match state {
            State::Closed => State::Closed,
            State::Idle if wanted == Interruption::Close => self.close(),
            State::Idle => State::Idle,
            State::Asking(job) | State::RunningTools(job) => {
                self.interrupt(wanted);
                self.effects.push(Effect::Cancel(job));
                State::Stopping(job)
            }
            State::Compacting(compaction) => {
                self.interrupt(wanted);
                self.cancel_compaction(compaction)
            }
            State::Navigating(job) => {
                self.interrupt(wanted);
                self.effects.push(Effect::Cancel(job));
                State::Navigating(job)
            }
            short @ (State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping(_)) => {
                self.interrupt(wanted);
                self.cancel_hook_review(&short);
                short
            }
        }
    }

    /// Hooks may be looking at what is to be sent; whoever stops does not wait for them.
    fn cancel_hook_review(&mut self, state: &State) {
        if let State::Checking { job, .. }
        | State::Storing {
            job,
            write: Write::Messages(_),
        } = state
        {
            self.effects.push(Effect::Cancel(*job));
        }
    }

    /// Nothing takes the place of a close.
    fn interrupt(&mut self, wanted: Interruption) {
        self.memory.held |= wanted == Interruption::Stop;
        if self.interruption != Some(Interruption::Close) {
            self.withdraw_compaction();
            self.interruption = Some(wanted);
        }
    }

    pub(super) fn compact_requested(&mut self, state: State, requested: Box<Requested>) -> State {
        match state {
            State::Idle => {
                self.memory.idle_timer = None;
                self.compact_as_requested(requested, AfterCompaction::Rest)
            }
            State::Compacting(_) => self.refuse(state, "a compaction is running already"),
            State::Navigating(_) => {
                self.refuse(state, "the session is moving; try again when it has")
            }
            State::Closed => self.refuse(state, "the session has ended"),
            State::Asking(job) | State::RunningTools(job) => {
                self.interruption = Some(Interruption::Compact(requested));
                self.effects.push(Effect::Cancel(job));
                State::Stopping(job)
            }
            State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping(_) => match self.interruption {
                None | Some(Interruption::Withdrawn) => {
                    self.interruption = Some(Interruption::Compact(requested));
                    self.cancel_hook_review(&state);
                    state
                }
                Some(Interruption::Compact(_)) => {
                    self.refuse(state, "a compaction is about to run already")
                }
                Some(Interruption::Stop) => {
                    self.refuse(state, "the agent is being stopped; try again when it has")
                }
                Some(Interruption::Close) => self.refuse(state, "the session is ending"),
            },
        }
    }

    pub(super) fn abort_compaction(&mut self, state: State) -> State {
        match state {
            State::Compacting(compaction) => self.cancel_compaction(compaction),
            State::Navigating(job) => {
                self.effects.push(Effect::Cancel(job));
                State::Navigating(job)
            }
            State::Stopping(_) | State::Storing { .. } => {
                self.discard_background();
                if self.withdraw_compaction() {
                    self.interruption = Some(Interruption::Withdrawn);
                }
                state
            }
            State::Idle
            | State::Checking { .. }
            | State::Promoting { .. }
            | State::Asking(_)
            | State::RunningTools(_)
            | State::Closed => {
                self.discard_background();
                self.withdraw_compaction();
                state
            }
        }
    }

    /// Forgets a compaction that has not begun, and returns whether there was one.
    fn withdraw_compaction(&mut self) -> bool {
        let is_compaction = matches!(self.interruption, Some(Interruption::Compact(_)));
        if is_compaction {
            self.interruption = None;
            self.tell(Notice::Refused(CANCELLED));
        }
        is_compaction
    }

    pub(super) fn cancel_compaction(&mut self, compaction: Compaction) -> State {
        if compaction.grace.is_some() {
            // Only a preparation was waited for; nothing else runs.
            self.discard_background();
            return self.compaction_ended(compaction, JobEnd::Cancelled);
        }
        self.memory.cancelled = true;
        self.effects.push(Effect::Cancel(compaction.job));
        State::Compacting(compaction)
    }
}
