//! The machine against any order of events.
//!
//! A [`World`] does what the machine asks for, badly: writes fail, models
//! overflow, compactions are refused, timers run out late, and users interrupt.
//! Dice decide what happens next. After every event the world looks for what must
//! never be. `PROPTEST_CASES` changes the number of runs, which is 1,000.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::Config;
use session_model::EntryId;

use super::compaction::failure;
use super::*;
use session_protocol::{CompactionRequest, Navigation, TurnEnd};
use session_store::Delivery;

/// How many automatic compactions may begin between two answers, with nobody there.
const MOST_AUTOMATIC: u32 = MAX_FAILURES;
/// How many pieces of work may end before an abort or the end has come about.
const MOST_ENDS_OF_A_STOP: u32 = 3;

type Checked = Result<(), String>;

fn ensure(holds: bool, fact: &str) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(fact.to_owned()),
    }
}

/// A number that is used up by asking it questions.
#[derive(Debug, Clone, Copy)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        let rolled = self.0 % sides;
        self.0 /= sides;
        rolled
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 1
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Any,
    /// Everything succeeds at once.
    Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Check,
    Promote,
    Store(Write),
    Ask,
    Tools,
    Compact,
    Navigate,
    Background,
    Timer,
}

impl Work {
    /// Whether the machine does nothing else meanwhile.
    fn is_exclusive(&self) -> bool {
        !matches!(self, Self::Background | Self::Timer)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waiting,
    Written,
    TakenBack,
}

#[derive(Debug)]
struct Message {
    id: EntryId,
    delivery: Delivery,
    fate: Fate,
}

#[derive(Debug)]
struct World {
    /// What the newest transition both begins and ends.
    cancelled_at_once: Vec<Job>,
    machine: Machine,
    pending: Vec<(Job, Work)>,
    /// The background compactions that were neither used nor discarded, and whether they are ready.
    prepared: Vec<(Job, bool)>,
    newest_job: Job,
    messages: Vec<Message>,
    ended: Vec<Event>,
    larger_models: u32,
    /// How every other answer of the model ends.
    habit: AnswerEnd,
    in_turn: bool,
    compacting: Option<Trigger>,
    closed: bool,
    /// The newest check.
    point: CheckPoint,
    newest_answer: AnswerEnd,
    /// Counted since the newest answer, or somebody's doing.
    automatic: u32,
    overflows: u32,
    incomplete: u32,
    failures: u32,
    stops: bool,
    declined: bool,
    /// The compaction that runs has been told to stop.
    cancelled: bool,
    /// Nothing that waits may be sent.
    held: bool,
    /// The turn is to end, or the session, and how much has ended since.
    aborted: Option<u32>,
    closing: Option<u32>,
    history: Vec<Event>,
}

impl World {
    fn new(policy: Policy, habit: AnswerEnd) -> Self {
        Self {
            cancelled_at_once: Vec::new(),
            machine: Machine::new(policy),
            pending: Vec::new(),
            prepared: Vec::new(),
            newest_job: Job(0),
            messages: Vec::new(),
            ended: Vec::new(),
            larger_models: 3,
            habit,
            in_turn: false,
            compacting: None,
            closed: false,
            point: CheckPoint::WhenIdle,
            newest_answer: AnswerEnd::Done,
            automatic: 0,
            overflows: 0,
            incomplete: 0,
            failures: 0,
            stops: false,
            declined: false,
            cancelled: false,
            held: false,
            aborted: None,
            closing: None,
            history: Vec::new(),
        }
    }

    fn is_at_rest(&self) -> bool {
        matches!(self.machine.state, State::Idle | State::Closed)
    }

    fn waiting(&self) -> Vec<&Message> {
        let messages = self.messages.iter();
        messages
            .filter(|message| message.fate == Fate::Waiting)
            .collect()
    }

    fn waiting_that_steer(&self) -> Vec<EntryId> {
        let mut waiting = self.waiting();
        waiting.retain(|message| message.delivery == Delivery::Steer);
        waiting.iter().map(|message| message.id.clone()).collect()
    }

    fn waiting_for_a_turn(&self) -> Vec<EntryId> {
        let mut waiting = self.waiting();
        waiting.retain(|message| message.delivery != Delivery::Steer);
        waiting.iter().map(|message| message.id.clone()).collect()
    }

