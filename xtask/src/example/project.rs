//! The invented project `logferry`: its file list at the start of the session, and its small top-level files.

use super::vfs::Vfs;
use super::{project_config as config, project_input as input, project_output as output};
use super::{project_parse as parse, project_pipeline as pipeline, project_tests as tests};

/// The working tree at the start of the session.
pub fn tree() -> Vfs {
    Vfs::new(&[
        ("Cargo.toml", CARGO),
        ("AGENTS.md", AGENTS),
        ("docs/configuration.md", DOCS),
        ("examples/logferry.toml", EXAMPLE_TOML),
        ("src/lib.rs", LIB),
        ("src/main.rs", MAIN),
        ("src/error.rs", ERROR),
        ("src/config/mod.rs", config::MOD),
        ("src/config/env.rs", config::ENV),
        ("src/input/mod.rs", tests::INPUT_MOD),
        ("src/input/fixture.rs", tests::FIXTURE),
        ("src/input/tail.rs", input::TAIL),
        ("src/input/checkpoint.rs", input::CHECKPOINT),
        ("src/input/discover.rs", input::DISCOVER),
        ("src/output/mod.rs", tests::OUTPUT_MOD),
        ("src/output/http.rs", output::HTTP),
        ("src/output/retry.rs", output::RETRY),
        ("src/output/file.rs", output::FILE),
        ("src/parse/mod.rs", parse::MOD),
        ("src/parse/logfmt.rs", parse::LOGFMT),
        ("src/parse/multiline.rs", parse::MULTILINE),
        ("src/parse/syslog.rs", parse::SYSLOG),
        ("src/pipeline/mod.rs", tests::PIPELINE_MOD),
        ("src/pipeline/batch.rs", pipeline::BATCH),
        ("src/pipeline/route.rs", pipeline::ROUTE),
        ("src/metrics.rs", pipeline::METRICS),
        ("tests/end_to_end.rs", tests::END_TO_END),
        ("tests/collector.rs", tests::COLLECTOR),
    ])
}

const CARGO: &str = r#"
[package]
name = "logferry"
version = "0.9.4"
edition = "2021"
rust-version = "1.76"
license = "Apache-2.0"
description = "Ships log files to an HTTP collector without losing lines"

[lib]
name = "logferry"

[[bin]]
name = "logferryd"
path = "src/main.rs"

[dependencies]
flate2 = "1.0"
serde = { version = "1.0", features = ["derive"] }
serde_json = "1.0"
toml = "0.8"
ureq = { version = "2.9", default-features = false, features = ["tls"] }

[dev-dependencies]
criterion = "0.5"
tempfile = "3.10"

[[bench]]
name = "parse"
harness = false

[profile.release]
lto = "thin"
"#;

const AGENTS: &str = r#"
# Working on logferry

- The daemon is `logferryd` (src/main.rs); everything else is the library. Two other services link the library.
- Threads, no async runtime. One thread per input file, one per route, one for metrics.
- Errors are `error::Error`; no `unwrap` outside tests and `main`.
- `cargo test --offline` must pass before a commit. CI also runs clippy with `-D warnings`.
- Benchmarks live in `benches/parse.rs` and run on the lab box only.
- Commit subjects: `area: what changed`, at most 60 characters.
- A record is never dropped without a counter going up in `metrics`.
"#;

const DOCS: &str = r#"
# Configuration

logferryd reads one TOML file (default `/etc/logferry/logferry.toml`, or `--config PATH`). Environment variables that
start with `LOGFERRY_` override single keys, with two underscores between section and key:
`LOGFERRY_OUTPUT__URL=https://collector.internal/v1/ingest`.

## `[input]`

| key | default | meaning |
|---|---|---|
| `paths` | required | glob patterns of files to follow |
| `exclude` | `[]` | glob patterns that are never followed |
| `poll_ms` | `250` | how often a file without new data is looked at |
| `checkpoint_dir` | `/var/lib/logferry` | where read positions are kept |
| `from_start` | `false` | read a new file from its first byte |

## `[parse]`

| key | default | meaning |
|---|---|---|
| `format` | `"auto"` | `json`, `logfmt`, `syslog`, `raw` or `auto` |
| `multiline` | `"off"` | `off`, `indent` or `java` |
| `multiline_idle_ms` | `500` | a started record is closed after this silence |
| `max_record_bytes` | `65536` | longer records are cut and marked |

## `[batch]`

| key | default | meaning |
|---|---|---|
| `max_bytes` | `524288` | a batch is sealed at this size |
| `max_age_ms` | `2000` | or at this age |

## `[output]`

| key | default | meaning |
|---|---|---|
| `url` | required | collector endpoint; the route name is appended |
| `timeout_ms` | `10000` | per request, connect included |
| `retries` | `3` | attempts after the first one |
| `retry_delay_ms` | `1000` | fixed pause between attempts |
| `gzip` | `true` | compress bodies above 1024 bytes |

