//! The compaction that runs, and the one that was prepared.

use crate::machine::{Job, Trigger};
use crate::runtime::background::Prepared;
use crate::runtime::review::Review;
use crate::runtime::waiting::WaitMetrics;
use session_protocol::event::CompactionResult;

/// The compaction that runs, and the one that was prepared.
#[derive(Default)]
pub(super) struct CompactionRun {
    pub prepared: Option<Prepared>,
    /// Where a summary waits to be read before it is written.
    pub review: Review,
    pub waits: WaitMetrics,
    /// What was written.
    pub result: Option<CompactionResult>,
    /// There was nothing to do.
    pub found_nothing: bool,
}

impl CompactionRun {
    pub fn begin(&mut self, trigger: &Trigger) {
        self.result = None;
        self.found_nothing = false;
        self.waits.begin(trigger);
    }

    /// Ends the wait for it. Returns its result unless it failed, and whether there was nothing to do.
    pub fn end(&mut self, failed: bool) -> (Option<CompactionResult>, bool) {
        let mut result = self.result.take().filter(|_| !failed);
        self.waits.end(result.as_mut());
        (result, std::mem::take(&mut self.found_nothing))
    }

    /// Returns what this job prepared.
    pub fn take_prepared(&mut self, job: Job) -> Option<Prepared> {
        self.prepared.take().filter(|prepared| prepared.job == job)
    }
}