    fn message(&mut self, id: &EntryId) -> Result<&mut Message, String> {
        let mut messages = self.messages.iter_mut();
        let found = messages.find(|message| message.id == *id);
        found.ok_or_else(|| "only what was said is written".to_owned())
    }

    // What happens.

    fn happen(&mut self, mut dice: Dice) -> Checked {
        match dice.roll(16) {
            0..9 => self.something_ends(dice),
            9 => self.something_strange(dice),
            10..13 => self.say(dice),
            _ => self.interfere(dice),
        }
    }

    fn something_ends(&mut self, mut dice: Dice) -> Checked {
        let exclusive = self
            .pending
            .iter()
            .position(|(_, work)| work.is_exclusive());
        let index = match (exclusive, self.pending.len()) {
            (_, 0) => return Ok(()),
            (Some(index), _) if !dice.one_in(4) => index,
            (_, pending) => dice.roll(pending as u64) as usize,
        };
        self.end(index, dice, Mood::Any)
    }

    /// Ends a piece of work.
    fn end(&mut self, index: usize, dice: Dice, mood: Mood) -> Checked {
        let (job, work) = self.pending.remove(index);
        let event = self.end_of(job, &work, dice, mood);
        self.ended.push(event.clone());
        if work.is_exclusive() {
            self.aborted = self.aborted.map(|ends| ends + 1);
            self.closing = self.closing.map(|ends| ends + 1);
        }
        match &event {
            Event::Stored(_) => {
                if let Work::Store(Write::Messages(ids)) = &work {
                    for id in ids {
                        let message = self.message(id)?;
                        ensure(message.fate != Fate::Written, "a message is written once")?;
                        message.fate = Fate::Written;
                    }
                }
            }
            Event::Answered { end, .. } => {
                self.newest_answer = end.clone();
                self.automatic = 0;
                if matches!(end, AnswerEnd::Done | AnswerEnd::Calls) {
                    self.overflows = 0;
                    self.incomplete = 0;
                }
            }
            Event::Promoted { error: None, .. } => {
                self.larger_models -= 1;
                self.automatic = 0;
                self.failures = 0;
            }
            Event::NavigationEnded { ended, .. } => {
                if matches!(ended, JobEnd::Compacted { .. } | JobEnd::HandedOff) {
                    self.failures = 0;
                }
            }
            // Another context gives automatic compactions another chance.
            Event::Checked { result, .. } if self.differs(result.tokens) => {
                self.automatic = 0;
            }
            Event::BackgroundEnded { ready, .. } => {
                self.prepared.retain(|(of, _)| *of != job || *ready);
                for prepared in &mut self.prepared {
                    prepared.1 |= prepared.0 == job;
                }
            }
            _ => {}
        }
        self.apply(event)?;
        if self.machine.memory.failures == 0 {
            self.failures = 0;
        }
        Ok(())
    }

    fn differs(&self, tokens: u64) -> bool {
        let at = self.machine.memory.failed_at;
        at.is_some_and(|at| tokens.abs_diff(at) * 10 > at)
    }

