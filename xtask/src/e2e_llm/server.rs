//! A running model server: started, waited for, asked over plain HTTP, and ended with its handle.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{self, Answer};
use super::install::Installed;
use crate::run::{Outcome, root, target};

/// The model's name in requests.
pub const MODEL: &str = "smollm2-135m";

/// How long a start may take.
const START: Duration = Duration::from_secs(120);

/// How a server is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setup {
    /// The size of its context window, in tokens.
    pub context: u32,
    /// Whether every answer has the headings of a summary and a short line under each. Left to itself, a model
    /// this small seldom finds the end of one.
    pub notes: bool,
}

impl Setup {
    /// Returns a server with a context of so many tokens, whose model writes as it likes.
    pub const fn free(context: u32) -> Self {
        Self {
            context,
            notes: false,
        }
    }

    /// Returns the same, with answers that have the form of a summary.
    pub const fn notes(context: u32) -> Self {
        Self {
            context,
            notes: true,
        }
    }
}

/// A model server of our own on loopback. It ends when this is dropped, and also when this process dies:
/// it lives only as long as the pipe to its stdin.
pub struct Server {
    child: Child,
    port: u16,
    setup: Setup,
    log: PathBuf,
}

impl Server {
    /// Starts a server and waits until it answers; a port of 0 is any free one.
    pub fn start(installed: &Installed, setup: Setup, port: u16) -> Outcome<Self> {
        let port = match port {
            0 => free_port()?,
            port => port,
        };
        let threads = std::thread::available_parallelism().map_or(2, |count| count.get().min(8));
        let Setup { context, notes } = setup;
        let log = installed.home.join(format!("server-{context}.log"));
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let child = Command::new(&installed.python)
            .arg(&installed.serve)
            .arg(&installed.model)
            .args([port.to_string(), context.to_string(), threads.to_string()])
            .arg(MODEL)
            .args(notes.then(|| root().join("xtask/e2e-llm/notes.gbnf")))
            // Without it the threads of OpenMP spin at each barrier; on a busy machine with few cores
            // that costs more than all the rest.
            .env("GOMP_SPINCOUNT", "0")
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", installed.python.display()))?;
        let mut server = Self {
            child,
            port,
            setup,
            log,
        };
        server.wait_until_healthy()?;
        Ok(server)
    }

    fn wait_until_healthy(&mut self) -> Outcome {
        let until = Instant::now() + START;
        while Instant::now() < until {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the server ended ({status}):\n{}", self.log_tail()));
            }
            // 503 while the model loads.
            if self.get("/health").is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let seconds = START.as_secs();
        Err(format!(
            "the server does not answer after {seconds} s:\n{}",
            self.log_tail()
        ))
    }

    fn log_tail(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Returns `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns how the server is set up.
    pub const fn setup(&self) -> Setup {
        self.setup
    }

    /// Asks for a path.
    pub fn get(&self, path: &str) -> Outcome<Answer> {
        http::ask(self.port, "GET", path, None)
    }

    /// Sends JSON to a path.
    pub fn post(&self, path: &str, body: &Value) -> Outcome<Answer> {
        http::ask(self.port, "POST", path, Some(body))
    }

    /// Returns how many tokens the model sees in a text, by its own tokenizer.
    pub fn count_tokens(&self, text: &str) -> Outcome<usize> {
        let answer = self.post("/tokenize", &json!({"content": text}))?;
        let tokens = answer.json()?["tokens"].as_array().map(Vec::len);
        tokens.ok_or_else(|| format!("no tokens in {}", answer.text()))
    }

    /// Writes what was seen to a file of the build, for a later look, and returns its path.
    pub fn keep(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let folder = target().join("e2e-llm");
        let path = folder.join(name);
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Waits until the server ends by itself.
    pub fn wait(&mut self) -> Outcome {
        // Not `Child::wait`, which would close the pipe that keeps the server alive.
        loop {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(200)),
                Ok(Some(status)) => {
                    return Err(format!("the server ended ({status}):\n{}", self.log_tail()));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns a port that was free a moment ago.
fn free_port() -> Outcome<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("cannot bind loopback: {error}"))
}
