//! What the machine remembers from one state to the next.

use std::collections::VecDeque;

use session_model::EntryId;

use crate::machine::{Job, Limit};
use session_store::Delivery;

/// After how many automatic compactions in a row that failed no more are tried in this context.
pub const MAX_FAILURES: u32 = 3;

/// How many answers come between an automatic compaction that freed too little and the next.
pub const ANSWERS_BETWEEN: u32 = 5;

/// How often in a row an answer that was cut off is asked for again.
pub const MAX_INCOMPLETE: u32 = 3;

/// When the agent continues by itself after a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Continue {
    /// Never.
    Never,
    /// When the compaction cut a turn.
    #[default]
    WhenAtWork,
    /// Also when the turn was over.
    Always,
}

/// What settings decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether automatic compactions run.
    pub automatic: bool,
    /// When a turn is continued.
    pub continues: Continue,
    /// Whether the strategy is a handoff, which waits for the end of the turn.
    pub hands_off: bool,
    /// The most requests of one turn.
    pub most_requests: Option<u32>,
    /// The most cost of a run, in millionths of a US dollar.
    pub most_micro_usd: Option<u64>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            automatic: true,
            continues: Continue::default(),
            hands_off: false,
            most_requests: None,
            most_micro_usd: None,
        }
    }
}

/// A compaction that is prepared during the running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// It is being written.
    Running(Job),
    /// It can be used.
    Ready(Job),
}

impl Background {
    pub(super) const fn job(self) -> Job {
        match self {
            Self::Running(job) | Self::Ready(job) => job,
        }
    }
}

/// What the machine remembers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// What settings decide.
    pub policy: Policy,
    /// Messages that go to the model before it is asked next.
    pub steering: VecDeque<EntryId>,
    /// Messages that each begin a turn.
    pub follow_ups: VecDeque<EntryId>,
    /// Whether a turn runs.
    pub in_turn: bool,
    /// A handoff waits for the end of the turn.
    pub handoff_due: bool,
    /// The newest overflow has been recovered from, and no answer came since.
    pub overflow_recovered: bool,
    /// How many answers in a row were cut off.
    pub incomplete: u32,
    /// How many automatic compactions in a row failed; after [`MAX_FAILURES`] they wait for another context.
    pub failures: u32,
    /// Tokens of the context in which they failed.
    pub failed_at: Option<u64>,
    /// The newest automatic compaction freed too little; the next waits for so many answers.
    pub freed_little: Option<u32>,
    /// The user has cancelled an automatic compaction of this turn, or of the rest behind it.
    pub declined: bool,
    /// What waits stays until somebody says something.
    pub held: bool,
    /// The context was compacted, and no answer came since: an idle session is left alone.
    pub compacted: bool,
    /// Tokens of the context at the newest check.
    pub tokens: u64,
    /// How often the model was asked in this turn.
    pub requests: u32,
    /// What the run had cost at the newest check, in millionths of a US dollar.
    pub spent_micro_usd: u64,
    /// What is prepared during the running turn.
    pub background: Option<Background>,
    /// Whether a larger model could take over, as the newest answer told.
    pub can_promote: bool,
    /// The timer that would find the session idle.
    pub idle_timer: Option<Job>,
    /// The compaction that runs writes what was prepared.
    pub(super) splices: bool,
    /// The compaction that runs has been told to stop.
    pub(super) cancelled: bool,
    /// A preparation of this turn came to nothing.
    pub(super) speculation_failed: bool,
    pub(super) newest_job: u64,
}

impl Memory {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }

    /// Returns how many messages wait.
    pub fn waiting(&self) -> usize {
        self.steering.len() + self.follow_ups.len()
    }

    /// Lets a message wait; one of an earlier run is sent with the next, or on resuming.
    pub fn wait_for(&mut self, id: EntryId, delivery: Delivery) {
        match delivery {
            Delivery::Steer => self.steering.push_back(id),
            Delivery::Prompt | Delivery::FollowUp => self.follow_ups.push_back(id),
        }
    }

    /// Returns the limit that keeps the model from being asked again in this turn.
    pub(super) fn limit_reached(&self) -> Option<Limit> {
        let policy = &self.policy;
        let requests = policy.most_requests.filter(|most| self.requests >= *most);
        let cost = policy
            .most_micro_usd
            .filter(|most| self.spent_micro_usd >= *most);
        requests.map(Limit::Requests).or(cost.map(Limit::MicroUsd))
    }

    pub(super) fn job(&mut self) -> Job {
        self.newest_job += 1;
        Job(self.newest_job)
    }

    pub(super) fn forget(&mut self, id: &EntryId) {
        self.steering.retain(|waiting| waiting != id);
        self.follow_ups.retain(|waiting| waiting != id);
    }

    /// An answer came: what was done to get it has helped.
    pub(super) fn answered(&mut self) {
        self.compacted = false;
        self.freed_little = self.freed_little.map(|answers| answers.saturating_sub(1));
        self.reset_recovery();
    }

    /// Overflows and answers that were cut off are counted anew.
    pub(super) fn reset_recovery(&mut self) {
        self.overflow_recovered = false;
        self.incomplete = 0;
    }

    /// What was counted or declined in the turn before does not count in the next.
    pub(super) fn reset_turn(&mut self) {
        self.idle_timer = None;
        self.held = false;
        self.requests = 0;
        self.declined = false;
        self.speculation_failed = false;
        self.reset_recovery();
    }

    /// Automatic compactions run again.
    pub(super) fn reset_failures(&mut self) {
        self.failures = 0;
        self.failed_at = None;
        self.freed_little = None;
    }

    /// Returns whether automatic compactions wait for another context; an overflow is recovered from all the same.
    pub fn is_stopped(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Returns whether automatic compactions wait, for another context or for answers.
    pub(super) fn waits_to_compact(&self) -> bool {
        self.is_stopped() || self.freed_little.is_some_and(|answers| answers > 0)
    }
}
