//! Sources of the invented project, part pipeline: batches, routes and counters.

/// `src/pipeline/batch.rs`: collects records per route and seals them.
pub const BATCH: &str = r#"
//! Collects records per route into newline-delimited JSON and seals a batch by size or age.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::config;
use crate::error::Result;
use crate::metrics::Metrics;
use crate::output::http::Client;
use crate::parse::Record;
use crate::pipeline::route::{Router, Target};

pub(crate) struct Batch {
    route: String,
    body: Vec<u8>,
    records: usize,
    opened: Instant,
    number: u64,
}

impl Batch {
    fn open(route: &str, number: u64) -> Self {
        Self { route: route.to_string(), body: Vec::new(), records: 0, opened: Instant::now(), number }
    }

    #[cfg(test)]
    pub fn of_lines(route: &str, lines: &[&str]) -> Self {
        let mut batch = Self::open(route, 1);
        lines.iter().for_each(|line| batch.push_line(line.as_bytes()));
        batch
    }

    pub fn route(&self) -> &str {
        &self.route
    }

    pub fn records(&self) -> usize {
        self.records
    }

    pub fn body(&self) -> Vec<u8> {
        self.body.clone()
    }

    /// The collector drops a batch whose key it has seen, so that a retry is harmless.
    pub fn key(&self) -> String {
        format!("{}-{:08x}-{}", self.route, self.number, self.records)
    }

    fn push(&mut self, record: &Record) {
        let line = serde_json::json!({ "raw": record.raw, "fields": record.fields, "cut": record.cut });
        self.push_line(line.to_string().as_bytes());
    }

    fn push_line(&mut self, line: &[u8]) {
        self.body.extend_from_slice(line);
        self.body.push(b'\n');
        self.records += 1;
    }

    fn full(&self, limits: &config::Batch) -> bool {
        self.body.len() >= limits.max_bytes || self.opened.elapsed() >= Duration::from_millis(limits.max_age_ms)
    }
}

/// Starts the batching thread.
pub(crate) fn spawn(
    records: Receiver<Record>,
    router: Router,
    client: Client,
    limits: config::Batch,
    metrics: Arc<Metrics>,
) -> JoinHandle<Result<()>> {
    std::thread::spawn(move || {
        let mut open: BTreeMap<String, Batch> = BTreeMap::new();
        let mut number = 0;
        loop {
            match records.recv_timeout(Duration::from_millis(50)) {
                Ok(record) => match router.target(&record) {
                    Target::Drop => metrics.filtered(1),
                    Target::Route(name) => {
                        let batch = open.entry(name.to_string()).or_insert_with(|| {
                            number += 1;
                            Batch::open(name, number)
                        });
                        batch.push(&record);
                    }
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let ready: Vec<String> = open.iter().filter(|(_, b)| b.full(&limits)).map(|(n, _)| n.clone()).collect();
            for name in ready {
                if let Some(batch) = open.remove(&name) {
                    client.send(&batch, &metrics)?;
                }
            }
        }
        for batch in open.values() {
            client.send(batch, &metrics)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seals_by_size() {
        let batch = Batch::of_lines("default", &["0123456789"]);
        assert!(batch.full(&config::Batch { max_bytes: 11, max_age_ms: 60_000 }));
        assert!(!batch.full(&config::Batch { max_bytes: 12, max_age_ms: 60_000 }));
    }

    #[test]
    fn the_key_names_route_and_count() {
        assert_eq!(Batch::of_lines("audit", &["a", "b"]).key(), "audit-00000001-2");
    }
}
"#;

/// `src/pipeline/route.rs`: first matching route wins.
pub const ROUTE: &str = r#"
//! Chooses the route of a record: the first whose conditions all hold, else `default`.

use crate::config;
use crate::parse::Record;

#[derive(Debug, PartialEq)]
pub(crate) enum Target<'a> {
    Route(&'a str),
    Drop,
}

pub(crate) struct Router {
    routes: Vec<config::Route>,
}

impl Router {
    pub fn new(routes: &[config::Route]) -> Self {
        Self { routes: routes.to_vec() }
    }

    pub fn target(&self, record: &Record) -> Target<'_> {
        for route in &self.routes {
            let hit = route.matches.iter().all(|(field, value)| record.fields.get(field) == Some(value));
            if hit {
                return if route.drop { Target::Drop } else { Target::Route(&route.name) };
            }
        }
        Target::Route("default")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pairs: &[(&str, &str)]) -> Record {
        let mut record = Record::default();
        for (key, value) in pairs {
            record.fields.insert(key.to_string(), value.to_string());
        }
        record
    }

    fn route(name: &str, pairs: &[(&str, &str)], drop: bool) -> config::Route {
        let matches = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        config::Route { name: name.into(), matches, drop }
    }

    #[test]
    fn first_match_wins() {
        let router = Router::new(&[route("audit", &[("stream", "audit")], false), route("all", &[], false)]);
        assert_eq!(router.target(&record(&[("stream", "audit")])), Target::Route("audit"));
        assert_eq!(router.target(&record(&[("stream", "web")])), Target::Route("all"));
    }

    #[test]
    fn drop_routes_drop() {
        let router = Router::new(&[route("noise", &[("level", "trace")], true)]);
        assert_eq!(router.target(&record(&[("level", "trace")])), Target::Drop);
        assert_eq!(router.target(&record(&[("level", "info")])), Target::Route("default"));
    }
}
"#;

/// `src/metrics.rs`: counters.
pub const METRICS: &str = r#"
//! Counters that the daemon exposes. Every record that is not delivered shows up in one of them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Metrics {
    read_bytes: AtomicU64,
    sent: AtomicU64,
    dropped: AtomicU64,
    filtered: AtomicU64,
    slowest_us: AtomicU64,
}

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    pub read_bytes: u64,
    pub sent: u64,
    pub dropped: u64,
    pub filtered: u64,
    pub slowest: Duration,
}

impl Metrics {
    pub fn read_bytes(&self, n: u64) {
        self.read_bytes.fetch_add(n, Relaxed);
    }

    pub fn sent(&self, records: u64, took: Duration) {
        self.sent.fetch_add(records, Relaxed);
        self.slowest_us.fetch_max(took.as_micros() as u64, Relaxed);
    }

    pub fn dropped(&self, records: u64) {
        self.dropped.fetch_add(records, Relaxed);
    }

    pub fn filtered(&self, records: u64) {
        self.filtered.fetch_add(records, Relaxed);
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            read_bytes: self.read_bytes.load(Relaxed),
            sent: self.sent.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            filtered: self.filtered.load(Relaxed),
            slowest: Duration::from_micros(self.slowest_us.load(Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_slowest() {
        let metrics = Metrics::default();
        metrics.sent(3, Duration::from_millis(40));
        metrics.sent(1, Duration::from_millis(12));
        assert_eq!(metrics.snapshot().slowest, Duration::from_millis(40));
        assert_eq!(metrics.snapshot().sent, 4);
    }
}
"#;
