//! Code that the agent writes in the retry chapter.

/// `src/output/retry.rs`, with the failure as a public field (the rejected shape).
const RETRY: &str = r#"
//! When to try again: exponential pauses with full jitter, bounded in number and length, and the collector's own wish.

use std::time::Duration;

use crate::error::{Error, Result};

/// Limits of one delivery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Policy {
    pub attempts: u32,
    pub first: Duration,
    pub cap: Duration,
}

/// The pauses of one delivery. `next` is asked after each failed attempt.
pub(crate) struct Backoff {
    policy: Policy,
    failed: u32,
    seed: u64,
}

impl Backoff {
    pub fn new(policy: Policy, seed: u64) -> Self {
        Self { policy, failed: 0, seed: seed | 1 }
    }

    /// The pause before the next attempt, or `None` when the attempts are used up.
    pub fn next(&mut self, wished: Option<Duration>) -> Option<Duration> {
        self.failed += 1;
        if self.failed >= self.policy.attempts {
            return None;
        }
        let doubled = self.policy.first.saturating_mul(1 << (self.failed - 1).min(20));
        let ceiling = doubled.min(self.policy.cap);
        let pause = self.jitter(ceiling);
        Some(wished.unwrap_or_default().max(pause).min(self.policy.cap))
    }

    /// Full jitter: anything from zero to the ceiling. xorshift is enough to spread a fleet.
    fn jitter(&mut self, ceiling: Duration) -> Duration {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let nanos = u64::try_from(ceiling.as_nanos()).unwrap_or(u64::MAX).max(1);
        Duration::from_nanos(self.seed % nanos)
    }
}