    fn end_of(&self, job: Job, work: &Work, mut dice: Dice, mood: Mood) -> Event {
        let is_kind = mood == Mood::Kind;
        let can_promote = !is_kind && self.larger_models > 0 && dice.one_in(4);
        let ended = match dice.roll(8) {
            _ if is_kind => JobEnd::Compacted { frees_enough: true },
            0..3 => JobEnd::Compacted { frees_enough: true },
            3 => JobEnd::Compacted {
                frees_enough: false,
            },
            4 => JobEnd::Nothing("a hook refused".to_owned()),
            5 => JobEnd::Failed("no model answered".to_owned()),
            6 => JobEnd::Cancelled,
            _ => JobEnd::Stale,
        };
        match work {
            Work::Check => Event::Checked {
                job,
                result: match is_kind {
                    true => CheckResult::default(),
                    false => CheckResult {
                        tokens: 60 + 10 * dice.roll(8),
                        due: dice.one_in(2),
                        images_due: dice.one_in(4),
                        idle_due: dice.one_in(2),
                        speculate: dice.one_in(2),
                        can_promote,
                        spent_micro_usd: 0,
                    },
                },
            },
            Work::Promote => Event::Promoted {
                job,
                error: (!is_kind && dice.one_in(3)).then(|| "no key".to_owned()),
            },
            Work::Store(_) if !is_kind && dice.one_in(8) => Event::StoreFailed {
                job,
                error: "disk full".to_owned(),
            },
            // Hooks that were stopped have not seen what was to be sent.
            Work::Store(Write::Messages(_))
                if self.machine.interruption.is_some() && dice.one_in(2) =>
            {
                Event::Withheld(job)
            }
            Work::Store(_) => Event::Stored(job),
            Work::Ask => Event::Answered {
                job,
                end: match dice.roll(16) {
                    _ if is_kind => AnswerEnd::Done,
                    _ if dice.one_in(2) => self.habit.clone(),
                    0..6 => AnswerEnd::Calls,
                    6..9 => AnswerEnd::Done,
                    9..11 => AnswerEnd::CutOff,
                    11..13 => AnswerEnd::Overflow("too large".to_owned()),
                    13 => AnswerEnd::Failed("no key".to_owned()),
                    _ => AnswerEnd::Aborted,
                },
                can_promote,
            },
            Work::Tools => Event::ToolsDone(job),
            Work::Compact => Event::CompactionEnded {
                job,
                ended: match ended {
                    JobEnd::Compacted { .. } if !is_kind && dice.one_in(3) => JobEnd::HandedOff,
                    ended => ended,
                },
            },
            Work::Navigate => Event::NavigationEnded { job, ended },
            Work::Background => Event::BackgroundEnded {
                job,
                ready: is_kind || !dice.one_in(3),
            },
            Work::Timer => Event::Elapsed(job),
        }
    }

    /// An end comes twice, or under the number of something else.
    fn something_strange(&mut self, mut dice: Dice) -> Checked {
        let event = match self.ended.len() {
            count if count > 0 && dice.one_in(2) => {
                self.ended[dice.roll(count as u64) as usize].clone()
            }
            _ => {
                let job = match self.pending.len() {
                    count if count > 0 && dice.one_in(2) => {
                        self.pending[dice.roll(count as u64) as usize].0
                    }
                    _ => Job(dice.roll(self.newest_job.0 + 2)),
                };
                let (work, others): (Work, &[Work]) = match dice.roll(9) {
                    0 => (Work::Check, &[]),
                    1 => (Work::Promote, &[]),
                    2 => (Work::Store(Write::Results), &[]),
                    // A stopped answer and stopped tools are awaited alike.
                    3 => (Work::Ask, &[Work::Tools]),
                    4 => (Work::Tools, &[Work::Ask]),
                    5 => (Work::Compact, &[]),
                    6 => (Work::Navigate, &[]),
                    7 => (Work::Background, &[]),
                    _ => (Work::Timer, &[]),
                };
                let is_due = self.pending.iter().any(|(pending, due)| {
                    let is_such = match (&work, due) {
                        (Work::Store(_), Work::Store(_)) => true,
                        (work, due) => work == due || others.contains(due),
                    };
                    *pending == job && is_such
                });
                let job = if is_due { Job(0) } else { job };
                self.end_of(job, &work, dice, Mood::Any)
            }
        };
        let before = self.machine.clone();
        self.history.push(event.clone());
        let (after, effects) = transition(before.clone(), event);
        ensure(effects.is_empty(), "what is late or strange does nothing")?;
        ensure(before == after, "what is late or strange changes nothing")
    }

    fn say(&mut self, mut dice: Dice) -> Checked {
        let id = EntryId::of_position(self.messages.len() as u64 + 1);
        let delivery = match dice.roll(4) {
            0 => Delivery::Prompt,
            1 => Delivery::FollowUp,
            _ => Delivery::Steer,
        };
        if !self.closed {
            self.messages.push(Message {
                id: id.clone(),
                delivery,
                fate: Fate::Waiting,
            });
        }
        self.held = false;
        self.automatic = 0;
        self.apply(Event::Queued { id, delivery })
    }

