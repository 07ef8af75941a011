//! Tests the program with a real server: conversations that overflow, are compacted, and are stopped.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use llm_providers::ApiProtocol;
use serde_json::{Value, json};

use super::Case;
use super::provider::{WIRES, base, freed};
use super::server::{MODEL, Server, Setup};
use crate::run::{Outcome, output, succeed, target, without_settings};

/// The window of the server.
const WINDOW: u32 = 4096;

/// The window that the program believes in where only the server knows how small it is.
const BELIEVED: u32 = 100_000;

/// The time limit for a stopped program to end.
const PROMPT: Duration = Duration::from_secs(1);

/// After how many pieces of its answer it is stopped.
const PIECES: usize = 5;

/// Returns a conversation, which takes a minute, and an answer that is stopped in each protocol.
pub fn cases(program: &Path) -> Outcome<Vec<Case>> {
    let folder = target().join("e2e-llm");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    type Check = fn(&Life<'_>) -> Outcome<String>;
    let case = |check: &str, setup, wire: (ApiProtocol, &'static str), run: Check| {
        let name = format!("{check}-{}", wire.1);
        let session = folder.join(format!("{name}.jsonl"));
        let program = program.to_owned();
        let run = move |server: &Server| {
            let _ = std::fs::remove_file(&session);
            run(&Life {
                program: &program,
                server,
                wire,
                session: session.clone(),
            })
        };
        Case {
            name,
            setup,
            run: Box::new(run),
        }
    };
    let mut cases = vec![case("overflow-live", Setup::notes(WINDOW), WIRES[0], lives)];
    cases.extend(WIRES.map(|wire| case("cancel-live", Setup::free(WINDOW), wire, is_stopped)));
    Ok(cases)
}

/// A running session: its server and its file.
struct Life<'a> {
    program: &'a Path,
    server: &'a Server,
    wire: (ApiProtocol, &'a str),
    session: PathBuf,
}

impl Life<'_> {
    /// Returns a command of the program that uses the server.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        without_settings(&mut command)
            .args(arguments)
            .args(["--model", &format!("llama.cpp/{MODEL}")])
            .args(["--base-url", &base(self.server, self.wire.0)])
            .args(["--wire", self.wire.1])
            .stdin(Stdio::null())
            .current_dir(target());
        command
    }

    /// Returns the command that sends a message of the user; the program is configured with a window of so many tokens.
    fn saying(&self, prompt: &str, window: u32) -> Command {
        let window = window.to_string();
        let (system, session) = ("You take short notes.", self.session.to_string_lossy());
        let run = ["-p", prompt, "--mode", "json", "--tools", "none"];
        let with = ["--system-prompt", system, "--window", &window];
        let at = [
            "--session",
            &session,
            "--set",
            "compaction.keepRecentTokens=50",
        ];
        self.command(&[&run[..], &with, &at].concat())
    }

    /// Sends a message of the user, which must be answered, and returns the events.
    fn say(&self, prompt: &str) -> Outcome<Vec<Value>> {
        let text = output(&mut self.saying(prompt, BELIEVED))?;
        text.lines().map(parse).collect()
    }

    /// Opens the session again, in which nothing may be amiss, and returns its entries.
    fn entries(&self) -> Outcome<Vec<Value>> {
        let mut inspect = Command::new(self.program);
        let inspect = inspect.args(["inspect", "--json"]).arg(&self.session);
        let seen = parse(&output(without_settings(inspect))?)?;
        if seen["diagnostics"] != json!([]) {
            return Err(format!("inspect says {}", seen["diagnostics"]));
        }
        crate::run::read(&self.session)?
            .lines()
            .map(parse)
            .collect()
    }
}

fn parse(line: &str) -> Outcome<Value> {
    serde_json::from_str(line).map_err(|error| format!("no JSON ({error}): {line}"))
}

fn of_type<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

