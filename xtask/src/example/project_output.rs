//! Sources of the invented project, part output: HTTP client, retry loop and file output before the rework.

/// `src/output/http.rs`: sends sealed batches.
pub const HTTP: &str = r#"
//! Sends sealed batches to the collector: one POST per batch, the route name appended to the URL.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::write::GzEncoder;
use flate2::Compression;

use crate::config::Output;
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::output::retry;
use crate::pipeline::batch::Batch;

const GZIP_ABOVE: usize = 1024;

pub(crate) struct Client {
    agent: ureq::Agent,
    url: String,
    retries: u32,
    delay: Duration,
    gzip: bool,
}

impl Client {
    pub fn new(config: &Output) -> Result<Self> {
        if config.url.is_empty() {
            return Err(Error::config("output.url", "missing"));
        }
        let agent = ureq::AgentBuilder::new()
            .timeout(Duration::from_millis(config.timeout_ms))
            .user_agent(concat!("logferry/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            agent,
            url: config.url.trim_end_matches('/').to_string(),
            retries: config.retries,
            delay: Duration::from_millis(config.retry_delay_ms),
            gzip: config.gzip,
        })
    }

    /// Sends one batch. A batch that cannot be sent is counted as dropped and forgotten.
    pub fn send(&self, batch: &Batch, metrics: &Metrics) -> Result<()> {
        let started = Instant::now();
        let body = self.encode(&batch.body())?;
        let outcome = retry::run(self.retries, self.delay, || self.post(batch, &body));
        match outcome {
            Ok(()) => {
                metrics.sent(batch.records() as u64, started.elapsed());
                Ok(())
            }
            Err(Error::Http { status, body }) => {
                metrics.dropped(batch.records() as u64);
                eprintln!("output::http: status={status} lost_records={} {body}", batch.records());
                Ok(())
            }
            Err(error) => {
                metrics.dropped(batch.records() as u64);
                Err(error)
            }
        }
    }

    fn post(&self, batch: &Batch, body: &Encoded) -> Result<()> {
        let mut request = self
            .agent
            .post(&format!("{}/{}", self.url, batch.route()))
            .set("content-type", "application/x-ndjson")
            .set("x-batch-key", &batch.key());
        if body.gzip {
            request = request.set("content-encoding", "gzip");
        }
        match request.send_bytes(&body.bytes) {
            Ok(_) => Ok(()),
            Err(ureq::Error::Status(status, response)) => {
                let body = response.into_string().unwrap_or_default();
                Err(Error::Http { status, body })
            }
            Err(ureq::Error::Transport(t)) => Err(Error::Transport(t.to_string())),
        }
    }

    fn encode(&self, bytes: &[u8]) -> Result<Encoded> {
        if !self.gzip || bytes.len() <= GZIP_ABOVE {
            return Ok(Encoded { bytes: bytes.to_vec(), gzip: false });
        }
        let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
        encoder.write_all(bytes).map_err(|e| Error::Transport(e.to_string()))?;
        let bytes = encoder.finish().map_err(|e| Error::Transport(e.to_string()))?;
        Ok(Encoded { bytes, gzip: true })
    }
}

struct Encoded {
    bytes: Vec<u8>,
    gzip: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Output;

    fn config(url: &str) -> Output {
        Output { url: url.into(), timeout_ms: 500, retries: 1, retry_delay_ms: 1, gzip: true }
    }

    #[test]
    fn an_empty_url_is_refused() {
        let error = Client::new(&config("")).err().unwrap();
        assert_eq!(error.to_string(), "config key output.url: missing");
    }

    #[test]
    fn small_bodies_stay_plain() {
        let client = Client::new(&config("http://127.0.0.1:1/")).unwrap();
        assert!(!client.encode(&[b'x'; 1024]).unwrap().gzip);
        assert!(client.encode(&[b'x'; 1025]).unwrap().gzip);
    }
}
"#;

/// `src/output/retry.rs`: a fixed pause between attempts.
pub const RETRY: &str = r#"
//! Retries an operation with a fixed pause.

use std::thread::sleep;
use std::time::Duration;

use crate::error::{Error, Result};

/// Runs `attempt` once, then at most `retries` times more.
pub(crate) fn run(retries: u32, delay: Duration, mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
    let mut left = retries;
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(error) if left == 0 || !worth_retrying(&error) => return Err(error),
            Err(_) => {
                left -= 1;
                sleep(delay);
            }
        }
    }
}

fn worth_retrying(error: &Error) -> bool {
    match error {
        Error::Http { status, .. } => *status >= 500,
        Error::Transport(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_up_after_the_last_retry() {
        let mut calls = 0;
        let result = run(2, Duration::ZERO, || {
            calls += 1;
            Err(Error::Transport("reset".into()))
        });
        assert!(result.is_err());
        assert_eq!(calls, 3);
    }

    #[test]
    fn client_errors_are_final() {
        let mut calls = 0;
        let _ = run(5, Duration::ZERO, || {
            calls += 1;
            Err(Error::Http { status: 413, body: String::new() })
        });
        assert_eq!(calls, 1);
    }
}
"#;

/// `src/output/file.rs`: the local output used in tests and dry runs.
pub const FILE: &str = r#"
//! Writes batches to a local file instead of a collector (`output.url = "file:///path"`).

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::pipeline::batch::Batch;

pub(crate) struct FileOutput {
    path: PathBuf,
    out: BufWriter<File>,
    written: u64,
    rotate_at: u64,
}

impl FileOutput {
    pub fn open(path: &Path, rotate_at: u64) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|e| Error::io(path, e))?;
        let written = file.metadata().map_err(|e| Error::io(path, e))?.len();
        Ok(Self { path: path.to_path_buf(), out: BufWriter::new(file), written, rotate_at })
    }

    pub fn send(&mut self, batch: &Batch) -> Result<()> {
        let body = batch.body();
        self.out.write_all(&body).map_err(|e| Error::io(&self.path, e))?;
        self.out.flush().map_err(|e| Error::io(&self.path, e))?;
        self.written += body.len() as u64;
        if self.written >= self.rotate_at {
            self.rotate()?;
        }
        Ok(())
    }

    fn rotate(&mut self) -> Result<()> {
        let old = self.path.with_extension("1");
        std::fs::rename(&self.path, &old).map_err(|e| Error::io(&self.path, e))?;
        *self = Self::open(&self.path.clone(), self.rotate_at)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotates_at_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.ndjson");
        let mut out = FileOutput::open(&path, 10).unwrap();
        out.send(&Batch::of_lines("default", &["{\"a\":1}", "{\"b\":2}"])).unwrap();
        assert!(dir.path().join("out.1").exists());
    }
}
"#;