    fn interfere(&mut self, mut dice: Dice) -> Checked {
        self.automatic = 0;
        match dice.roll(24) {
            0..4 => {
                if !self.is_at_rest() {
                    self.held = true;
                }
                if self.in_turn && self.aborted.is_none() {
                    self.aborted = Some(0);
                }
                self.cancelled = self.compacting.is_some();
                self.apply(Event::Abort)
            }
            4..7 => {
                self.cancelled = self.compacting.is_some();
                self.apply(Event::AbortCompaction)
            }
            7..12 => {
                let focus = None;
                let requested = match dice.roll(3) {
                    0 => Requested::Handoff { focus },
                    1 => Requested::Compaction(CompactionRequest {
                        strategy: Some(compaction_core::Strategy::Extractive),
                        ..CompactionRequest::default()
                    }),
                    _ => Requested::Compaction(CompactionRequest::default()),
                };
                self.apply(Event::Compact(Box::new(requested)))
            }
            12..14 => self.apply(Event::Navigate(Navigation {
                target: None,
                summarize: false,
                focus: None,
                label: None,
            })),
            14 => {
                if !dice.one_in(8) {
                    return Ok(());
                }
                self.close()
            }
            15..17 => {
                self.failures = 0;
                self.apply(Event::SetAutomatic(dice.roll(3) > 0))
            }
            17 => {
                self.failures = 0;
                self.overflows = 0;
                self.incomplete = 0;
                self.apply(Event::ModelChanged)
            }
            18..20 => {
                let waiting = self.waiting();
                if waiting.is_empty() {
                    return Ok(());
                }
                let id = waiting[dice.roll(waiting.len() as u64) as usize].id.clone();
                self.message(&id)?.fate = Fate::TakenBack;
                self.apply(Event::Dequeued(id))
            }
            _ => {
                let resume_point = match dice.roll(5) {
                    0 => ResumePoint::Rest,
                    1 => ResumePoint::Unanswered,
                    2 => ResumePoint::Answered(AnswerEnd::CutOff),
                    3 => ResumePoint::Answered(AnswerEnd::Overflow("too large".to_owned())),
                    _ => ResumePoint::PendingCalls,
                };
                if self.machine.state == State::Idle {
                    self.held = false;
                    self.declined = false;
                    if let ResumePoint::Answered(end) = &resume_point {
                        self.newest_answer = end.clone();
                    }
                }
                self.apply(Event::Resume(resume_point))
            }
        }
    }

    fn close(&mut self) -> Checked {
        if !self.closed && self.closing.is_none() {
            self.closing = Some(0);
        }
        self.apply(Event::Close)
    }

    // What is done, and what must hold.

