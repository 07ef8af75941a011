//! One step: which event means what in which state.

use crate::session::machine::{
    AfterCompaction, AfterStop, Background, CheckPoint, Effect, Event, Job, Memory, Opening,
    Reason, State, Told, TurnEnd, Wish, Write,
};
use crate::session::store::Delivery;

/// A step under way: the memory, and what is to be done.
pub(super) struct Step {
    pub(super) memory: Memory,
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

impl Step {
    pub(super) fn on(&mut self, state: State, event: Event) -> State {
        match event {
            Event::Said { id, delivery } => self.said(state, id, delivery),
            Event::TakenBack { id } => {
                self.memory.forget(&id);
                state
            }
            Event::Resume(opening) => self.resume(state, opening),
            Event::Abort => self.stop(state, AfterStop::Rest),
            Event::Close => self.stop(state, AfterStop::Close),
            Event::Compact { focus, wish } => self.asked_to_compact(state, focus, wish),
            Event::AbortCompaction => self.abort_compaction(state),
            Event::Navigate(navigation) => match state {
                State::Idle => {
                    self.discard_background();
                    self.memory.idle_timer = None;
                    let job = self.memory.job();
                    self.effects.push(Effect::Navigate { job, navigation });
                    State::Navigating { job }
                }
                busy => self.refuse(busy, "the agent is busy; stop it first"),
            },
            Event::SetAutomatic(automatic) => {
                self.memory.policy.automatic = automatic;
                self.memory.start_over();
                if !automatic {
                    self.discard_background();
                }
                state
            }
            Event::ModelChanged => {
                self.memory.start_over();
                self.discard_background();
                state
            }
            Event::Elapsed { job } => self.elapsed(state, job),
            Event::BackgroundEnded { job, ready } => self.background_ended(state, job, ready),
            Event::Checked { job, verdict } => match state {
                State::Checking {
                    job: awaited,
                    point,
                } if awaited == job => self.checked(point, verdict),
                other => other,
            },
            Event::Promoted { job, error } => match state {
                State::Promoting {
                    job: awaited,
                    reason,
                    after,
                } if awaited == job => self.promoted(reason, after, error),
                other => other,
            },
            Event::Stored { job } => match state {
                State::Storing {
                    job: awaited,
                    write,
                } if awaited == job => self.stored(write),
                other => other,
            },
            Event::StoreFailed { job, error } => match state {
                State::Storing { job: awaited, .. } if awaited == job => self.store_failed(&error),
                other => other,
            },
            Event::Answered {
                job,
                end,
                can_promote,
            } => match state {
                State::Asking { job: awaited } | State::Stopping { job: awaited }
                    if awaited == job =>
                {
                    self.memory.can_promote = can_promote;
                    self.store(Write::Answer(end))
                }
                other => other,
            },
            Event::ToolsDone { job } => match state {
                State::RunningTools { job: awaited } | State::Stopping { job: awaited }
                    if awaited == job =>
                {
                    self.store(Write::Results)
                }
                other => other,
            },
            Event::CompactionEnded { job, ended } => match state {
                State::Compacting {
                    job: awaited,
                    reason,
                    after,
                    grace: None,
                } if awaited == job => self.compaction_ended(reason, after, ended),
                other => other,
            },
            Event::NavigationEnded { job, ended } => match state {
                State::Navigating { job: awaited } if awaited == job => self.navigated(ended),
                other => other,
            },
        }
    }

    fn said(&mut self, state: State, id: session_model::EntryId, delivery: Delivery) -> State {
        if state == State::Closed {
            return self.refuse(state, "the session has ended");
        }
        match delivery {
            Delivery::Steer => self.memory.steering.push_back(id),
            Delivery::Prompt | Delivery::FollowUp => self.memory.follow_ups.push_back(id),
        }
        match state {
            State::Idle => self.begin(),
            busy => busy,
        }
    }

    fn resume(&mut self, state: State, opening: Opening) -> State {
        if state != State::Idle {
            return state;
        }
        match opening {
            Opening::Rest if self.memory.waiting() > 0 => self.begin(),
            Opening::Rest => State::Idle,
            Opening::Unanswered => {
                self.start_turn();
                self.follow(Next::Check(CheckPoint::BetweenTools))
            }
            Opening::PendingCalls => {
                self.start_turn();
                self.follow(Next::RunTools)
            }
        }
    }

    /// What runs is to end: for good, or because of what `wanted` says.
    fn stop(&mut self, state: State, wanted: AfterStop) -> State {
        match state {
            State::Closed => State::Closed,
            State::Idle if wanted == AfterStop::Close => self.close(),
            State::Idle => State::Idle,
            State::Asking { job } | State::RunningTools { job } => {
                self.memory.want(wanted);
                self.effects.push(Effect::Cancel { job });
                State::Stopping { job }
            }
            State::Compacting {
                job,
                reason,
                after,
                grace,
            } => {
                self.memory.want(wanted);
                self.cancel_compaction(job, reason, after, grace)
            }
            State::Navigating { job } => {
                self.memory.want(wanted);
                self.effects.push(Effect::Cancel { job });
                State::Navigating { job }
            }
            short @ (State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping { .. }) => {
                self.memory.want(wanted);
                short
            }
        }
    }