/// A conversation of two turns. The second does not fit, which only the server knows: it refuses, the conversation is
/// summarized by the model or, if that rambles, by an outline, and the request is repeated. Then the session is
/// compacted once more by a command.
fn lives(life: &Life<'_>) -> Outcome<String> {
    life.say(&list("network", 70))?;
    let events = life.say(&list("disk", 185))?;
    let answers: Vec<_> = of_type(&events, "answer").collect();
    let refused = answers.first().is_some_and(|answer| {
        let error = answer["error"].as_str().unwrap_or_default();
        error.starts_with("context overflow: ")
    });
    let last = answers.last().ok_or("no answer")?;
    if !refused || !last["error"].is_null() || last["text"].as_str().is_none_or(str::is_empty) {
        return Err(format!(
            "no overflow that was answered in the end: {answers:?}"
        ));
    }
    let compacted = of_type(&events, "auto_compaction_end").find(|end| end["reason"] == "overflow");
    let result = &compacted.ok_or("the session was not compacted")?["result"];
    let entries = life.entries()?;
    let failed = &answers[0]["entry_id"];
    let edit = |entry: &&Value| entry["type"] == "context_edit" && entry["targetId"] == *failed;
    if !entries.iter().any(|entry| entry["id"] == *failed) || !entries.iter().any(|it| edit(&it)) {
        return Err(format!(
            "the refused answer {failed} is not kept out of the context"
        ));
    }
    let file = life.session.to_string_lossy();
    let keep = ["--set", "compaction.keepRecentTokens=50"];
    let compact = ["compact", &file, "--dry-run", "--json"];
    let limits = ["--window", "4096", "--fallback", "extractive"];
    let arguments = [&compact[..], &limits, &keep].concat();
    let again = parse(&output(&mut life.command(&arguments))?)?;
    Ok(format!(
        "refused, {} to {} tokens by {}, answered; {} to {} by {}",
        result["tokens_before"],
        result["tokens_after"],
        result["summarizer"],
        again["estimated_tokens_before"],
        again["tokens_after"],
        again["model"]["answered_by"].as_str().unwrap_or("quoting"),
    ))
}

/// Stops the program in the middle of an answer: it ends immediately, keeps the partial answer, and the server is free.
fn is_stopped(life: &Life<'_>) -> Outcome<String> {
    let mut command = life.saying("Tell a long story about a river.", WINDOW);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let (mut said, mut pieces, mut stopped) = (String::new(), 0, None);
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
    {
        let event = parse(&line.map_err(|error| error.to_string())?)?;
        if event["type"] != "text_delta" {
            continue;
        }
        said.push_str(event["text"].as_str().unwrap_or_default());
        pieces += 1;
        if pieces == PIECES {
            stopped = Some(Instant::now());
            succeed(Command::new("kill").args(["-INT", &child.id().to_string()]))?;
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let took = stopped.map_or(Duration::MAX, |at| at.elapsed());
    if status.code() != Some(130) || took > PROMPT {
        let mut errors = String::new();
        let _ = child
            .stderr
            .take()
            .map(|mut from| from.read_to_string(&mut errors));
        return Err(format!("{status} after {took:?}: {errors}"));
    }
    let freed = freed(life.server)?;
    let entries = life.entries()?;
    let kept = &entries.last().ok_or("an empty session")?["message"];
    if kept["stopReason"] != "aborted" || kept["content"][0]["text"] != said.as_str() {
        return Err(format!("what is kept of {said:?}: {kept}"));
    }
    Ok(format!(
        "exit 130 in {took:.0?} with {said:?} kept, the server answers another in {freed:.1?}"
    ))
}

/// Returns a prompt of so many lines, each of about 16 tokens of the model.
fn list(name: &str, lines: usize) -> String {
    let line = |number: usize| {
        let (seconds, times) = (number * 7 % 31, number % 5);
        format!("{name}.{number}: wait {seconds} s, try {times} times\n")
    };
    let lines: String = (0..lines).map(line).collect();
    format!("These are the settings of the {name}:\n{lines}Take a few notes of them.")
}