    fn apply(&mut self, event: Event) -> Checked {
        self.history.push(event.clone());
        let was_closed = self.closed;
        let before = std::mem::replace(&mut self.machine, Machine::new(Policy::default()));
        let was_stopped = before.memory.is_stopped();
        let was_at_rest = before.state == State::Idle;
        self.stops = false;
        let is_reset = matches!(event, Event::ModelChanged | Event::SetAutomatic(_));
        let (after, effects) = transition(before, event);
        self.machine = after;
        if was_closed {
            let is_refusal = |effect: &Effect| matches!(effect, Effect::Notify(Notice::Refused(_)));
            let refuses = effects.iter().all(is_refusal);
            ensure(refuses, "a session that has ended does nothing")?;
        }
        let rests = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Notify(Notice::Resting { .. })));
        let cancels = effects.iter().filter_map(|effect| match effect {
            Effect::Cancel(job) => Some(*job),
            _ => None,
        });
        self.cancelled_at_once = cancels.collect();
        for effect in effects {
            self.carry_out(effect)?;
        }
        ensure(
            self.failures < MAX_FAILURES || was_stopped || self.stops || is_reset,
            "three failures in a row stop automatic compactions",
        )?;
        if self.machine.state == State::Idle && !was_at_rest {
            ensure(rests, "a session that comes to rest says so")?;
        }
        self.look_around()
    }

    fn begin(&mut self, job: Job, work: Work) -> Checked {
        ensure(job > self.newest_job, "no number is used twice")?;
        self.newest_job = job;
        // Calls that are cancelled as they begin only get their results.
        let stores = matches!(work, Work::Store(_))
            || work == Work::Tools && self.cancelled_at_once.contains(&job);
        ensure(
            stores || !work.is_exclusive() || self.aborted.is_none(),
            "a turn that was aborted only writes",
        )?;
        ensure(
            stores || self.closing.is_none(),
            "a session that is to end only writes",
        )?;
        self.pending.push((job, work));
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Checked {
        match effect {
            Effect::Check { job, point } => {
                self.point = point;
                if point == CheckPoint::BeforePrompt {
                    self.declined = false;
                    ensure(!self.held, "what an abort or a failure kept is not sent")?;
                    ensure(!self.in_turn, "a turn begins when the one before is over")?;
                }
                self.begin(job, Work::Check)
            }
            Effect::Promote(job) => self.begin(job, Work::Promote),
            Effect::Store { job, write } => {
                match &write {
                    Write::Messages(ids) => self.look_at_messages(ids)?,
                    Write::Answer(_) | Write::Results | Write::Continue | Write::Omission => {
                        ensure(self.in_turn, "an answer is written in its turn")?;
                    }
                }
                self.begin(job, Work::Store(write))
            }
            Effect::Ask(job) => {
                ensure(self.in_turn, "the model is asked in a turn")?;
                ensure(
                    self.waiting_that_steer().is_empty(),
                    "what steers is written before the model is asked",
                )?;
                self.begin(job, Work::Ask)
            }
            Effect::RunTools(job) => {
                ensure(self.in_turn, "tools run in a turn")?;
                self.begin(job, Work::Tools)
            }
            Effect::Compact {
                job,
                trigger,
                choice,
                requested,
                omits_failed,
            } => {
                ensure(
                    requested.is_some() != trigger.is_automatic(),
                    "a compaction has the request that it was asked for with",
                )?;
                if trigger == Trigger::Overflow {
                    ensure(
                        choice == StrategyChoice::InThisSession,
                        "an overflow is compacted here",
                    )?;
                }
                let waits = self.machine.memory.policy.hands_off
                    && self.in_turn
                    && trigger == Trigger::Threshold
                    && self.point == CheckPoint::BetweenTools;
                ensure(!waits, "a handoff waits for the end of the turn")?;
                ensure(!self.cancelled, "what was cancelled does not begin anew")?;
                self.look_at_compaction(&trigger, omits_failed)?;
                self.begin(job, Work::Compact)
            }
            Effect::Splice {
                job,
                background,
                trigger,
                omits_failed,
            } => {
                let place = self
                    .prepared
                    .iter()
                    .position(|prepared| *prepared == (background, true));
                let Some(place) = place else {
                    return Err("what is ready is spliced once".to_owned());
                };
                self.prepared.remove(place);
                self.look_at_compaction(&trigger, omits_failed)?;
                self.begin(job, Work::Compact)
            }
            Effect::StartBackground(job) => {
                ensure(
                    self.prepared.is_empty(),
                    "one compaction is prepared at a time",
                )?;
                ensure(
                    self.machine.memory.policy.automatic,
                    "nothing is prepared while switched off",
                )?;
                self.prepared.push((job, false));
                self.begin(job, Work::Background)
            }
            Effect::Discard(background) => {
                let before = self.prepared.len();
                self.prepared.retain(|(job, _)| *job != background);
                ensure(
                    self.prepared.len() + 1 == before,
                    "what is prepared is discarded once",
                )
            }
            Effect::Navigate { job, .. } => {
                ensure(!self.in_turn, "the leaf moves between turns")?;
                self.begin(job, Work::Navigate)
            }
            Effect::Cancel(job) => ensure(
                self.pending.iter().any(|(pending, _)| *pending == job),
                "what is cancelled runs",
            ),
            Effect::IdleTimer(job) | Effect::GraceTimer(job) => self.begin(job, Work::Timer),
            Effect::Notify(notice) => self.listen(notice),
        }
    }

    fn look_at_messages(&self, ids: &[EntryId]) -> Checked {
        let steering = self.waiting_that_steer();
        let others = self.waiting_for_a_turn();
        let rest = ids.strip_prefix(steering.as_slice());
        let expected: &[EntryId] = match self.in_turn {
            true => &[],
            false => &others[..others.len().min(1)],
        };
        ensure(!ids.is_empty(), "something is written")?;
        ensure(
            rest == Some(expected),
            "all that steers is written in order, and one other where a turn begins",
        )
    }

    fn look_at_compaction(&self, trigger: &Trigger, omits_failed: bool) -> Checked {
        ensure(
            self.compacting.as_ref() == Some(trigger),
            "a compaction is announced",
        )?;
        let has_failed = matches!(
            self.newest_answer,
            AnswerEnd::Overflow(_) | AnswerEnd::CutOff
        );
        ensure(
            !omits_failed || has_failed,
            "only a failed answer is left out",
        )?;
        let is_recovery = matches!(trigger, Trigger::Overflow | Trigger::Incomplete);
        ensure(
            omits_failed || !is_recovery,
            "a recovery leaves the failed answer out",
        )
    }

    fn listen(&mut self, notice: Notice) -> Checked {
        match notice {
            Notice::TurnStarted => {
                ensure(!self.in_turn, "a turn begins once")?;
                self.in_turn = true;
                self.overflows = 0;
                self.incomplete = 0;
            }
            Notice::TurnEnded(end) => {
                ensure(self.in_turn, "a turn ends once")?;
                self.in_turn = false;
                if matches!(end, TurnEnd::Failed(_)) && self.aborted.is_none() {
                    self.held = true;
                }
                self.aborted = None;
            }
            Notice::CompactionStarted { trigger, .. } => {
                ensure(self.compacting.is_none(), "one compaction runs at a time")?;
                self.compacting = Some(trigger.clone());
                if trigger.is_automatic() {
                    self.look_at_automatic(&trigger)?;
                }
            }
            Notice::CompactionEnded {
                trigger,
                aborted,
                will_retry,
                error,
            } => {
                ensure(
                    self.compacting.as_ref() == Some(&trigger),
                    "what began ends",
                )?;
                self.compacting = None;
                self.cancelled = false;
                ensure(
                    aborted == (error.as_deref() == Some(CANCELLED)),
                    "what was cancelled says so",
                )?;
                ensure(!will_retry || error.is_none(), "only a success asks again")?;
                let goes_on =
                    matches!(self.machine.state, State::Asking(_) | State::Storing { .. });
                ensure(!will_retry || goes_on, "what is asked again is asked")?;
                if let Some(error) = error.filter(|_| !aborted && trigger.is_automatic()) {
                    self.failures += 1;
                    ensure(
                        error.starts_with(&failure(&trigger, "")),
                        "a failure says what failed",
                    )?;
                } else if !aborted {
                    self.failures = 0;
                }
                self.declined |= aborted && trigger.is_automatic();
                if aborted {
                    // Whoever cancels was there.
                    self.automatic = 0;
                }
            }
            Notice::AutomaticStopped(_) => self.stops = true,
            Notice::Resting { waiting } => {
                ensure(waiting == self.waiting().len(), "what waits is counted")?;
            }
            Notice::Closed => {
                ensure(!self.closed, "a session ends once")?;
                self.closed = true;
                self.closing = None;
            }
            Notice::Refused(_) | Notice::Failed(_) => {}
        }
        Ok(())
    }

    fn look_at_automatic(&mut self, trigger: &Trigger) -> Checked {
        let memory = &self.machine.memory;
        ensure(memory.policy.automatic, "none runs while switched off")?;
        let recovers = matches!(trigger, Trigger::Overflow | Trigger::Incomplete);
        ensure(recovers || !memory.is_stopped(), "none runs while stopped")?;
        self.automatic += 1;
        ensure(
            self.automatic <= MOST_AUTOMATIC,
            "compactions do not follow each other without end",
        )?;
        match trigger {
            Trigger::Overflow => {
                self.overflows += 1;
                ensure(self.overflows <= 1, "an overflow is recovered from once")
            }
            Trigger::Incomplete => {
                self.incomplete += 1;
                ensure(
                    self.incomplete <= MAX_INCOMPLETE,
                    "a cut-off answer is asked for again three times",
                )
            }
            Trigger::Threshold | Trigger::Image | Trigger::Idle => {
                ensure(!self.declined, "a declined one is not tried again")
            }
            Trigger::Manual { .. } => Ok(()),
        }
    }

    /// What must hold after every event.
    fn look_around(&self) -> Checked {
        let Machine {
            state,
            interruption,
            memory,
        } = &self.machine;
        let exclusive: Vec<_> = self
            .pending
            .iter()
            .filter(|(_, work)| work.is_exclusive())
            .collect();
        let is_awaited = |job: &Job, expected: fn(&Work) -> bool| matches!(exclusive.as_slice(), [(running, work)] if running == job && expected(work));
        let is_running = |job: &Job, expected: Work| self.pending.contains(&(*job, expected));
        let awaits = match state {
            State::Idle => {
                ensure(interruption.is_none(), "nothing is wanted at rest")?;
                let timer = memory.idle_timer;
                let runs = timer.is_none_or(|timer| is_running(&timer, Work::Timer));
                ensure(runs, "the timer of an idle session runs")?;
                exclusive.is_empty()
            }
            State::Closed => exclusive.is_empty() && self.prepared.is_empty(),
            State::Checking { job, .. } => is_awaited(job, |work| *work == Work::Check),
            State::Promoting { job, .. } => is_awaited(job, |work| *work == Work::Promote),
            State::Storing { job, .. } => is_awaited(job, |work| matches!(work, Work::Store(_))),
            State::Asking(job) => is_awaited(job, |work| *work == Work::Ask),
            State::RunningTools(job) => is_awaited(job, |work| *work == Work::Tools),
            State::Stopping(job) => {
                ensure(interruption.is_some(), "who stops wants something")?;
                is_awaited(job, |work| matches!(work, Work::Ask | Work::Tools))
            }
            State::Compacting(Compaction {
                job, grace: None, ..
            }) => is_awaited(job, |work| *work == Work::Compact),
            State::Compacting(Compaction {
                job,
                grace: Some(timer),
                ..
            }) => {
                exclusive.is_empty()
                    && is_running(timer, Work::Timer)
                    && is_running(job, Work::Background)
                    && self.prepared.contains(&(*job, false))
            }
            State::Navigating(job) => is_awaited(job, |work| *work == Work::Navigate),
        };
        ensure(awaits, "what is awaited runs, and nothing beside it")?;
        ensure(memory.in_turn == self.in_turn, "a turn is reported")?;
        ensure(
            !(self.is_at_rest() && self.in_turn),
            "no turn is left behind",
        )?;
        ensure(
            self.compacting.is_some() == matches!(state, State::Compacting(_)),
            "a compaction is reported",
        )?;
        let queue =
            |ids: &std::collections::VecDeque<EntryId>| ids.iter().cloned().collect::<Vec<_>>();
        ensure(
            queue(&memory.steering) == self.waiting_that_steer()
                && queue(&memory.follow_ups) == self.waiting_for_a_turn(),
            "what was said waits until it is written or taken back",
        )?;
        let background = memory.background.map(|background| match background {
            Background::Running(job) => (job, false),
            Background::Ready(job) => (job, true),
        });
        ensure(
            background.as_slice() == self.prepared.as_slice(),
            "what is prepared is remembered",
        )?;
        ensure(
            self.aborted.is_none_or(|ends| ends <= MOST_ENDS_OF_A_STOP),
            "an abort ends the turn",
        )?;
        ensure(
            self.closing.is_none_or(|ends| ends <= MOST_ENDS_OF_A_STOP),
            "the end comes",
        )
    }

    /// Everything that runs ends well until the machine rests.
    fn settle(&mut self, mood: Mood, dice: &mut impl Iterator<Item = u64>) -> Checked {
        let most = 50 + 20 * self.messages.len();
        for _ in 0..most {
            if self.is_at_rest() {
                return Ok(());
            }
            let awaited = self
                .pending
                .iter()
                .position(|(job, work)| match self.machine.state {
                    State::Compacting(Compaction {
                        grace: Some(timer), ..
                    }) => *job == timer,
                    _ => work.is_exclusive(),
                });
            let Some(index) = awaited else {
                return Err("something awaited runs".to_owned());
            };
            self.end(index, Dice(dice.next().unwrap_or(0)), mood)?;
        }
        Err("the machine comes to rest".to_owned())
    }

    fn run(&mut self, dice: &[u64], closes: bool) -> Checked {
        for dice in dice {
            self.happen(Dice(*dice))?;
        }
        let mut dice = dice.iter().copied();
        if closes {
            self.close()?;
            self.settle(Mood::Any, &mut dice)?;
            return ensure(self.closed, "a session that was closed has ended");
        }
        self.settle(Mood::Kind, &mut dice)?;
        if !self.closed {
            self.say(Dice(0))?;
            self.settle(Mood::Kind, &mut dice)?;
            ensure(
                self.waiting().is_empty(),
                "in the end everything is written",
            )?;
        }
        Ok(())
    }
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let continues = prop_oneof![
        Just(Continue::Never),
        Just(Continue::WhenAtWork),
        Just(Continue::Always),
    ];
    let automatic = prop::bool::weighted(0.9);
    (automatic, continues, any::<bool>()).prop_map(|(automatic, continues, hands_off)| Policy {
        most_requests: None,
        most_micro_usd: None,
        automatic,
        continues,
        hands_off,
    })
}

