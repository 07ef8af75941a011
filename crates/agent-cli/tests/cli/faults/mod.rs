//! Everything that can go wrong between the program and a model service, each against a server on loopback that
//! misbehaves as it is told: what is said, the exit code, and a session that is as it was.

mod answers;
mod cancel;
mod choice;
mod edges;
mod native;
mod orphans;
mod others;
mod overflow;
mod secrets;
mod transport;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use test_support::{FaultServer, Received, Reply, streams};

use crate::env::{BINARY, Output, SMALL, TestEnv};

/// A session whose older half is one request to a summarizer when 300 tokens are kept.
pub const PLAIN: &str = "u:400 a:400 u:400 a:400 u:600 a:100";

/// A summary as a model may write it.
pub const SUMMARY: &str = "## Goal\nKeep the tests green.\n\n## Next steps\n1. Run them.";

/// The key that every run has.
pub const KEY: &str = "sk-planted-0123456789";

/// Long enough for anything that happens at all, however busy the machine is.
pub const LONG: Duration = Duration::from_secs(30);

/// Makes an answer with a text.
type Stream = fn(&str) -> Reply;

/// The wires, and the answer with a text on each.
pub const WIRES: [(&str, Stream); 3] = [
    ("chat", streams::chat_stream),
    ("responses", streams::responses_stream),
    ("messages", streams::messages_stream),
];

/// A session, a server, and how the program is told to use them.
pub struct Bench {
    pub env: TestEnv,
    pub server: FaultServer,
    pub wire: &'static str,
    pub models: Vec<String>,
    url: Option<String>,
}

impl Bench {
    /// Returns a bench whose server does `script` on the Chat Completions wire.
    pub fn new(script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Self {
        let env = TestEnv::new();
        env.session("s.jsonl", PLAIN);
        Self {
            env,
            server: FaultServer::start(script),
            wire: "chat",
            models: vec!["test/alpha".to_owned()],
            url: None,
        }
    }

    /// Returns a bench whose server gives these replies in turn, the last one again and again.
    pub fn replying(replies: Vec<Reply>) -> Self {
        Self::new(move |nth, _| replies[nth.min(replies.len() - 1)].clone())
    }

    /// Returns the same on another wire.
    pub fn on(mut self, wire: &'static str) -> Self {
        self.wire = wire;
        self
    }

    /// Returns the same with another session.
    pub fn with_session(self, notation: &str) -> Self {
        self.env.session("s.jsonl", notation);
        self
    }

    /// Returns the same with these models.
    pub fn asking(mut self, models: &[&str]) -> Self {
        self.models = models.iter().map(|model| (*model).to_owned()).collect();
        self
    }

    /// Returns the same with another address than the server's.
    pub fn at(mut self, url: String) -> Self {
        self.url = Some(url);
        self
    }

    /// Returns the program with `arguments`, the models, and a key.
    pub fn asked(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(BINARY);
        command.args(arguments).args(SMALL);
        for model in &self.models {
            command.args(["--model", model]);
        }
        let url = self.url.clone().unwrap_or_else(|| self.server.url());
        command
            .args(["--base-url", &url, "--wire", self.wire])
            .args(["--api-key-env", "TEST_KEY"])
            .env("TEST_KEY", KEY);
        command
    }

    /// Returns a compaction in place that sends every request once and has no fallback, with `options`. Of an
    /// option that is given twice, the last one counts.
    pub fn compact(&self, options: &[&str]) -> Command {
        let mut command = self.asked(&["compact", "s.jsonl", "--in-place", "--json"]);
        command.args(["--set", "http.attempts=1"]);
        let given = |name: &str| options.contains(&name);
        if !given("--native") {
            command.args(["--native", "off"]);
        }
        if !given("--fallback") {
            command.args(["--fallback", "none"]);
        }
        command.args(options);
        command
    }

    /// Returns what a command gives, with the addresses and delays in it filtered.
    pub fn run(&self, command: &mut Command) -> Output {
        self.filtered(&self.env.output(command))
    }

    /// Returns the output with the address of the server and random delays filtered.
    pub fn filtered(&self, output: &Output) -> Output {
        let plain = |text: &str| {
            let text = text.replace(&self.server.url(), "[SERVER]");
            let text = match &self.url {
                Some(url) => text.replace(url, "[SERVER]"),
                None => text,
            };
            let mut plain = String::new();
            for line in text.split_inclusive('\n') {
                match line.split_once("; again in ") {
                    Some((said, _)) => plain.push_str(&format!("{said}; again in [DELAY]\n")),
                    None => plain.push_str(line),
                }
            }
            plain
        };
        Output {
            code: output.code,
            stdout: plain(&output.stdout),
            stderr: plain(&output.stderr),
        }
    }

    /// Runs a compaction in place that must fail as a provider's fault and change nothing; returns the kind of the
    /// fault and what is said on standard error.
    pub fn fails(&self, options: &[&str]) -> String {
        self.fails_as(&mut self.compact(options), 5, "provider")
    }

    /// Runs a command with `--json` that must fail with `code` and `kind` and change nothing.
    pub fn fails_as(&self, command: &mut Command, code: i32, kind: &str) -> String {
        let before = self.env.listing();
        let output = self.run(command);
        assert!(
            before == self.env.listing(),
            "the folder has changed: {:?}\n{output}",
            self.env.names()
        );
        said(&output, code, kind)
    }

    /// Runs a compaction in place that must succeed; returns its output. No lock is left.
    pub fn succeeds(&self, options: &[&str]) -> Output {
        let names = self.env.names();
        let output = self.run(&mut self.compact(options));
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(names, self.env.names(), "{output}");
        output
    }

    /// Returns what the summarizer wrote: the summary of the compaction without its ledger.
    pub fn prose(&self) -> String {
        let entry = self.compaction();
        compaction_core::prose_of(entry["summary"].as_str().unwrap_or_default())
    }

    /// Returns the last entry of the session, which must be a compaction.
    pub fn compaction(&self) -> Value {
        let entry = self.env.lines("s.jsonl").pop().expect("an entry");
        assert_eq!(entry["type"], "compaction", "{entry}");
        entry
    }

    /// Returns the bodies that the server received.
    pub fn bodies(&self) -> Vec<Value> {
        self.server.received().iter().map(Received::json).collect()
    }

    /// Returns how many requests the server received.
    pub fn count(&self) -> usize {
        self.server.received().len()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for request in self.server.received() {
                let found = orphans::orphans(&request.json());
                assert!(found.is_empty(), "{}: {found:?}", request.path);
            }
        }
    }
}

/// Checks the document of a failure and returns the kind of the provider's fault, if it is one, and standard error.
pub fn said(output: &Output, code: i32, kind: &str) -> String {
    assert_eq!(output.code, Some(code), "{output}");
    let error = &output.json()["error"];
    assert_eq!(error["kind"], kind, "{output}");
    assert_eq!(error["exit_code"], code, "{output}");
    let message = error["message"].as_str().unwrap_or_default();
    let last = output.stderr.lines().last().unwrap_or_default();
    assert_eq!(last, format!("error: {message}"), "{output}");
    match error["fault"].as_str() {
        Some(fault) => format!("[{fault}]\n{}", output.stderr),
        None => output.stderr.clone(),
    }
}

/// Starts a command whose output is kept.
pub fn spawn(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs")
}

/// Returns what `run` gives and how long it takes.
pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let given = run();
    (given, started.elapsed())
}

/// Returns the text of the one prompt of a request on the Chat Completions wire.
pub fn prompt(body: &Value) -> &str {
    let messages = body["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message");
    last["content"].as_str().expect("a text")
}
