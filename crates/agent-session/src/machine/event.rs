//! What happens to the session.

use session_model::EntryId;
use session_protocol::Navigation;

use crate::machine::{Job, Requested};
use session_store::Delivery;

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The model is done.
    Done,
    /// It waits for the results of tool calls.
    Calls,
    /// Its output cap cut it off.
    CutOff,
    /// The provider refused the context as too large, or silently dropped a part of it.
    Overflow(String),
    /// The provider failed, and trying again did not help.
    Failed(String),
    /// It was stopped.
    Aborted,
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckResult {
    /// Tokens of the context, with the text that waits.
    pub tokens: u64,
    /// Whether that exceeds the threshold.
    pub due: bool,
    /// Whether too many images are in it, for the strategy that would restore them.
    pub images_due: bool,
    /// Whether it is enough for a compaction of an idle session.
    pub idle_due: bool,
    /// Whether a larger model could take over.
    pub can_promote: bool,
    /// Whether a background compaction is worth its while.
    pub speculate: bool,
    /// What the run has cost so far, in millionths of a US dollar, where prices are known.
    pub spent_micro_usd: u64,
}

/// How a compaction, a handoff or a change of branch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEnd {
    /// It is written.
    Compacted {
        /// Whether the context is well below the threshold now.
        frees_enough: bool,
    },
    /// A new session continues from a document.
    HandedOff,
    /// The leaf has moved.
    Moved,
    /// There was nothing to do, or a hook refused it; nothing was changed.
    Nothing(String),
    /// It failed; nothing was changed.
    Failed(String),
    /// It was cancelled; nothing was changed.
    Cancelled,
    /// What was prepared does not fit the session any more; nothing was changed.
    Stale,
}

/// What a session that was opened again ends in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumePoint {
    /// An answer: nothing is left to do.
    Rest,
    /// Something that the model has not answered.
    Unanswered,
    /// Calls without results.
    PendingCalls,
    /// An answer that failed, and that the model that would go on gave: what such an answer calls for.
    Answered(AnswerEnd),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The user, or a program, said something; it is in the queue of the store.
    Queued {
        /// The id under which it will be written.
        id: EntryId,
        /// When it is sent.
        delivery: Delivery,
    },
    /// A waiting message was taken back.
    Dequeued(EntryId),
    /// Work that a session was left with goes on; messages that waited are said after it.
    Resume(ResumePoint),
    /// What runs is to stop.
    Abort,
    /// A compaction is wanted now.
    Compact(Box<Requested>),
    /// Running compactions and branch summaries are to stop.
    AbortCompaction,
    /// The leaf is to move.
    Navigate(Navigation),
    /// Automatic compaction is switched on or off.
    SetAutomatic(bool),
    /// Another model answers from now on.
    ModelChanged,
    /// The resting session stands elsewhere now: an edit was taken back, or a copy goes on.
    Moved,
    /// The session is to end.
    Close,
    /// A check is done.
    Checked {
        job: Job,
        /// What it found.
        result: CheckResult,
    },
    /// A larger model has taken over, or could not.
    Promoted { job: Job, error: Option<String> },
    /// Entries are written.
    Stored(Job),
    /// Messages that were to be written wait on, because hooks were stopped before they had seen them.
    Withheld(Job),
    /// Entries could not be written; they are kept in memory.
    StoreFailed { job: Job, error: String },
    /// The model has answered.
    Answered {
        job: Job,
        end: AnswerEnd,
        /// Whether a larger model could take over.
        can_promote: bool,
    },
    /// Every tool has answered.
    ToolsDone(Job),
    /// A compaction has ended.
    CompactionEnded { job: Job, ended: JobEnd },
    /// A background compaction has ended.
    BackgroundEnded {
        job: Job,
        /// Whether a summary is ready.
        ready: bool,
    },
    /// A change of branch has ended.
    NavigationEnded { job: Job, ended: JobEnd },
    /// A timer has run out.
    Elapsed(Job),
}

impl Event {
    /// Returns the work that ended with it.
    pub(super) const fn job(&self) -> Option<Job> {
        match self {
            Self::Checked { job, .. }
            | Self::Promoted { job, .. }
            | Self::Stored(job)
            | Self::Withheld(job)
            | Self::StoreFailed { job, .. }
            | Self::Answered { job, .. }
            | Self::ToolsDone(job)
            | Self::CompactionEnded { job, .. }
            | Self::BackgroundEnded { job, .. }
            | Self::NavigationEnded { job, .. }
            | Self::Elapsed(job) => Some(*job),
            Self::Queued { .. }
            | Self::Dequeued(_)
            | Self::Resume(_)
            | Self::Abort
            | Self::Compact(_)
            | Self::AbortCompaction
            | Self::Navigate(_)
            | Self::SetAutomatic(_)
            | Self::ModelChanged
            | Self::Moved
            | Self::Close => None,
        }
    }
}