fn any_habit() -> impl Strategy<Value = AnswerEnd> {
    prop_oneof![
        Just(AnswerEnd::Done),
        Just(AnswerEnd::Calls),
        Just(AnswerEnd::CutOff),
        Just(AnswerEnd::Overflow("too large".to_owned())),
    ]
}

fn config() -> Config {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    Config {
        cases: if asked {
            Config::default().cases
        } else {
            1_000
        },
        failure_persistence: None,
        max_shrink_iters: 100_000,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_that_must_not_be_comes_of_any_order_of_events(
        policy in any_policy(),
        dice in prop::collection::vec(any::<u64>(), 1..200),
        habit in any_habit(),
        closes in any::<bool>(),
    ) {
        let mut world = World::new(policy, habit);
        if let Err(fact) = world.run(&dice, closes) {
            let newest = world.history.iter().map(|event| format!("  {event:?}"));
            let history = newest.collect::<Vec<_>>().join("\n");
            let state = format!("{:#?}", world.machine);
            return Err(TestCaseError::fail(format!("not so: {fact}\n{policy:?}\n{history}\n{state}")));
        }
    }
}

/// Where no run goes, nothing is held.
#[test]
fn the_runs_reach_every_state() {
    let mut seen = BTreeSet::new();
    let mut number = 1_u64;
    for run in 0..1_000 {
        let mut world = World::new(
            Policy {
                hands_off: run % 4 == 0,
                ..Policy::default()
            },
            AnswerEnd::Calls,
        );
        for _ in 0..100 {
            // A linear congruence: the runs are the same everywhere.
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            world.happen(Dice(number >> 11)).unwrap();
            let name = |debug: String| {
                let end = debug.find(|letter: char| !letter.is_alphanumeric());
                debug[..end.unwrap_or(debug.len())].to_owned()
            };
            let state = name(format!("{:?}", world.machine.state));
            seen.insert(match &world.machine.state {
                State::Compacting(Compaction {
                    trigger,
                    after,
                    grace,
                    ..
                }) => {
                    let after = name(format!("{after:?}"));
                    let waiting = if grace.is_some() { ", waiting" } else { "" };
                    format!("{state} {}: {after}{waiting}", trigger.name())
                }
                State::Checking { point, .. } => format!("{state} {}", point.name()),
                State::Storing { write, .. } => format!("{state} {}", name(format!("{write:?}"))),
                _ => state,
            });
        }
    }
    insta::assert_snapshot!(seen.into_iter().collect::<Vec<_>>().join("\n"), @"
    Asking
    Checking after_turn
    Checking before_prompt
    Checking between_tools
    Checking idle
    Closed
    Compacting idle: Rest
    Compacting idle: Rest, waiting
    Compacting image: Ask
    Compacting image: Ask, waiting
    Compacting image: Send
    Compacting image: TurnEnd
    Compacting incomplete: Retry
    Compacting incomplete: Retry, waiting
    Compacting manual: Ask
    Compacting manual: Rest
    Compacting manual: Resume
    Compacting manual: Retry
    Compacting manual: Send
    Compacting overflow: Retry
    Compacting overflow: Retry, waiting
    Compacting threshold: Ask
    Compacting threshold: Ask, waiting
    Compacting threshold: Send
    Compacting threshold: Send, waiting
    Compacting threshold: TurnEnd
    Compacting threshold: TurnEnd, waiting
    Idle
    Navigating
    Promoting
    RunningTools
    Stopping
    Storing Answer
    Storing Continue
    Storing Messages
    Storing Omission
    Storing Results
    ");
}
