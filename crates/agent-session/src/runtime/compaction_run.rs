//! The compaction that runs, and the one that was prepared.

use crate::event::{CompactionResult, CompactionTotals};
use crate::machine::{Job, JobEnd, Trigger};
use crate::runtime::background::Prepared;
use crate::runtime::review::Review;
use crate::runtime::waiting::WaitMetrics;

/// The compaction that runs, and the one that was prepared.
#[derive(Default)]
pub(super) struct CompactionRun {
    prepared: Option<Prepared>,
    /// Where a summary waits to be read before it is written.
    pub review: Review,
    waits: WaitMetrics,
    result: Option<CompactionResult>,
    found_nothing: bool,
}

impl CompactionRun {
    pub fn begin(&mut self, trigger: &Trigger) {
        self.result = None;
        self.found_nothing = false;
        self.waits.begin(trigger);
    }

    /// The user said something, and waits from now on.
    pub fn user_waits(&mut self) {
        self.waits.user_waits();
    }

    /// Its entries or its document are written.
    pub fn written(&mut self, result: CompactionResult) {
        self.result = Some(result);
    }

    pub fn ended(&mut self, end: &JobEnd) {
        self.found_nothing = matches!(end, JobEnd::Nothing(_));
    }

    /// Ends the wait for it. Returns its result unless it failed, and whether there was nothing to do.
    pub fn end(&mut self, failed: bool) -> (Option<CompactionResult>, bool) {
        let mut result = self.result.take().filter(|_| !failed);
        self.waits.end(result.as_mut());
        (result, std::mem::take(&mut self.found_nothing))
    }

    pub fn totals(&self) -> CompactionTotals {
        self.waits.total
    }

    pub fn prepare(&mut self, prepared: Prepared) {
        self.prepared = Some(prepared);
    }

    pub fn discard_prepared(&mut self) {
        self.prepared = None;
    }

    /// Returns what this job prepared.
    pub fn take_prepared(&mut self, job: Job) -> Option<Prepared> {
        self.prepared.take().filter(|prepared| prepared.job == job)
    }
}
