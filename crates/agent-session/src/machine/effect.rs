//! What the runtime is to do.

use compaction_core::Strategy;

use crate::machine::{CheckPoint, Job, Requested, Trigger, Write};
use session_protocol::{Navigation, TurnEnd};

/// Which strategies a compaction may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrategyChoice {
    /// Those of the settings.
    Configured,
    /// Those of the settings that stay in this session.
    InThisSession,
    /// A handoff to a new session.
    Handoff,
    /// This one.
    By(Strategy),
}

/// A limit that a turn has reached.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The most requests of one turn.
    Requests(u32),
    /// The most cost of a run, in millionths of a US dollar.
    MicroUsd(u64),
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Requests(most) => write!(
                f,
                "the turn asked the model {most} times, the most that limits.turns allows; send another message to go on"
            ),
            Self::MicroUsd(most) => {
                let usd = *most as f64 / 1e6;
                write!(
                    f,
                    "the run has cost ${usd}, the most that limits.costUsd allows; raise the limit to go on"
                )
            }
        }
    }
}

/// What is reported to people and programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A turn begins.
    TurnStarted,
    /// A turn is over.
    TurnEnded(TurnEnd),
    /// A compaction begins.
    CompactionStarted {
        /// The work; the grace time is waited under the background's number.
        job: Job,
        trigger: Trigger,
        choice: StrategyChoice,
    },
    /// A compaction is over.
    CompactionEnded {
        trigger: Trigger,
        /// Whether it was cancelled.
        aborted: bool,
        /// Whether the turn is asked again.
        will_retry: bool,
        /// The error that people read.
        error: Option<String>,
    },
    /// Automatic compaction stops until something changes.
    AutomaticStopped(String),
    /// Something that was asked for does not happen, for this reason.
    Refused(&'static str),
    /// Something went wrong.
    Failed(String),
    /// Nothing is going on any more.
    Resting {
        /// How many messages wait.
        waiting: usize,
    },
    /// The session has ended.
    Closed,
}

/// Something for the runtime to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Prune, measure, and answer with `Checked`; hooks may look at what is to be sent first.
    Check { job: Job, point: CheckPoint },
    /// Switch to the next larger model, and answer with `Promoted`.
    Promote(Job),
    /// Write, and answer with `Stored` or `StoreFailed`.
    Store { job: Job, write: Write },
    /// Ask the model, and answer with `Answered`.
    Ask(Job),
    /// Run the calls of the newest answer, and answer with `ToolsDone`.
    RunTools(Job),
    /// Compact, and answer with `CompactionEnded`.
    Compact {
        job: Job,
        trigger: Trigger,
        choice: StrategyChoice,
        /// What was asked for; none for an automatic compaction.
        requested: Option<Box<Requested>>,
        /// Whether the newest answer, which failed, leaves the context with it.
        omits_failed: bool,
    },
    /// Prepare a compaction during the running turn, and answer with `BackgroundEnded`.
    StartBackground(Job),
    /// Write what was prepared, and answer with `CompactionEnded`.
    Splice {
        job: Job,
        background: Job,
        trigger: Trigger,
        /// Whether the newest answer, which failed, leaves the context with it.
        omits_failed: bool,
    },
    /// Move the leaf, and answer with `NavigationEnded`.
    Navigate { job: Job, navigation: Navigation },
    /// End this work soon; it still answers.
    Cancel(Job),
    /// Forget what was prepared; end it if it is not.
    Discard(Job),
    /// Answer with `Elapsed` after the time that an idle session needs to be idle.
    IdleTimer(Job),
    /// Answer with `Elapsed` after the time that a background compaction is waited for.
    GraceTimer(Job),
    /// Report to whoever watches.
    Notify(Notice),
}
