//! Running `agent-cli -p` against a server: what it was asked, the events that it told, and the file that it left.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use llm_providers::ApiProtocol;
use serde_json::Value;

use super::provider::base;
use super::server::{MODEL, Server};
use crate::run::{Outcome, target, without_settings};

/// A running session: who answers, and where it is written.
pub struct Life<'a> {
    /// The program.
    pub program: &'a Path,
    /// Who answers.
    pub server: &'a Server,
    /// How it is asked.
    pub wire: ApiProtocol,
    /// The wire's name for options.
    pub wire_name: &'a str,
    /// The session's file, in a folder of its own.
    pub session: PathBuf,
}

/// What a run of the program gave.
pub struct ProgramRun {
    /// Its exit code.
    pub code: Option<i32>,
    /// Its events.
    pub events: Vec<Value>,
    /// What it wrote to standard error.
    pub errors: String,
}

/// An answer that was stopped in its middle.
pub struct Stopped {
    /// The run.
    pub run: ProgramRun,
    /// How long the program took to end.
    pub took: Duration,
}

impl<'a> Life<'a> {
    /// Returns a life without a session yet, in an empty folder of this name.
    pub fn new(
        program: &'a Path,
        server: &'a Server,
        (wire, wire_name): (ApiProtocol, &'a str),
        name: &str,
    ) -> Outcome<Self> {
        let folder = target().join("e2e-llm").join(name);
        let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
        std::fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self {
            program,
            server,
            wire,
            wire_name,
            session: folder.join("session.jsonl"),
        })
    }

    /// Lets the user say something; the program believes in a window of so many tokens.
    pub fn say(&self, prompt: &str, window: u32, more: &[&str]) -> Outcome<ProgramRun> {
        let output = self.command(prompt, window, more).output();
        let output = output.map_err(|error| self.cannot_run(&error))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let events = text.lines().map(event).collect::<Outcome<_>>()?;
        Ok(ProgramRun {
            code: output.status.code(),
            events,
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Lets the user say something, and stops the program (Ctrl-C) after so many pieces of the answer.
    pub fn stop(&self, prompt: &str, window: u32, pieces: usize) -> Outcome<Stopped> {
        let child = self.command(prompt, window, &[]).spawn();
        let mut child = child.map_err(|error| self.cannot_run(&error))?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut events = Vec::new();
        let mut stopped = None;
        let mut heard = 0;
        for line in BufReader::new(output).lines() {
            let event = event(&line.map_err(|error| error.to_string())?)?;
            heard += usize::from(event["type"] == "text_delta");
            events.push(event);
            if heard == pieces && stopped.is_none() {
                stopped = Some(Instant::now());
                interrupt(&child)?;
            }
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        let took = stopped.map(|at| at.elapsed());
        let mut errors = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            let read = stderr.read_to_string(&mut errors);
            read.map_err(|error| error.to_string())?;
        }
        let took = took.ok_or_else(|| format!("it ended after {heard} pieces: {errors}"))?;
        let said = ProgramRun {
            code: status.code(),
            events,
            errors,
        };
        Ok(Stopped { run: said, took })
    }

    fn command(&self, prompt: &str, window: u32, more: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        without_settings(&mut command)
            .args(["-p", prompt, "--mode", "json", "--tools", "none"])
            .args(["--system-prompt", "You take short notes."])
            .args(["--provider", "llama.cpp", "--model", MODEL])
            .args(["--base-url", &base(self.server, self.wire)])
            .args(["--wire", self.wire_name, "--window", &window.to_string()])
            .arg("--session")
            .arg(&self.session)
            .arg("--cwd")
            .arg(target())
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .current_dir(target());
        command
    }

    fn cannot_run(&self, error: &std::io::Error) -> String {
        format!("cannot run {}: {error}", self.program.display())
    }

    /// Opens the session again: nothing may be amiss in it. Returns what `inspect` says, and the file's entries.
    pub fn reopen(&self) -> Outcome<(Value, Vec<Value>)> {
        let output = without_settings(&mut Command::new(self.program))
            .args(["inspect", "--json"])
            .arg(&self.session)
            .output()
            .map_err(|error| self.cannot_run(&error))?;
        let seen = event(&String::from_utf8_lossy(&output.stdout))?;
        if output.status.code() != Some(0) || seen["diagnostics"] != Value::Array(Vec::new()) {
            let (code, diagnostics) = (output.status.code(), &seen["diagnostics"]);
            return Err(format!("inspect: exit {code:?}, {diagnostics}"));
        }
        let text = std::fs::read_to_string(&self.session)
            .map_err(|error| format!("{}: {error}", self.session.display()))?;
        let entries = text.lines().map(event).collect::<Outcome<_>>()?;
        Ok((seen, entries))
    }
}

impl ProgramRun {
    /// Returns the events of a type, each with its place.
    pub fn events_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (usize, &'a Value)> + 'a {
        let events = self.events.iter().enumerate();
        events.filter(move |(_, event)| event["type"] == kind)
    }

    /// Returns the newest answer, with its place.
    pub fn answer(&self) -> Outcome<(usize, &Value)> {
        let newest = self.events_of("answer").last();
        newest.ok_or_else(|| format!("no answer, exit {:?}: {}", self.code, self.errors))
    }

    /// Returns what was said of the only automatic compaction for `reason`, with its place. One for an answer that
    /// found no end is the model's affair.
    pub fn compaction(&self, reason: &str) -> Outcome<(usize, &Value)> {
        let ended = self.events_of("auto_compaction_end");
        let ended = ended.filter(|(_, event)| event["reason"] != "incomplete");
        let ended: Vec<_> = ended.collect();
        let started = self.events_of("auto_compaction_start").next();
        match (started, ended.as_slice()) {
            (Some((start, event)), [(end, ended)])
                if start < *end && event["reason"] == reason && ended["reason"] == reason =>
            {
                Ok((*end, ended))
            }
            _ => Err(format!(
                "{} compactions where one for {reason} was to come: {ended:?}; {}",
                ended.len(),
                self.errors
            )),
        }
    }

    /// Returns the pieces of the answer, joined.
    pub fn pieces(&self) -> String {
        let pieces = self.events_of("text_delta");
        pieces
            .filter_map(|(_, event)| event["text"].as_str())
            .collect()
    }
}

fn event(line: &str) -> Outcome<Value> {
    serde_json::from_str(line).map_err(|error| format!("no JSON ({error}): {line}"))
}

/// Does what Ctrl-C does.
fn interrupt(child: &Child) -> Outcome {
    let mut kill = Command::new("kill");
    crate::run::succeed(kill.args(["-INT", &child.id().to_string()]))
}
