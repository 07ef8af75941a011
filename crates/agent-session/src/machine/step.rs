//! One step: which event means what in which state.

use crate::machine::{
    AfterCompaction, Background, CheckPoint, Compaction, Effect, Event, Interruption, Job, Memory,
    Notice, ResumePoint, State, Write,
};
use session_protocol::TurnEnd;
use session_store::Delivery;

/// A step under way: the memory, and what is to be done.
pub(super) struct Step {
    pub(super) memory: Memory,
    /// What follows what runs, in place of what would be next.
    pub(super) interruption: Option<Interruption>,
    pub(super) effects: Vec<Effect>,
}

/// What follows, unless something else is wanted by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// The context is checked.
    Check(CheckPoint),
    /// The waiting messages are written and sent.
    Send,
    /// The model is asked.
    Ask,
    /// The agent asks itself to go on.
    Continue,
    /// The calls of the newest answer run.
    RunTools,
    /// The turn is over.
    End(TurnEnd),
    /// Nothing, unless messages wait.
    Rest,
}

impl Next {
    /// Returns how a turn ends that this would have gone on with.
    fn end_when_stopped(self) -> TurnEnd {
        match self {
            Self::End(end) => end,
            Self::Check(CheckPoint::AfterTurn) => TurnEnd::Done,
            Self::Check(_)
            | Self::Send
            | Self::Ask
            | Self::Continue
            | Self::RunTools
            | Self::Rest => TurnEnd::Aborted,
        }
    }
}

impl Step {
    pub(super) fn on(&mut self, state: State, event: Event) -> State {
        match (event, state) {
            (Event::Queued { id, delivery }, state) => self.queued(state, id, delivery),
            (Event::Dequeued(id), state) => {
                self.memory.forget(&id);
                state
            }
            (Event::Resume(resume_point), state) => self.resume(state, resume_point),
            (Event::Abort, state) => self.stop(state, Interruption::Stop),
            (Event::Close, state) => self.stop(state, Interruption::Close),
            (Event::Compact(requested), state) => self.compact_requested(state, requested),
            (Event::AbortCompaction, state) => self.abort_compaction(state),
            (Event::Navigate(navigation), State::Idle) => {
                self.discard_background();
                self.memory.idle_timer = None;
                let job = self.memory.job();
                self.effects.push(Effect::Navigate { job, navigation });
                State::Navigating(job)
            }
            (Event::Navigate(_), State::Closed) => {
                self.refuse(State::Closed, "the session has ended")
            }
            (Event::Navigate(_), busy) => self.refuse(busy, "the agent is busy; stop it first"),
            (Event::SetAutomatic(automatic), state) => self.set_automatic(state, automatic),
            (Event::ModelChanged, state) => self.model_changed(state),
            (Event::Moved, state) => {
                self.discard_background();
                self.memory.reset_failures();
                self.memory.compacted = false;
                state
            }
            (Event::Elapsed(job), state) => self.elapsed(state, job),
            (Event::BackgroundEnded { job, ready }, state) => {
                self.background_ended(state, job, ready)
            }
            (event, state) if event.job() != state.job() => state,
            (Event::Checked { result, .. }, State::Checking { point, .. }) => {
                self.checked(point, result)
            }
            (Event::Promoted { error, .. }, State::Promoting { trigger, after, .. }) => {
                self.promoted(trigger, after, error)
            }
            (Event::Stored(_), State::Storing { write, .. }) => self.stored(write),
            (Event::Withheld(_), State::Storing { .. }) => self.withheld(),
            (Event::StoreFailed { error, .. }, State::Storing { .. }) => self.store_failed(&error),
            (
                Event::Answered {
                    end, can_promote, ..
                },
                State::Asking(_) | State::Stopping(_),
            ) => {
                self.memory.can_promote = can_promote;
                self.store(Write::Answer(end))
            }
            (Event::ToolsDone(_), State::RunningTools(_) | State::Stopping(_)) => {
                self.store(Write::Results)
            }
            (
                Event::CompactionEnded { ended, .. },
                State::Compacting(compaction @ Compaction { grace: None, .. }),
            ) => self.compaction_ended(compaction, ended),
            (Event::NavigationEnded { ended, .. }, State::Navigating(_)) => self.navigated(ended),
            // It ended other work than what is awaited.
            (
                Event::Checked { .. }
                | Event::Promoted { .. }
                | Event::Stored(_)
                | Event::Withheld(_)
                | Event::StoreFailed { .. }
                | Event::Answered { .. }
                | Event::ToolsDone(_)
                | Event::CompactionEnded { .. }
                | Event::NavigationEnded { .. },
                state,
            ) => state,
        }
    }

