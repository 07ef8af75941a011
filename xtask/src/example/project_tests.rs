//! Sources of the invented project, part tests: the integration tests and their fake collector.

/// `tests/collector.rs`: a scripted collector and the tests that need one.
pub const COLLECTOR: &str = r#"
//! A collector that answers from a script, and the delivery tests that use it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use logferry::{Config, ShipperBuilder};

/// What the collector answers to the n-th request; the last one repeats.
type Script = Vec<(u16, &'static str)>;

struct Collector {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Clone, Debug)]
struct Seen {
    path: String,
    key: String,
    bytes: usize,
}

impl Collector {
    fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/ingest", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let n = shared.lock().unwrap().len();
                let (status, headers) = script[n.min(script.len() - 1)];
                if let Some(request) = answer(stream, status, headers) {
                    shared.lock().unwrap().push(request);
                }
            }
        });
        Self { url, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, status: u16, headers: &str) -> Option<Seen> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_string();
    let (mut length, mut key) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let text = line.trim().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        if let Some(value) = text.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        if let Some(value) = text.strip_prefix("x-batch-key: ") {
            key = value.to_string();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status} X\r\n{headers}content-length: 0\r\nconnection: close\r\n\r\n").ok()?;
    Some(Seen { path, key, bytes: length })
}

fn ship(collector: &Collector, lines: &[&str]) -> logferry::Snapshot {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("app.log");
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    let config = dir.path().join("logferry.toml");
    let text = format!(
        "[input]\npaths = [\"{}\"]\ncheckpoint_dir = \"{}\"\nfrom_start = true\n[batch]\nmax_age_ms = 20\n[output]\nurl = \"{}\"\nretry_delay_ms = 5\n",
        log.display(),
        dir.path().display(),
        collector.url
    );
    std::fs::write(&config, text).unwrap();
    let shipper = ShipperBuilder::new(Config::load(&config).unwrap()).start().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    shipper.stop().unwrap()
}

#[test]
fn delivers_after_a_503() {
    let collector = Collector::start(vec![(503, ""), (202, "")]);
    assert_eq!(ship(&collector, &["one", "two"]).sent, 2);
    let seen = collector.seen();
    assert_eq!(seen[0].key, seen[1].key);
    assert!(seen[0].path.ends_with("/default") && seen[0].bytes > 0);
}

#[test]
fn delivers_after_a_429() {
    let collector = Collector::start(vec![(429, "retry-after: 1\r\n"), (202, "")]);
    assert_eq!(ship(&collector, &["one"]).dropped, 0);
}

#[test]
fn counts_what_it_drops() {
    let collector = Collector::start(vec![(400, "")]);
    assert_eq!(ship(&collector, &["one", "two", "three"]).dropped, 3);
}
"#;

/// `tests/end_to_end.rs`: config check and file round trip.
pub const END_TO_END: &str = r#"
//! Runs the daemon's binary: configuration check, exit codes.

use std::process::Command;

fn daemon(args: &[&str]) -> (i32, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_logferryd")).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.code().unwrap_or(-1), text)
}

#[test]
fn check_accepts_the_example() {
    let (code, text) = daemon(&["--config", "examples/logferry.toml", "--check"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("ok"));
}

#[test]
fn a_missing_file_is_exit_78() {
    let (code, text) = daemon(&["--config", "/nonexistent.toml", "--check"]);
    assert_eq!(code, 78);
    assert!(text.contains("No such file"));
}

#[test]
fn an_unknown_argument_is_exit_64() {
    assert_eq!(daemon(&["--frobnicate"]).0, 64);
}
"#;

/// `src/input/mod.rs`.
pub const INPUT_MOD: &str = r#"
//! Files: which, from where, and how far they were read.

pub(crate) mod checkpoint;
pub(crate) mod discover;
#[cfg(test)]
mod fixture;
pub(crate) mod tail;

#[cfg(test)]
pub(crate) use fixture::fixture;
"#;

/// `src/input/fixture.rs`: a log file in a temporary directory, for tests.
pub const FIXTURE: &str = r#"
//! A followed file in a temporary directory: rotation, truncation and saved positions for tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::input::checkpoint::{Checkpoints, Position};

pub(crate) struct Fixture {
    dir: tempfile::TempDir,
    log: PathBuf,
    settings: String,
}

pub(crate) fn fixture(text: &str) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("app.log");
    fs::write(&log, text).unwrap();
    Fixture { dir, log, settings: String::new() }
}

impl Fixture {
    pub fn multiline(mut self, mode: &str, idle_ms: u64) -> Self {
        self.settings = format!("[parse]\nmultiline = \"{mode}\"\nmultiline_idle_ms = {idle_ms}\n");
        self
    }

    pub fn config(&self, from_start: bool) -> Config {
        let dir = self.dir.path().display();
        let text = format!("[input]\nfrom_start = {from_start}\ncheckpoint_dir = \"{dir}\"\n{}", self.settings);
        Config::from_text(&text, std::iter::empty()).unwrap()
    }

    pub fn save_position(&self, offset: u64) {
        let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&self.log).unwrap());
        let mut saved = Checkpoints::open(self.dir.path()).unwrap();
        saved.set(&self.log, Position { inode, offset }).unwrap();
    }

    pub fn truncate_to(&mut self, text: &str) {
        fs::write(&self.log, text).unwrap();
    }

    /// Renames the file and starts a new one; returns the handle that a slow writer would still hold.
    pub fn rotate_with(&mut self, text: &str) -> File {
        let old = self.log.with_extension("1");
        fs::rename(&self.log, &old).unwrap();
        fs::write(&self.log, text).unwrap();
        File::options().append(true).open(old).unwrap()
    }

    pub fn path(&self) -> &Path {
        &self.log
    }
}
"#;

/// `src/pipeline/mod.rs`.
pub const PIPELINE_MOD: &str = r#"
//! From records to sealed batches.

pub(crate) mod batch;
pub(crate) mod route;
"#;

/// `src/output/mod.rs`.
pub const OUTPUT_MOD: &str = r#"
//! Where sealed batches go.

pub(crate) mod file;
pub(crate) mod http;
pub(crate) mod retry;
"#;
