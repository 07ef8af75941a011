//! The course of a turn: messages, answers, tools, and the checks between them.

use crate::session::machine::step::{Next, Step};
use crate::session::machine::{
    AfterCompaction, AnswerEnd, Background, CheckPoint, Effect, Ended, MAX_INCOMPLETE, Reason,
    State, Told, TurnEnd, Verdict, Wish, Write,
};

impl Step {
    /// Writes the messages that are due: what steers, and at the beginning of a turn the first of the others.
    pub(super) fn send(&mut self) -> State {
        let mut due: Vec<_> = self.memory.steering.iter().cloned().collect();
        due.extend(self.memory.follow_ups.front().cloned());
        match due.is_empty() {
            true => self.rest(),
            false => self.store(Write::Messages(due)),
        }
    }

    /// Asks the model, with what steers it written before.
    fn ask(&mut self) -> State {
        let due: Vec<_> = self.memory.steering.iter().cloned().collect();
        match due.is_empty() || self.memory.wanted.is_some() {
            true => self.follow(Next::Ask),
            false => self.store(Write::Messages(due)),
        }
    }

    pub(super) fn stored(&mut self, write: Write) -> State {
        match write {
            Write::Messages(ids) => {
                for id in &ids {
                    self.memory.forget(id);
                }
                self.start_turn();
                self.follow(Next::Ask)
            }
            Write::Answer(end) => self.answered(end),
            Write::Results => self.follow(Next::Check(CheckPoint::BetweenTools)),
            Write::Continue => {
                self.start_turn();
                self.follow(Next::Ask)
            }
            Write::Omission => self.follow(Next::Ask),
        }
    }

    pub(super) fn store_failed(&mut self, error: &str) -> State {
        let error = format!("cannot write the session: {error}");
        if self.memory.in_turn {
            self.end_turn(TurnEnd::Failed(error));
        } else {
            self.tell(Told::Failed(error));
        }
        match self.memory.wanted {
            Some(_) => self.follow(Next::Rest),
            None => self.rest(),
        }
    }

    fn answered(&mut self, end: AnswerEnd) -> State {
        match end {
            AnswerEnd::Done => {
                self.memory.recovered();
                self.follow(Next::Check(CheckPoint::AfterTurn))
            }
            AnswerEnd::Calls => {
                self.memory.recovered();
                self.follow(Next::RunTools)
            }
            // The stopped answer stays; whoever goes on is asked to.
            AnswerEnd::Aborted => match self.memory.wanted {
                Some(_) => self.follow(Next::Continue),
                None => self.follow(Next::End(TurnEnd::Aborted)),
            },
            AnswerEnd::Failed(error) => self.follow(Next::End(TurnEnd::Failed(error))),
            AnswerEnd::Overflow(error) => self.recover(Reason::Overflow, &error),
            AnswerEnd::CutOff => self.recover(Reason::Incomplete, "the answer was cut off"),
        }
    }

    /// Makes room and asks again, within bounds.
    fn recover(&mut self, reason: Reason, error: &str) -> State {
        let exhausted = match reason {
            Reason::Overflow if self.memory.overflow_recovered => Some(format!(
                "the context still does not fit after a compaction: {error}"
            )),
            Reason::Incomplete if self.memory.incomplete >= MAX_INCOMPLETE => Some(format!(
                "{error} {} times in a row; raise the model's output cap or ask for less at once",
                self.memory.incomplete + 1
            )),
            _ => None,
        };
        if let Some(why) = exhausted {
            return self.follow(Next::End(TurnEnd::Failed(reason.failure(&why))));
        }
        match reason {
            Reason::Overflow => self.memory.overflow_recovered = true,
            _ => self.memory.incomplete += 1,
        }
        if self.memory.wanted.is_some() {
            // Whatever else is wanted comes first; the failed answer is not asked for again.
            return self.follow(Next::End(TurnEnd::Failed(reason.failure(error))));
        }
        if self.memory.can_promote {
            return self.promote(reason, AfterCompaction::Retry);
        }
        let refused = match (self.memory.policy.automatic, self.memory.stopped) {
            (false, _) => Some("automatic compaction is switched off"),
            (true, Some(_)) => Some("automatic compaction has stopped; compact by hand"),
            (true, None) => None,
        };
        if let Some(why) = refused {
            let error = reason.failure(&format!("{error} ({why})"));
            return self.follow(Next::End(TurnEnd::Failed(error)));
        }
        let wish = match reason {
            Reason::Overflow => Wish::InThisSession,
            _ => Wish::Configured,
        };
        self.compact(reason, None, wish, AfterCompaction::Retry)
    }

