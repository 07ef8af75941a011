//! What is to stop, and what is wanted in its place.

use crate::machine::step::Step;
use crate::machine::{
    AfterCompaction, CANCELLED, Compaction, Effect, JobEnd, Notice, PendingAction, Requested,
    State, Write,
};

impl Step {
    /// What runs is to end: for good, or because of what `wanted` says.
    pub(super) fn stop(&mut self, state: State, wanted: PendingAction) -> State {
        match state {
            State::Closed => State::Closed,
            State::Idle if wanted == PendingAction::Close => self.close(),
            State::Idle => State::Idle,
            State::Asking(job) | State::RunningTools(job) => {
                self.want(wanted);
                self.effects.push(Effect::Cancel(job));
                State::Stopping(job)
            }
            State::Compacting(compaction) => {
                self.want(wanted);
                self.cancel_compaction(compaction)
            }
            State::Navigating(job) => {
                self.want(wanted);
                self.effects.push(Effect::Cancel(job));
                State::Navigating(job)
            }
            short @ (State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping(_)) => {
                self.want(wanted);
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

    /// A stronger wish does not give way to a weaker one.
    fn want(&mut self, wanted: PendingAction) {
        self.memory.held |= wanted == PendingAction::Rest;
        if self.memory.pending != Some(PendingAction::Close) {
            self.withdraw_compaction();
            self.memory.pending = Some(wanted);
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
                self.memory.pending = Some(PendingAction::Compact(requested));
                self.effects.push(Effect::Cancel(job));
                State::Stopping(job)
            }
            State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping(_) => match self.memory.pending {
                None | Some(PendingAction::Continue) => {
                    self.memory.pending = Some(PendingAction::Compact(requested));
                    self.cancel_hook_review(&state);
                    state
                }
                Some(PendingAction::Compact(_)) => {
                    self.refuse(state, "a compaction is about to run already")
                }
                Some(PendingAction::Rest) => {
                    self.refuse(state, "the agent is being stopped; try again when it has")
                }
                Some(PendingAction::Close) => self.refuse(state, "the session is ending"),
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
                    self.memory.pending = Some(PendingAction::Continue);
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
        let is_compaction = matches!(self.memory.pending, Some(PendingAction::Compact(_)));
        if is_compaction {
            self.memory.pending = None;
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
