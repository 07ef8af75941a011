//! How long users wait for compactions.
//!
//! The wait begins when a compaction holds up the turn or the message that it was found due for, and ends when that
//! goes on. One that was prepared during the turn holds it up only while it is written, or while the rest of it is
//! waited for. A compaction of an idle session holds up nobody until somebody says something.

use std::time::Duration;

use tokio::time::Instant;

use crate::machine::Trigger;
use session_protocol::event::{CompactionResult, CompactionTotals};

/// What is waited for, and what has been.
#[derive(Debug, Default)]
pub(super) struct WaitMetrics {
    /// The compaction that runs.
    running: Option<Running>,
    /// All of this run.
    pub total: CompactionTotals,
}

#[derive(Debug)]
struct Running {
    is_automatic: bool,
    /// Since when somebody waits.
    since: Option<Instant>,
}

impl WaitMetrics {
    /// A compaction begins.
    pub fn begin(&mut self, trigger: &Trigger) {
        self.running = Some(Running {
            is_automatic: trigger.is_automatic(),
            since: (*trigger != Trigger::Idle).then(Instant::now),
        });
    }

    /// Somebody says something, and waits from now on.
    pub fn user_waits(&mut self) {
        if let Some(running) = &mut self.running {
            running.since.get_or_insert_with(Instant::now);
        }
    }

    /// The compaction is over; its result, where it has one, is told how long it was waited for.
    pub fn end(&mut self, result: Option<&mut CompactionResult>) {
        let Some(running) = self.running.take() else {
            return;
        };
        let waited = running
            .since
            .map_or(Duration::ZERO, |since| since.elapsed());
        let waited = waited.as_secs_f64();
        if running.is_automatic {
            self.total.waited_seconds += waited;
            if let Some(result) = &result {
                self.total.automatic += 1;
                self.total.prepared += usize::from(result.prepared);
            }
        }
        if let Some(result) = result {
            result.waited_seconds = waited;
        }
    }
}