    fn elapsed(&mut self, state: State, timer: Job) -> State {
        match state {
            State::Idle if self.memory.idle_timer == Some(timer) => {
                self.memory.idle_timer = None;
                self.follow(Next::Check(CheckPoint::WhenIdle))
            }
            State::Compacting {
                job,
                reason,
                after,
                grace: Some(grace),
            } if grace == timer => {
                self.effects.push(Effect::Discard { background: job });
                self.memory.background = None;
                self.compact_anew(reason, None, after)
            }
            other => other,
        }
    }

    pub(super) fn refuse(&mut self, state: State, why: &'static str) -> State {
        self.tell(Told::Refused(why));
        state
    }

    pub(super) fn tell(&mut self, told: Told) {
        self.effects.push(Effect::Tell(told));
    }

    /// Does what follows, or what is wanted instead by now.
    pub(super) fn follow(&mut self, next: Next) -> State {
        match self.memory.wanted.take() {
            None => self.go(next),
            Some(AfterStop::Close) => {
                self.end_turn(TurnEnd::Aborted);
                self.close()
            }
            Some(AfterStop::Rest) => {
                self.end_turn(match next {
                    Next::End(end) => end,
                    _ => TurnEnd::Aborted,
                });
                self.rest()
            }
            Some(AfterStop::Compact { focus, wish }) => {
                let after = match next {
                    Next::Check(CheckPoint::BeforePrompt) | Next::Send => AfterCompaction::Send,
                    Next::Check(CheckPoint::BetweenTools) | Next::Ask => AfterCompaction::Ask,
                    Next::RunTools | Next::Continue => AfterCompaction::Resume,
                    Next::End(end) => {
                        self.end_turn(end);
                        AfterCompaction::Rest
                    }
                    Next::Check(CheckPoint::AfterTurn) => {
                        self.end_turn(TurnEnd::Done);
                        AfterCompaction::Rest
                    }
                    Next::Check(CheckPoint::WhenIdle) | Next::Rest => AfterCompaction::Rest,
                };
                self.compact(Reason::Manual, focus, wish, after)
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
                let job = self.memory.job();
                self.effects.push(Effect::Ask { job });
                State::Asking { job }
            }
            Next::Continue => self.store(Write::Continue),
            Next::RunTools => {
                let job = self.memory.job();
                self.effects.push(Effect::RunTools { job });
                State::RunningTools { job }
            }
            Next::End(end) => {
                let goes_on = end == TurnEnd::Done && self.memory.waiting() > 0;
                self.end_turn(end);
                match goes_on {
                    true => self.begin(),
                    false => self.rest(),
                }
            }
            Next::Rest if self.memory.waiting() > 0 => self.begin(),
            Next::Rest => self.rest(),
        }
    }

    /// Begins a turn with what waits.
    pub(super) fn begin(&mut self) -> State {
        self.memory.idle_timer = None;
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
        self.memory.idle_timer = None;
        self.memory.declined = false;
        if !self.memory.in_turn {
            self.memory.in_turn = true;
            self.tell(Told::TurnStarted);
        }
    }

    pub(super) fn end_turn(&mut self, end: TurnEnd) {
        if self.memory.in_turn {
            self.memory.in_turn = false;
            self.tell(Told::TurnEnded(end));
        }
    }

    pub(super) fn rest(&mut self) -> State {
        let waiting = self.memory.waiting();
        self.tell(Told::Resting { waiting });
        let job = self.memory.job();
        self.memory.idle_timer = Some(job);
        self.effects.push(Effect::IdleTimer { job });
        State::Idle
    }

    fn close(&mut self) -> State {
        self.discard_background();
        self.memory.idle_timer = None;
        self.tell(Told::Closed);
        State::Closed
    }

    pub(super) fn discard_background(&mut self) {
        if let Some(background) = self.memory.background.take() {
            let background = background.job();
            self.effects.push(Effect::Discard { background });
        }
    }

    fn background_ended(&mut self, state: State, ended: Job, ready: bool) -> State {
        if self.memory.background != Some(Background::Running(ended)) {
            return state;
        }
        self.memory.background = ready.then_some(Background::Ready(ended));
        match state {
            State::Compacting {
                job,
                reason,
                after,
                grace: Some(_),
            } if job == ended => match ready {
                true => self.splice(ended, reason, after),
                false => self.compact_anew(reason, None, after),
            },
            other => other,
        }
    }

    fn asked_to_compact(&mut self, state: State, focus: Option<String>, wish: Wish) -> State {
        match state {
            State::Idle => {
                self.memory.idle_timer = None;
                self.compact(Reason::Manual, focus, wish, AfterCompaction::Rest)
            }
            State::Asking { job } | State::RunningTools { job } => {
                self.memory.want(AfterStop::Compact { focus, wish });
                self.effects.push(Effect::Cancel { job });
                State::Stopping { job }
            }
            State::Compacting { .. } => self.refuse(state, "a compaction is running already"),
            State::Navigating { .. } => {
                self.refuse(state, "the session is moving; try again when it has")
            }
            State::Closed => self.refuse(state, "the session has ended"),
            short @ (State::Checking { .. }
            | State::Promoting { .. }
            | State::Storing { .. }
            | State::Stopping { .. }) => {
                self.memory.want(AfterStop::Compact { focus, wish });
                short
            }
        }
    }
}