    fn queued(&mut self, state: State, id: session_model::EntryId, delivery: Delivery) -> State {
        if state == State::Closed {
            return self.refuse(state, "the session has ended");
        }
        self.memory.held = false;
        self.memory.wait_for(id, delivery);
        match state {
            State::Idle => self.begin(),
            busy => busy,
        }
    }

    fn resume(&mut self, state: State, resume_point: ResumePoint) -> State {
        if state != State::Idle {
            return state;
        }
        match resume_point {
            ResumePoint::Rest => self.follow(Next::Rest),
            ResumePoint::Unanswered => {
                self.memory.reset_turn();
                self.start_turn();
                self.follow(Next::Check(CheckPoint::BetweenTools))
            }
            ResumePoint::PendingCalls => {
                self.memory.reset_turn();
                self.start_turn();
                self.follow(Next::RunTools)
            }
            ResumePoint::Answered(end) => {
                self.memory.reset_turn();
                self.start_turn();
                self.answered(end)
            }
        }
    }

    fn elapsed(&mut self, state: State, timer: Job) -> State {
        match state {
            State::Idle if self.memory.idle_timer == Some(timer) => {
                self.memory.idle_timer = None;
                self.follow(Next::Check(CheckPoint::WhenIdle))
            }
            State::Compacting(compaction) if compaction.grace == Some(timer) => {
                self.discard_background();
                self.compact_anew(compaction)
            }
            other => other,
        }
    }

    fn set_automatic(&mut self, state: State, automatic: bool) -> State {
        self.memory.policy.automatic = automatic;
        self.memory.reset_failures();
        if automatic {
            return state;
        }
        self.discard_background();
        match state {
            State::Compacting(compaction) if compaction.grace.is_some() => {
                self.cancel_compaction(compaction)
            }
            other => other,
        }
    }

    fn model_changed(&mut self, state: State) -> State {
        self.memory.reset_failures();
        self.memory.reset_recovery();
        self.memory.can_promote = false;
        self.memory.handoff_due = false;
        self.memory.speculation_failed = false;
        self.discard_background();
        match state {
            State::Compacting(compaction) if compaction.grace.is_some() => {
                self.compact_anew(compaction)
            }
            other => other,
        }
    }