## `[[route]]`

Each route has a `name`, an optional `match` (field = value pairs, all must hold) and an optional `drop = true`. The
first route that matches wins; a record that none matches goes to the route `default`.
"#;

const EXAMPLE_TOML: &str = r#"
[input]
paths = ["/var/log/app/*.log", "/var/log/nginx/access.log"]
exclude = ["/var/log/app/*.gz"]
checkpoint_dir = "/var/lib/logferry"

[parse]
format = "auto"
multiline = "indent"

[batch]
max_bytes = 524288
max_age_ms = 2000

[output]
url = "https://collector.internal/v1/ingest"
retries = 3
retry_delay_ms = 1000

[[route]]
name = "audit"
match = { stream = "audit" }

[[route]]
name = "noise"
match = { level = "trace" }
drop = true
"#;

const LIB: &str = r#"
//! Ships log files to an HTTP collector. The public surface is [`Shipper`] and [`ShipperBuilder`]; the rest is private.

mod config;
mod error;
mod input;
mod metrics;
mod output;
mod parse;
mod pipeline;

pub use config::Config;
pub use error::{Error, Result};
pub use metrics::Snapshot;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::JoinHandle;

/// A running shipper. Dropping it stops all threads without flushing; call [`Shipper::stop`] to flush.
pub struct Shipper {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<()>>>,
    metrics: Arc<metrics::Metrics>,
}

/// Starts a [`Shipper`] from a configuration.
pub struct ShipperBuilder {
    config: Config,
}

impl ShipperBuilder {
    pub fn new(config: Config) -> Self {
        Self { config }
    }

    /// Starts one thread per input file and one per route.
    pub fn start(self) -> Result<Shipper> {
        let stop = Arc::new(AtomicBool::new(false));
        let metrics = Arc::new(metrics::Metrics::default());
        let (records_tx, records_rx) = mpsc::sync_channel(4096);
        let mut threads = Vec::new();
        for path in input::discover::matching(&self.config.input)? {
            let tail = input::tail::Tail::open(&path, &self.config)?;
            threads.push(tail.spawn(records_tx.clone(), stop.clone(), metrics.clone()));
        }
        drop(records_tx);
        let router = pipeline::route::Router::new(&self.config.routes);
        threads.push(pipeline::batch::spawn(
            records_rx,
            router,
            output::http::Client::new(&self.config.output)?,
            self.config.batch.clone(),
            metrics.clone(),
        ));
        Ok(Shipper { stop, threads, metrics })
    }
}

impl Shipper {
    /// Counters since the start.
    pub fn snapshot(&self) -> Snapshot {
        self.metrics.snapshot()
    }

    /// Stops reading, sends what is batched, and waits for all threads.
    pub fn stop(mut self) -> Result<Snapshot> {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| Error::Panicked)??;
        }
        Ok(self.metrics.snapshot())
    }
}
"#;

const MAIN: &str = r#"
use std::path::PathBuf;
use std::process::ExitCode;

use logferry::{Config, ShipperBuilder};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let mut path = PathBuf::from("/etc/logferry/logferry.toml");
    let mut check = false;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--config" => match args.next() {
                Some(value) => path = value.into(),
                None => return usage("--config needs a path"),
            },
            "--check" => check = true,
            other => return usage(&format!("unknown argument {other}")),
        }
    }
    let config = match Config::load(&path) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("logferryd: {}: {error}", path.display());
            return ExitCode::from(78);
        }
    };
    if check {
        println!("{}: ok", path.display());
        return ExitCode::SUCCESS;
    }
    match ShipperBuilder::new(config).start() {
        Ok(shipper) => {
            wait_for_signal();
            match shipper.stop() {
                Ok(last) => {
                    eprintln!("logferryd: stopped, sent={} dropped={}", last.sent, last.dropped);
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("logferryd: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => {
            eprintln!("logferryd: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("logferryd: {problem}\nusage: logferryd [--config PATH] [--check]");
    ExitCode::from(64)
}

fn wait_for_signal() {
    let (tx, rx) = std::sync::mpsc::channel::<()>();
    std::mem::forget(tx);
    let _ = rx.recv();
}
"#;

const ERROR: &str = r#"
//! The one error type of the library.

use std::fmt;
use std::path::PathBuf;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    Io { path: PathBuf, source: std::io::Error },
    Config { key: String, problem: String },
    Http { status: u16, body: String },
    Transport(String),
    Panicked,
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Io { path: path.into(), source }
    }

    pub(crate) fn config(key: &str, problem: impl Into<String>) -> Self {
        Error::Config { key: key.to_string(), problem: problem.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Error::Config { key, problem } => write!(f, "config key {key}: {problem}"),
            Error::Http { status, body } => write!(f, "collector answered {status}: {body}"),
            Error::Transport(message) => write!(f, "transport: {message}"),
            Error::Panicked => write!(f, "a worker thread panicked"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
"#;