/// Runs `attempt` until it succeeds, fails for good, or the policy ends. `sleep` is a parameter so that tests do not wait.
pub(crate) fn run(
    mut backoff: Backoff,
    mut sleep: impl FnMut(Duration),
    mut attempt: impl FnMut() -> Result<()>,
) -> Result<()> {
    loop {
        let error = match attempt() {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !worth_retrying(&error) {
            return Err(error);
        }
        match backoff.next(wish(&error)) {
            Some(pause) => sleep(pause),
            None => return Err(error),
        }
    }
}

pub(crate) fn worth_retrying(error: &Error) -> bool {
    match error {
        Error::Http { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
        Error::Transport(_) => true,
        _ => false,
    }
}

fn wish(error: &Error) -> Option<Duration> {
    match error {
        Error::Http { retry_after, .. } => *retry_after,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy =
        Policy { attempts: 5, first: Duration::from_millis(200), cap: Duration::from_secs(30) };

    fn answer(status: u16, retry_after: Option<u64>) -> Error {
        Error::Http { status, body: String::new(), retry_after: retry_after.map(Duration::from_secs) }
    }

    #[test]
    fn five_attempts_and_no_more() {
        let (mut calls, mut slept) = (0, Vec::new());
        let result = run(Backoff::new(POLICY, 9), |d| slept.push(d), || {
            calls += 1;
            Err(answer(503, None))
        });
        assert!(result.is_err());
        assert_eq!((calls, slept.len()), (5, 4));
    }

    #[test]
    fn pauses_stay_below_the_doubled_ceiling() {
        let mut backoff = Backoff::new(POLICY, 77);
        for ceiling in [200, 400, 800, 1600] {
            assert!(backoff.next(None).unwrap() < Duration::from_millis(ceiling));
        }
    }

    #[test]
    fn a_longer_wish_wins() {
        let mut backoff = Backoff::new(POLICY, 3);
        assert_eq!(backoff.next(Some(Duration::from_secs(7))), Some(Duration::from_secs(7)));
    }

    #[test]
    fn the_cap_bounds_the_wish() {
        let mut backoff = Backoff::new(POLICY, 3);
        assert_eq!(backoff.next(Some(Duration::from_secs(3600))), Some(Duration::from_secs(30)));
    }

    #[test]
    fn client_errors_are_final() {
        let mut calls = 0;
        let _ = run(Backoff::new(POLICY, 1), |_| {}, || {
            calls += 1;
            Err(answer(413, None))
        });
        assert_eq!(calls, 1);
    }

    #[test]
    fn too_many_requests_is_retried() {
        assert!(worth_retrying(&answer(429, Some(1))));
    }
}
"#;

/// `src/pipeline/sender.rs` of the abandoned branch.
pub const SENDER: &str = r#"
//! One thread per route that sends sealed batches; a full queue blocks the batcher.

use std::collections::BTreeMap;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::output::http::Client;
use crate::pipeline::batch::Batch;

const QUEUE: usize = 16;

pub(crate) struct Senders {
    client: Arc<Client>,
    metrics: Arc<Metrics>,
    queues: BTreeMap<String, (SyncSender<Batch>, JoinHandle<Result<()>>)>,
}

impl Senders {
    pub fn new(client: Client, metrics: Arc<Metrics>) -> Self {
        Self { client: Arc::new(client), metrics, queues: BTreeMap::new() }
    }

    pub fn offer(&mut self, batch: Batch) -> Result<()> {
        let route = batch.route().to_string();
        let (queue, _) = self.queues.entry(route).or_insert_with(|| {
            let (tx, rx) = sync_channel::<Batch>(QUEUE);
            let (client, metrics) = (self.client.clone(), self.metrics.clone());
            let thread = std::thread::spawn(move || rx.iter().try_for_each(|batch| client.send(&batch, &metrics)));
            (tx, thread)
        });
        queue.send(batch).map_err(|_| Error::Panicked)
    }

    pub fn join(self) -> Result<()> {
        for (queue, thread) in self.queues.into_values() {
            drop(queue);
            thread.join().map_err(|_| Error::Panicked)??;
        }
        Ok(())
    }
}
"#;

/// `src/pipeline/held.rs`.
pub const HELD: &str = r#"
//! Sealed batches that wait for the collector: in order per route, bounded in total bytes.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::pipeline::batch::Batch;

/// How long a route rests after its attempts were used up.
const REST: Duration = Duration::from_secs(5);

pub(crate) struct Held {
    limit: usize,
    bytes: usize,
    routes: BTreeMap<String, Waiting>,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<Batch>,
    rest_until: Option<Instant>,
}

impl Held {
    pub fn new(limit: usize) -> Self {
        Self { limit, bytes: 0, routes: BTreeMap::new() }
    }

    pub fn push_back(&mut self, batch: Batch) {
        self.bytes += batch.len();
        self.routes.entry(batch.route().to_string()).or_default().batches.push_back(batch);
    }

    /// Whether the batcher must wait before it takes another record.
    pub fn full(&self) -> bool {
        self.bytes >= self.limit
    }

    /// Sends the front of every route that is not resting. A failure puts the route to rest and keeps the batch.
    pub fn send_what_is_due(&mut self, mut send: impl FnMut(&Batch) -> Result<()>) -> Result<()> {
        let now = Instant::now();
        for waiting in self.routes.values_mut() {
            if waiting.rest_until.is_some_and(|until| now < until) {
                continue;
            }
            waiting.rest_until = None;
            while let Some(batch) = waiting.batches.front() {
                if send(batch).is_err() {
                    waiting.rest_until = Some(now + REST);
                    break;
                }
                self.bytes -= batch.len();
                waiting.batches.pop_front();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_failing_route_does_not_stop_another() {
        let mut held = Held::new(1024);
        held.push_back(Batch::of_lines("slow", &["a"]));
        held.push_back(Batch::of_lines("fast", &["b"]));
        let mut sent = Vec::new();
        held.send_what_is_due(|batch| {
            if batch.route() == "slow" {
                return Err(Error::Transport("timeout".into()));
            }
            sent.push(batch.route().to_string());
            Ok(())
        })
        .unwrap();
        assert_eq!(sent, ["fast"]);
        assert_eq!(held.bytes, 2);
    }

    #[test]
    fn full_at_the_limit() {
        let mut held = Held::new(4);
        held.push_back(Batch::of_lines("default", &["abc"]));
        assert!(held.full());
    }
}
"#;

/// The module above, with a private failure type in place of a new public field.
pub fn private_failure() -> String {
    RETRY
        .replace(
            "/// Limits of one delivery.",
            "/// A failed attempt, with the pause the collector asked for. Private, so that `Error` stays as it is.\n#[derive(Debug)]\npub(crate) struct Failure {\n    pub error: Error,\n    pub retry_after: Option<Duration>,\n}\n\nimpl From<Error> for Failure {\n    fn from(error: Error) -> Self {\n        Self { error, retry_after: None }\n    }\n}\n\n/// Limits of one delivery.",
        )
        .replace("mut attempt: impl FnMut() -> Result<()>,", "mut attempt: impl FnMut() -> std::result::Result<(), Failure>,")
        .replace("let error = match attempt() {\n            Ok(()) => return Ok(()),\n            Err(error) => error,", "let Failure { error, retry_after } = match attempt() {\n            Ok(()) => return Ok(()),\n            Err(failure) => failure,")
        .replace("backoff.next(wish(&error))", "backoff.next(retry_after)")
        .replace("fn wish(error: &Error) -> Option<Duration> {\n    match error {\n        Error::Http { retry_after, .. } => *retry_after,\n        _ => None,\n    }\n}\n\n", "")
        .replace("fn answer(status: u16, retry_after: Option<u64>) -> Error {\n        Error::Http { status, body: String::new(), retry_after: retry_after.map(Duration::from_secs) }", "fn answer(status: u16, retry_after: Option<u64>) -> Failure {\n        let error = Error::Http { status, body: String::new() };\n        Failure { error, retry_after: retry_after.map(Duration::from_secs) }")
        .replace("worth_retrying(&answer(429, Some(1)))", "worth_retrying(&answer(429, Some(1)).error)")
}
