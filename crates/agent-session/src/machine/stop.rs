//! What is to stop, and what is wanted in its place.

use crate::machine::step::Step;
use crate::machine::{
    AfterCompaction, AfterStop, CANCELLED, Effect, Ended, Job, Reason, State, Told, Wish, Write,
};

impl Step {
    /// What runs is to end: for good, or because of what `wanted` says.
    pub(super) fn stop(&mut self, state: State, wanted: AfterStop) -> State {
        match state {
            State::Closed => State::Closed,
            State::Idle if wanted == AfterStop::Close => self.close(),
            State::Idle => State::Idle,
            State::Asking { job } | State::RunningTools { job } => {
                self.want(wanted);
                self.effects.push(Effect::Cancel { job });
                State::Stopping { job }
            }
            State::Compacting {
                job,
                reason,
                after,
                grace,
            } => {
                self.want(wanted);
                self.cancel_compaction(job, reason, after, grace)
            }
            State::Navigating { job } => {
                self.want(wanted);
                self.effects.push(Effect::Cancel { job });
                State::Navigating { job }
            }
            short @ (State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping { .. }) => {
                self.want(wanted);
                self.stop_looking(&short);
                short
            }
        }
    }

    /// Hooks may be looking at what is to be sent; whoever stops does not wait for them.
    fn stop_looking(&mut self, state: &State) {
        if let State::Checking { job, .. }
        | State::Storing {
            job,
            write: Write::Messages(_),
        } = state
        {
            self.effects.push(Effect::Cancel { job: *job });
        }
    }

    /// A stronger wish does not give way to a weaker one.
    fn want(&mut self, wanted: AfterStop) {
        self.memory.held |= wanted == AfterStop::Rest;
        if self.memory.wanted != Some(AfterStop::Close) {
            self.takes_back_compaction();
            self.memory.wanted = Some(wanted);
        }
    }

    pub(super) fn asked_to_compact(
        &mut self,
        state: State,
        focus: Option<String>,
        wish: Wish,
    ) -> State {
        match state {
            State::Idle => {
                self.memory.idle_timer = None;
                self.compact(Reason::Manual, focus, wish, AfterCompaction::Rest)
            }
            State::Compacting { .. } => self.refuse(state, "a compaction is running already"),
            State::Navigating { .. } => {
                self.refuse(state, "the session is moving; try again when it has")
            }
            State::Closed => self.refuse(state, "the session has ended"),
            State::Asking { job } | State::RunningTools { job } => {
                self.memory.wanted = Some(AfterStop::Compact { focus, wish });
                self.effects.push(Effect::Cancel { job });
                State::Stopping { job }
            }
            State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping { .. } => match self.memory.wanted {
                None | Some(AfterStop::GoOn) => {
                    self.memory.wanted = Some(AfterStop::Compact { focus, wish });
                    self.stop_looking(&state);
                    state
                }
                Some(AfterStop::Compact { .. }) => {
                    self.refuse(state, "a compaction is about to run already")
                }
                Some(AfterStop::Rest) => {
                    self.refuse(state, "the agent is being stopped; try again when it has")
                }
                Some(AfterStop::Close) => self.refuse(state, "the session is ending"),
            },
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
            State::Stopping { .. } | State::Storing { .. } => {
                self.discard_background();
                if self.takes_back_compaction() {
                    self.memory.wanted = Some(AfterStop::GoOn);
                }
                state
            }
            State::Idle
            | State::Checking { .. }
            | State::Promoting { .. }
            | State::Asking { .. }
            | State::RunningTools { .. }
            | State::Closed => {
                self.discard_background();
                self.takes_back_compaction();
                state
            }
        }
    }

    /// Forgets a compaction that has not begun, and returns whether there was one.
    fn takes_back_compaction(&mut self) -> bool {
        let is_compaction = matches!(self.memory.wanted, Some(AfterStop::Compact { .. }));
        if is_compaction {
            self.memory.wanted = None;
            self.tell(Told::Refused(CANCELLED));
        }
        is_compaction
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
        self.memory.cancelled = true;
        self.effects.push(Effect::Cancel { job });
        State::Compacting {
            job,
            reason,
            after,
            grace,
        }
    }
}
