//! The course of a turn: messages, answers, tools, and the checks between them.

use crate::machine::compaction::{CHANGED_MEANWHILE, Place, failure};
use crate::machine::step::{Next, Step};
use crate::machine::{
    AfterCompaction, AnswerEnd, Background, CheckPoint, CheckResult, Continue, Effect,
    Interruption, JobEnd, MAX_INCOMPLETE, Notice, State, StrategyChoice, Trigger, Write,
};
use session_protocol::TurnEnd;

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
        match due.is_empty() || self.is_interrupted() {
            true => self.follow(Next::Ask),
            false => self.store(Write::Messages(due)),
        }
    }

    pub(super) fn stored(&mut self, write: Write) -> State {
        // Only an answer that was stopped is asked to continue.
        if write != Write::Answer(AnswerEnd::Aborted) {
            self.forget_withdrawn();
        }
        match write {
            Write::Messages(ids) => {
                for id in &ids {
                    self.memory.forget(id);
                }
                self.start_turn();
                self.ask()
            }
            Write::Answer(end) => self.answered(end),
            Write::Results => self.follow(Next::Check(CheckPoint::BetweenTools)),
            Write::Continue => {
                self.start_turn();
                self.ask()
            }
            Write::Omission => self.ask(),
        }
    }

    /// Does what is wanted in place of sending; where that was taken back, the messages are sent after all.
    pub(super) fn withheld(&mut self) -> State {
        self.forget_withdrawn();
        match self.memory.in_turn {
            true => self.ask(),
            false => self.follow(Next::Send),
        }
    }

    pub(super) fn store_failed(&mut self, error: &str) -> State {
        let error = format!("cannot write the session: {error}");
        if self.memory.in_turn {
            self.end_turn(TurnEnd::Failed(error));
        } else {
            self.tell(Notice::Failed(error));
        }
        self.memory.held = true;
        self.follow(Next::Rest)
    }

    pub(super) fn answered(&mut self, end: AnswerEnd) -> State {
        match end {
            AnswerEnd::Done => {
                self.memory.answered();
                self.follow(Next::Check(CheckPoint::AfterTurn))
            }
            AnswerEnd::Calls => {
                self.memory.answered();
                self.follow(Next::RunTools)
            }
            // The stopped answer stays; whoever goes on is asked to.
            AnswerEnd::Aborted => match self.interruption {
                Some(_) => self.follow(Next::Continue),
                None => self.follow(Next::End(TurnEnd::Aborted)),
            },
            AnswerEnd::Failed(error) => self.follow(Next::End(TurnEnd::Failed(error))),
            AnswerEnd::Overflow(error) => self.recover(Trigger::Overflow, &error),
            AnswerEnd::CutOff => self.recover(Trigger::Incomplete, "the answer was cut off"),
        }
    }

    /// Makes room and asks again, within bounds.
    fn recover(&mut self, trigger: Trigger, error: &str) -> State {
        let incomplete = self.memory.incomplete;
        let exhausted = if trigger == Trigger::Overflow && self.memory.overflow_recovered {
            Some(format!(
                "the context still does not fit after a compaction: {error}"
            ))
        } else if trigger == Trigger::Incomplete && incomplete >= MAX_INCOMPLETE {
            Some(format!(
                "{error} {} times in a row; raise the model's output cap or ask for less in one answer",
                incomplete + 1
            ))
        } else {
            None
        };
        if let Some(why) = exhausted {
            return self.follow(Next::End(TurnEnd::Failed(failure(&trigger, &why))));
        }
        match self.interruption.take() {
            None | Some(Interruption::Withdrawn) if self.memory.can_promote => {
                self.promote(trigger, AfterCompaction::Retry)
            }
            None | Some(Interruption::Withdrawn) => self.make_room(trigger, error),
            // What somebody asked for makes room as well.
            Some(Interruption::Compact(requested)) => {
                self.count(&trigger);
                self.compact_as_requested(requested, AfterCompaction::Retry)
            }
            stopped @ Some(Interruption::Stop | Interruption::Close) => {
                self.interruption = stopped;
                self.follow(Next::End(TurnEnd::Aborted))
            }
        }
    }

    /// Compacts so that the failed answer can be asked for again, where that is allowed.
    fn make_room(&mut self, trigger: Trigger, error: &str) -> State {
        if !self.memory.policy.automatic {
            let why = format!("{error} (automatic compaction is switched off)");
            let error = failure(&trigger, &why);
            return self.follow(Next::End(TurnEnd::Failed(error)));
        }
        self.count(&trigger);
        let choice = match trigger == Trigger::Overflow {
            true => StrategyChoice::InThisSession,
            false => StrategyChoice::Configured,
        };
        self.compact(trigger, choice, AfterCompaction::Retry)
    }

    fn count(&mut self, trigger: &Trigger) {
        self.memory.overflow_recovered |= *trigger == Trigger::Overflow;
        self.memory.incomplete += u32::from(*trigger == Trigger::Incomplete);
    }

    pub(super) fn checked(&mut self, point: CheckPoint, result: CheckResult) -> State {
        self.measured(result.tokens);
        let spent = &mut self.memory.spent_micro_usd;
        *spent = result.spent_micro_usd.max(*spent);
        let after = match point {
            CheckPoint::BeforePrompt => AfterCompaction::Send,
            CheckPoint::BetweenTools => AfterCompaction::Ask,
            CheckPoint::AfterTurn => AfterCompaction::TurnEnd,
            CheckPoint::WhenIdle => AfterCompaction::Rest,
        };
        let is_last = point == CheckPoint::BetweenTools && self.memory.limit_reached().is_some();
        if self.is_interrupted() || is_last {
            return self.proceed(after);
        }
        let scheduled = point == CheckPoint::AfterTurn && self.memory.handoff_due;
        let trigger = match point {
            CheckPoint::WhenIdle if result.idle_due && !self.memory.compacted => {
                Some(Trigger::Idle)
            }
            CheckPoint::WhenIdle => None,
            CheckPoint::BeforePrompt | CheckPoint::BetweenTools | CheckPoint::AfterTurn => {
                if result.due || scheduled {
                    Some(Trigger::Threshold)
                } else {
                    result.images_due.then_some(Trigger::Image)
                }
            }
        };
        match trigger {
            None => {
                self.speculate(point, result);
                self.proceed(after)
            }
            Some(Trigger::Threshold) if result.can_promote => {
                self.promote(Trigger::Threshold, after)
            }
            Some(trigger) => self.compact_unless_refused(trigger, after),
        }
    }

    /// Keeps the size; failures do not count in a context that is a tenth smaller or larger.
    fn measured(&mut self, tokens: u64) {
        let memory = &mut self.memory;
        memory.tokens = tokens;
        let at = memory.failed_at.unwrap_or(tokens);
        if tokens.abs_diff(at).saturating_mul(10) > at {
            memory.reset_failures();
        }
    }

    /// Compacts, unless settings, failures or the user are against it. A handoff waits for the end of the turn.
    fn compact_unless_refused(&mut self, trigger: Trigger, after: AfterCompaction) -> State {
        let memory = &mut self.memory;
        if !memory.policy.automatic || memory.waits_to_compact() || memory.declined {
            return self.proceed(after);
        }
        if after == AfterCompaction::Ask && memory.policy.hands_off {
            memory.handoff_due = true;
            return self.proceed(after);
        }
        memory.handoff_due = false;
        // A handoff further down the list waits for the end of a turn too.
        let choice = match after {
            AfterCompaction::Ask => StrategyChoice::InThisSession,
            _ => StrategyChoice::Configured,
        };
        self.compact(trigger, choice, after)
    }

    fn speculate(&mut self, point: CheckPoint, result: CheckResult) {
        let memory = &mut self.memory;
        let wanted = result.speculate && memory.policy.automatic && !memory.policy.hands_off;
        let possible = memory.background.is_none()
            && !memory.waits_to_compact()
            && !memory.declined
            && !memory.speculation_failed;
        if wanted && possible && point == CheckPoint::BetweenTools {
            let job = memory.job();
            memory.background = Some(Background::Running(job));
            self.effects.push(Effect::StartBackground(job));
        }
    }

    fn promote(&mut self, trigger: Trigger, after: AfterCompaction) -> State {
        let job = self.memory.job();
        self.effects.push(Effect::Promote(job));
        State::Promoting {
            job,
            trigger,
            after,
        }
    }

    pub(super) fn promoted(
        &mut self,
        trigger: Trigger,
        after: AfterCompaction,
        error: Option<String>,
    ) -> State {
        self.memory.can_promote = false;
        let retries = after == AfterCompaction::Retry;
        match error {
            None => {
                self.memory.reset_failures();
                self.memory.handoff_due = false;
                self.discard_background();
                match retries {
                    true => self.store(Write::Omission),
                    false => self.proceed(after),
                }
            }
            Some(error) => {
                self.tell(Notice::Failed(error));
                if retries {
                    self.recover(trigger, "no larger model could take over")
                } else if self.is_interrupted() {
                    self.proceed(after)
                } else {
                    self.compact_unless_refused(trigger, after)
                }
            }
        }
    }

    /// Does what a check or a compaction was for.
    fn proceed(&mut self, after: AfterCompaction) -> State {
        match after {
            AfterCompaction::Send => self.follow(Next::Send),
            AfterCompaction::Ask | AfterCompaction::Retry => self.ask(),
            AfterCompaction::TurnEnd => self.follow(Next::End(TurnEnd::Done)),
            AfterCompaction::Resume => self.follow(Next::Continue),
            AfterCompaction::Rest => self.follow(Next::Rest),
        }
    }

    /// Continues after a compaction that failed.
    pub(super) fn after_failure(&mut self, after: AfterCompaction, error: String) -> State {
        match after {
            AfterCompaction::Retry if self.is_interrupted() => {
                self.follow(Next::End(TurnEnd::Aborted))
            }
            AfterCompaction::Retry => self.follow(Next::End(TurnEnd::Failed(error))),
            other => self.proceed(other),
        }
    }

    /// Continues after a compaction, in this session or in a new one that has nothing of the turn but a document.
    pub(super) fn after_compaction(&mut self, after: AfterCompaction, place: Place) -> State {
        let always = self.memory.policy.continues == Continue::Always;
        match (after, place) {
            (AfterCompaction::TurnEnd, _) if always && self.memory.waiting() == 0 => {
                self.follow(Next::Continue)
            }
            (AfterCompaction::Retry, Place::NewSession) => match self.retries_in(place) {
                true => self.follow(Next::Continue),
                false => self.follow(Next::End(TurnEnd::Done)),
            },
            (AfterCompaction::Ask, Place::NewSession) => self.follow(Next::Continue),
            (after, _) => self.proceed(after),
        }
    }

    /// Returns whether what failed is asked for again after a compaction.
    pub(super) fn retries_in(&self, place: Place) -> bool {
        match (place, self.memory.policy.continues) {
            (Place::Here, _) => true,
            (Place::NewSession, Continue::Never) => false,
            (Place::NewSession, Continue::WhenAtWork | Continue::Always) => true,
        }
    }

    pub(super) fn navigated(&mut self, ended: JobEnd) -> State {
        match ended {
            JobEnd::Moved | JobEnd::Compacted { .. } | JobEnd::HandedOff => {
                self.memory.reset_failures();
                self.memory.compacted = false;
            }
            JobEnd::Nothing(why) | JobEnd::Failed(why) => self.tell(Notice::Failed(why)),
            JobEnd::Stale => self.tell(Notice::Failed(CHANGED_MEANWHILE.to_owned())),
            JobEnd::Cancelled => {}
        }
        self.follow(Next::Rest)
    }
}