    /// Returns whether something else follows than what would be next.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interruption.is_some()
    }

    /// Forgets that what runs was to be stopped for a compaction that was taken back.
    pub(super) fn forget_withdrawn(&mut self) {
        if self.interruption == Some(Interruption::Withdrawn) {
            self.interruption = None;
        }
    }

    pub(super) fn refuse(&mut self, state: State, why: &'static str) -> State {
        self.tell(Notice::Refused(why));
        state
    }

    pub(super) fn tell(&mut self, notice: Notice) {
        self.effects.push(Effect::Notify(notice));
    }

    /// Does what follows, or what is wanted instead by now.
    pub(super) fn follow(&mut self, next: Next) -> State {
        let stops = !matches!(self.interruption, None | Some(Interruption::Withdrawn));
        if next == Next::RunTools && stops {
            // No call is parted from its result: these get results that say that they did not run.
            let job = self.memory.job();
            self.effects.push(Effect::RunTools(job));
            self.effects.push(Effect::Cancel(job));
            return State::Stopping(job);
        }
        match self.interruption.take() {
            None | Some(Interruption::Withdrawn) => self.go(next),
            Some(Interruption::Close) => {
                self.end_turn(next.end_when_stopped());
                self.close()
            }
            Some(Interruption::Stop) => {
                self.end_turn(next.end_when_stopped());
                self.go(Next::Rest)
            }
            Some(Interruption::Compact(requested)) => {
                let after = match next {
                    Next::Check(CheckPoint::BeforePrompt) | Next::Send => AfterCompaction::Send,
                    Next::Check(CheckPoint::BetweenTools) | Next::Ask => AfterCompaction::Ask,
                    Next::RunTools | Next::Continue => AfterCompaction::Resume,
                    Next::End(end) => {
                        self.memory.held |= end != TurnEnd::Done;
                        self.end_turn(end);
                        AfterCompaction::Rest
                    }
                    Next::Check(CheckPoint::AfterTurn) => {
                        self.end_turn(TurnEnd::Done);
                        AfterCompaction::Rest
                    }
                    Next::Check(CheckPoint::WhenIdle) | Next::Rest => AfterCompaction::Rest,
                };
                self.compact_as_requested(requested, after)
            }
        }
    }

    fn go(&mut self, next: Next) -> State {
        match next {
            Next::Check(point) => {
                let job = self.memory.job();
                self.effects.push(Effect::Check { job, point });
                State::Checking { job, point }
            }
            Next::Send => self.send(),
            Next::Ask => {
                if let Some(limit) = self.memory.limit_reached() {
                    return self.go(Next::End(TurnEnd::LimitReached(limit.to_string())));
                }
                self.memory.requests += 1;
                let job = self.memory.job();
                self.effects.push(Effect::Ask(job));
                State::Asking(job)
            }
            Next::Continue => self.store(Write::Continue),
            Next::RunTools => {
                let job = self.memory.job();
                self.effects.push(Effect::RunTools(job));
                State::RunningTools(job)
            }
            Next::End(end) => {
                self.memory.held |= end != TurnEnd::Done;
                self.end_turn(end);
                self.go(Next::Rest)
            }
            Next::Rest if self.memory.waiting() > 0 && !self.memory.held => self.begin(),
            Next::Rest => self.rest(),
        }
    }

    /// Begins a turn with what waits.
    pub(super) fn begin(&mut self) -> State {
        self.memory.reset_turn();
        self.follow(Next::Check(CheckPoint::BeforePrompt))
    }

    pub(super) fn store(&mut self, write: Write) -> State {
        let job = self.memory.job();
        self.effects.push(Effect::Store {
            job,
            write: write.clone(),
        });
        State::Storing { job, write }
    }

    pub(super) fn start_turn(&mut self) {
        if !self.memory.in_turn {
            self.memory.in_turn = true;
            self.tell(Notice::TurnStarted);
        }
    }

    pub(super) fn end_turn(&mut self, end: TurnEnd) {
        self.memory.handoff_due = false;
        if self.memory.in_turn {
            self.memory.in_turn = false;
            self.tell(Notice::TurnEnded(end));
        }
    }

    pub(super) fn rest(&mut self) -> State {
        let waiting = self.memory.waiting();
        self.tell(Notice::Resting { waiting });
        let job = self.memory.job();
        self.memory.idle_timer = Some(job);
        self.effects.push(Effect::IdleTimer(job));
        State::Idle
    }

    pub(super) fn close(&mut self) -> State {
        self.discard_background();
        self.memory.idle_timer = None;
        self.tell(Notice::Closed);
        State::Closed
    }

    pub(super) fn discard_background(&mut self) {
        if let Some(background) = self.memory.background.take() {
            let background = background.job();
            self.effects.push(Effect::Discard(background));
        }
    }

    fn background_ended(&mut self, state: State, ended: Job, ready: bool) -> State {
        if self.memory.background != Some(Background::Running(ended)) {
            return state;
        }
        self.memory.background = ready.then_some(Background::Ready(ended));
        self.memory.speculation_failed |= !ready;
        match state {
            State::Compacting(mut compaction)
                if compaction.grace.is_some() && compaction.job == ended =>
            {
                match ready {
                    true => {
                        compaction.job = self.memory.job();
                        compaction.grace = None;
                        self.splice(compaction, ended)
                    }
                    false => self.compact_anew(compaction),
                }
            }
            other => other,
        }
    }
}
