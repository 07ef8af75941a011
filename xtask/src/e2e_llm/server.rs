//! A running model server, which ends with its handle.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::install::Installed;
use crate::run::{Outcome, root};

/// The model's name in requests.
pub const MODEL: &str = "smollm2-135m";

/// The time limit for a start.
const START: Duration = Duration::from_secs(120);

/// The options of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setup {
    /// The size of its context window, in tokens.
    context: u32,
    /// True if every answer is forced to have the headings of a summary and a short line under each. Without that, a
    /// model this small seldom ends its answer.
    notes: bool,
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

/// A model server of our own on loopback. It ends when this is dropped, and also when this process dies: it lives only
/// as long as the pipe to its stdin.
pub struct Server {
    child: Child,
    port: u16,
    setup: Setup,
    log: PathBuf,
}

impl Server {
    /// Starts a server on a free port and waits until it answers.
    pub fn start(installed: &Installed, setup: Setup) -> Outcome<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| format!("cannot bind loopback: {error}"))?
            .port();
        let threads = std::thread::available_parallelism().map_or(2, |count| count.get().min(8));
        let Setup { context, notes } = setup;
        let log = installed.home.join(format!("server-{context}.log"));
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let child = Command::new(&installed.python)
            .arg(root().join("xtask/e2e-llm/serve.py"))
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
        let until = Instant::now() + START;
        while !server.is_healthy() {
            if Instant::now() > until {
                return Err(server.ended_error("does not answer"));
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(server.ended_error(&format!("ended ({status})")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// Returns true if the server has loaded its model.
    fn is_healthy(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        ask().is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
    }

    fn ended_error(&self, what: &str) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        format!("the server {what}:\n{}", String::from_utf8_lossy(&log))
    }

    /// Returns `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns how the server is set up.
    pub const fn setup(&self) -> Setup {
        self.setup
    }

    /// Waits until the server ends by itself.
    pub fn wait(&mut self) -> Outcome {
        // Not `Child::wait`, which would close the pipe that keeps the server alive.
        loop {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(200)),
                Ok(Some(status)) => return Err(self.ended_error(&format!("ended ({status})"))),
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