    pub(super) fn checked(&mut self, point: CheckPoint, verdict: Verdict) -> State {
        self.memory.tokens = verdict.tokens;
        // A context that has become a tenth smaller is another one.
        if let Some(stopped) = self.memory.stopped
            && verdict.tokens.saturating_mul(10) < stopped.at.saturating_mul(9)
        {
            self.memory.start_over();
        }
        if self.memory.wanted.is_some() {
            return self.proceed(point);
        }
        let after = match point {
            CheckPoint::BeforePrompt => AfterCompaction::Send,
            CheckPoint::BetweenTools => AfterCompaction::Ask,
            CheckPoint::AfterTurn => AfterCompaction::TurnEnd {
                work_left: verdict.work_left,
            },
            CheckPoint::WhenIdle => AfterCompaction::Rest,
        };
        let scheduled = point == CheckPoint::AfterTurn && self.memory.handoff_due;
        let reason = match point {
            CheckPoint::WhenIdle if verdict.idle_due => Some(Reason::Idle),
            CheckPoint::WhenIdle => None,
            _ if verdict.due || scheduled => Some(Reason::Threshold),
            _ if verdict.images_due => Some(Reason::Image),
            _ => None,
        };
        let Some(reason) = reason else {
            self.speculate(point, verdict);
            return self.proceed(point);
        };
        if reason == Reason::Threshold && verdict.can_promote {
            return self.promote(reason, after);
        }
        let memory = &mut self.memory;
        if !memory.policy.automatic || memory.stopped.is_some() || memory.declined {
            return self.proceed(point);
        }
        if point == CheckPoint::BetweenTools && memory.policy.hands_off {
            memory.handoff_due = true;
            return self.proceed(point);
        }
        memory.handoff_due = false;
        self.compact(reason, None, Wish::Configured, after)
    }

    fn speculate(&mut self, point: CheckPoint, verdict: Verdict) {
        let memory = &mut self.memory;
        let wanted = verdict.speculate && memory.policy.automatic && !memory.policy.hands_off;
        let possible = memory.background.is_none() && memory.stopped.is_none() && !memory.declined;
        if wanted && possible && point == CheckPoint::BetweenTools {
            let job = memory.job();
            memory.background = Some(Background::Running(job));
            self.effects.push(Effect::StartBackground { job });
        }
    }

    fn proceed(&mut self, point: CheckPoint) -> State {
        match point {
            CheckPoint::BeforePrompt => self.follow(Next::Send),
            CheckPoint::BetweenTools => self.ask(),
            CheckPoint::AfterTurn => self.follow(Next::End(TurnEnd::Done)),
            CheckPoint::WhenIdle => self.follow(Next::Rest),
        }
    }

    fn promote(&mut self, reason: Reason, after: AfterCompaction) -> State {
        let job = self.memory.job();
        self.effects.push(Effect::Promote { job });
        State::Promoting { job, reason, after }
    }

    pub(super) fn promoted(
        &mut self,
        reason: Reason,
        after: AfterCompaction,
        error: Option<String>,
    ) -> State {
        self.memory.can_promote = false;
        if let Some(error) = error {
            self.tell(Told::Failed(error));
            if self.memory.wanted.is_some() {
                return self.follow(Next::End(TurnEnd::Aborted));
            }
            if self.memory.policy.automatic && self.memory.stopped.is_none() {
                let wish = match reason {
                    Reason::Overflow => Wish::InThisSession,
                    _ => Wish::Configured,
                };
                return self.compact(reason, None, wish, after);
            }
            let error = reason.failure("no larger model could take over");
            return self.after_failure(after, error);
        }
        self.memory.start_over();
        self.discard_background();
        match after {
            AfterCompaction::Retry => self.store(Write::Omission),
            AfterCompaction::Send => self.follow(Next::Send),
            AfterCompaction::Ask => self.ask(),
            AfterCompaction::TurnEnd { .. } => self.follow(Next::End(TurnEnd::Done)),
            AfterCompaction::Resume => self.follow(Next::Continue),
            AfterCompaction::Rest => self.follow(Next::Rest),
        }
    }

    /// Goes on where a compaction did not happen.
    pub(super) fn after_failure(&mut self, after: AfterCompaction, error: String) -> State {
        match after {
            AfterCompaction::Send => self.follow(Next::Send),
            AfterCompaction::Ask => self.ask(),
            AfterCompaction::TurnEnd { .. } => self.follow(Next::End(TurnEnd::Done)),
            AfterCompaction::Retry => self.follow(Next::End(TurnEnd::Failed(error))),
            AfterCompaction::Resume => self.follow(Next::Continue),
            AfterCompaction::Rest => self.follow(Next::Rest),
        }
    }

    pub(super) fn goes_on(&mut self, after: AfterCompaction, handed_off: bool) -> State {
        use crate::session::machine::Continue;
        let continues = self.memory.policy.continues;
        match after {
            AfterCompaction::Send => self.follow(Next::Send),
            AfterCompaction::Ask => self.ask(),
            AfterCompaction::TurnEnd { work_left } => {
                let goes_on = match continues {
                    Continue::Never => false,
                    Continue::WhenWorkIsLeft => work_left,
                    Continue::Always => true,
                };
                match goes_on && self.memory.waiting() == 0 {
                    true => self.follow(Next::Continue),
                    false => self.follow(Next::End(TurnEnd::Done)),
                }
            }
            // Nothing of the turn is in the new session; it goes on only by itself.
            AfterCompaction::Retry if handed_off => match continues {
                Continue::Never => self.follow(Next::End(TurnEnd::Done)),
                Continue::WhenWorkIsLeft | Continue::Always => self.follow(Next::Continue),
            },
            AfterCompaction::Retry => self.ask(),
            AfterCompaction::Resume => self.follow(Next::Continue),
            AfterCompaction::Rest => self.follow(Next::Rest),
        }
    }

    pub(super) fn navigated(&mut self, ended: Ended) -> State {
        match ended {
            Ended::Compacted { .. } | Ended::HandedOff => self.memory.start_over(),
            Ended::Nothing(why) | Ended::Failed(why) => self.tell(Told::Failed(why)),
            Ended::Stale => self.tell(Told::Failed("the session changed meanwhile".to_owned())),
            Ended::Cancelled => {}
        }
        self.follow(Next::Rest)
    }
}
