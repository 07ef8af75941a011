//! `agent-cli -p`: what is printed and where, which session runs, how a run ends, and what it leaves behind.

mod approvals;
mod bad;
mod events;
mod fix;
mod foreign;
mod going_on;
#[cfg(unix)]
mod hooks;
mod instructions;
mod keys;
mod model;
mod small_windows;
mod stop;
mod text;
mod trust;
mod which;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use fix::{copy_of, files, with_toolchain};

use regex::Regex;

use crate::env::{BINARY, Output, TestEnv};

/// Answers twice.
pub const TWICE: &str = r#"{"script":1,"name":"twice","window":16000}
{"answer":{"text":"Hello."}}
{"answer":{"text":"Hello again."}}
"#;

/// A folder with the scripts of a test; sessions are kept in `data`, copies in `tmp`.
pub struct Runs {
    pub env: TestEnv,
}

impl Runs {
    /// Returns a folder with `script` as `script.jsonl`.
    pub fn of(script: &str) -> Self {
        let env = TestEnv::new();
        env.write("script.jsonl", script);
        std::fs::create_dir(env.path("tmp")).expect("a folder");
        Self { env }
    }

    /// Returns the program with the script and `arguments`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare(arguments);
        command.args(["--provider", "scripted:script.jsonl"]);
        command
    }

    /// Returns the program with `arguments` alone.
    pub fn bare(&self, arguments: &[&str]) -> Command {
        self.around(BINARY, arguments)
    }

    /// Returns any program in the folder and the environment of the others.
    pub fn around(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.env.command(program);
        command
            .args(arguments)
            .env("AGENT_CLI_SESSION_DIR", self.env.path("data"))
            .env("TMPDIR", self.env.path("tmp"));
        command
    }

    /// Plays the script with `arguments`.
    pub fn play(&self, arguments: &[&str]) -> Output {
        self.output(&mut self.command(arguments))
    }

    /// Runs the program with `arguments` alone.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.output(&mut self.bare(arguments))
    }

    /// Returns what a command gives, with everything filtered that is another one in each run.
    pub fn output(&self, command: &mut Command) -> Output {
        filtered(&self.env.output(command))
    }

    /// Returns every file below the folder with its bytes; the programs' own streams aside, nothing else is kept.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.env.folder(), self.env.folder(), &mut files);
        files
    }

    /// Returns what `run` gives, which must leave every file as it was, and make none.
    pub fn unchanged_by<T>(&self, run: impl FnOnce() -> T) -> T {
        let before = self.files();
        let given = run();
        let after = self.files();
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after));
        assert!(before == after, "a file has changed");
        given
    }

    /// Plays the script with `arguments`, which must be refused with `code` and change nothing; returns all that is
    /// said.
    pub fn refused(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.unchanged_by(|| self.play(arguments));
        checked(&output, code)
    }

    /// Returns the sessions below `data`, the first one first.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let files = self.files();
        let is_session = |name: &&String| {
            name.starts_with("data/")
                && name.ends_with(".jsonl")
                && !name.ends_with(".pending.jsonl")
        };
        let mut names: Vec<&String> = files.keys().filter(is_session).collect();
        names.sort_by_key(|name| name.rsplit('/').next());
        names.into_iter().map(|name| self.env.path(name)).collect()
    }

    /// Returns the only session below `data`.
    pub fn session(&self) -> PathBuf {
        let mut sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        sessions.remove(0)
    }

    /// Returns what was said in a session: roles and texts of the messages on its path.
    pub fn said(&self, session: &Path) -> String {
        let session = session.to_str().expect("a path");
        let messages = self.env.messages(session);
        let messages = messages.as_array().expect("a list").iter();
        let lines = messages
            .filter(|message| message["role"] != "system")
            .map(|message| {
                let text = message["text"].as_str().unwrap_or_default();
                format!("{}: {text}\n", message["role"].as_str().unwrap_or_default())
            });
        lines.collect()
    }
}

/// Returns standard error of a run that must have ended with `code` and printed nothing.
pub fn checked(output: &Output, code: i32) -> String {
    assert_eq!(output.code, Some(code), "{output}");
    assert_eq!(output.stdout, "", "{output}");
    output.stderr.trim_end().to_owned()
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("below the root");
        let name = name.to_string_lossy().into_owned();
        match path.is_dir() {
            true => {
                files.insert(format!("{name}/"), Vec::new());
                collect(root, &path, files);
            }
            // Whoever opens a pipe would wait.
            false if !path.is_file() => {
                files.insert(name, Vec::new());
            }
            false => {
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
}

/// Returns an output without ids, times, random names and figures that depend on the length of paths.
pub fn filtered(output: &Output) -> Output {
    Output {
        code: output.code,
        stdout: plain(&output.stdout),
        stderr: plain(&output.stderr),
    }
}

fn plain(text: &str) -> String {
    let rules = [
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "[SESSION]",
        ),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}\b", "[SESSION]"),
        (r"\d{4}-\d\d-\d\dT[\d-]+Z_", "[STAMP]_"),
        (r"data/[^/\s]+-[0-9a-f]{16}/", "data/[FOLDER]/"),
        (r"agent-cli-[A-Za-z0-9]{6}\b", "agent-cli-[COPY]"),
        (r"\b[0-9a-f]{8}\b", "[ID]"),
        (r"[\d.]+k? read, [\d.]+k? written", "[N] read, [N] written"),
        (r"[\d.]+k? -> [\d.]+k?", "[N] -> [N]"),
        (r"\b\d+\.\d+s\b", "[TIME]"),
        // Ids have more tokens or fewer, and leave room for more facts or less.
        (r"\b\d+% in context", "[N]% in context"),
        (r" -{3,}\n", " ---\n"),
        // A new tool changes no test of messages.
        (
            r"choose from read(?:, \w+)*?(, or|;)",
            "choose from [TOOLS]$1",
        ),
    ];
    let mut text = text.to_owned();
    for (pattern, name) in rules {
        let pattern = Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, name).into_owned();
    }
    text
}
