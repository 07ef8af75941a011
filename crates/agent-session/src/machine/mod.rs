//! The state machine of the session: what happens next, decided without input or output.
//!
//! ```text
//! Idle -> Checking -> Storing -> Asking -> Storing -> RunningTools -> Storing -> Checking -> Asking ...
//!              \-> Promoting / Compacting -> (what the check was for)      \-> Checking -> Idle
//! ```
//!
//! [`transition`] takes the machine and one [`Event`] and gives the machine and the
//! [`Effect`]s that the runtime carries out. Every piece of work has a [`Job`]; what
//! ends under a number that is not awaited any more is late and changes nothing.
//!
//! **Invariants.** A message leaves the queue when it has been written, not
//! before. The model is asked when everything that steers has been written. Nothing
//! is asked while something is written, compacted or left. An automatic compaction
//! is followed by another only after an answer, or within the bounds of
//! [`Memory`]; three that fail in a row stop them until the context is another one. What waits when a turn was
//! stopped or failed stays until somebody says something.

mod compaction;
mod effect;
mod event;
mod memory;
mod request;
mod step;
mod stop;
mod turn;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;

pub use compaction::CANCELLED;
pub use compaction_core::Trigger;
pub use effect::{Effect, Limit, Notice, StrategyChoice};
pub use event::{AnswerEnd, CheckResult, Event, JobEnd, ResumePoint};
pub use memory::{
    ANSWERS_BETWEEN, Background, Continue, MAX_FAILURES, MAX_INCOMPLETE, Memory, Policy,
};
pub use request::Requested;

use step::Step;

/// A piece of work of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Job(pub u64);

/// Where a check stands in the course of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckPoint {
    /// Before waiting messages are sent; their text counts.
    BeforePrompt,
    /// When the results of a batch of tools are in.
    BetweenTools,
    /// When the model is done.
    AfterTurn,
    /// When nothing has happened for a while.
    WhenIdle,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Waiting messages.
    Messages(Vec<session_model::EntryId>),
    /// The answer of the model, whole or not.
    Answer(AnswerEnd),
    /// The results of its tool calls.
    Results,
    /// The message of the agent itself that asks to go on.
    Continue,
    /// The edit that takes the failed answer out of the context.
    Omission,
}

/// What was asked for while something runs, and follows it.
#[derive(Debug, Clone, PartialEq)]
pub enum Interruption {
    /// The turn ends.
    Stop,
    /// A compaction, then the work continues.
    Compact(Box<Requested>),
    /// The compaction was taken back: what was stopped for it continues.
    Withdrawn,
    /// The session ends.
    Close,
}

/// What follows a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCompaction {
    /// The waiting messages are sent, whatever came of it.
    Send,
    /// The turn goes on, whatever came of it.
    Ask,
    /// The turn is over: the user is next.
    TurnEnd,
    /// The failed answer is asked for again; a failure ends the turn.
    Retry,
    /// The turn that was stopped for it goes on.
    Resume,
    /// Nothing, unless messages wait.
    Rest,
}

/// A compaction under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The work; while a background compaction is waited for, that one's.
    pub job: Job,
    pub trigger: Trigger,
    pub after: AfterCompaction,
    /// The timer of the wait for a background compaction.
    pub grace: Option<Job>,
}

/// What is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Idle,
    /// Old output is pruned, and the context is measured.
    Checking { job: Job, point: CheckPoint },
    /// A larger model takes over.
    Promoting {
        job: Job,
        /// What a compaction in its place would run for.
        trigger: Trigger,
        after: AfterCompaction,
    },
    /// Entries are written.
    Storing { job: Job, write: Write },
    /// The model answers.
    Asking(Job),
    /// Tools run.
    RunningTools(Job),
    /// The model or the tools have been cancelled.
    Stopping(Job),
    /// A summary is written.
    Compacting(Compaction),
    /// The leaf moves.
    Navigating(Job),
    /// The session has ended.
    Closed,
}

impl State {
    /// Returns the work that is awaited.
    pub(super) const fn job(&self) -> Option<Job> {
        match self {
            Self::Checking { job, .. }
            | Self::Promoting { job, .. }
            | Self::Storing { job, .. }
            | Self::Asking(job)
            | Self::RunningTools(job)
            | Self::Stopping(job)
            | Self::Compacting(Compaction { job, .. })
            | Self::Navigating(job) => Some(*job),
            Self::Idle | Self::Closed => None,
        }
    }
}

/// The machine: what is going on, and what is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// What is going on.
    pub state: State,
    /// What follows it, in place of what would be next.
    pub interruption: Option<Interruption>,
    /// What is remembered.
    pub memory: Memory,
}

impl Machine {
    /// Returns a machine at rest.
    pub fn new(policy: Policy) -> Self {
        Self {
            state: State::Idle,
            interruption: None,
            memory: Memory::new(policy),
        }
    }
}

/// Returns the machine after `event`, and what is to be done.
#[must_use]
pub fn transition(machine: Machine, event: Event) -> (Machine, Vec<Effect>) {
    let Machine {
        state,
        interruption,
        memory,
    } = machine;
    let mut step = Step {
        memory,
        interruption,
        effects: Vec::new(),
    };
    let state = step.on(state, event);
    let machine = Machine {
        state,
        interruption: step.interruption,
        memory: step.memory,
    };
    (machine, step.effects)
}
