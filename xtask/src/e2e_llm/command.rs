//! What `agent-cli compact` makes of a real server, on each wire: the program itself, in a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use llm_providers::ApiProtocol;
use serde_json::Value;

use super::cases::{Case, LARGE, SMALL};
use super::provider::{WIRES, base};
use super::server::{MODEL, Server, Setup};
use super::session;
use crate::run::{Outcome, target, without_settings};

/// What the program says of an answer that is no summary: the model is to blame, and another try may give one.
const RAMBLING: [&str; 4] = [
    "the summary was cut off by its output cap",
    "the summary is empty",
    "the context would not get smaller",
    "the context would still exceed the window",
];

/// How often a model that rambles is asked in all.
const TRIES: usize = 3;

/// The window that the program is told of where the server's is smaller.
const TOO_LARGE: u32 = 1480;

/// Returns a compaction, one that must fold, and one whose summary is cut, for each wire.
pub fn cases(program: &Path) -> Vec<Case> {
    type Check = fn(&Run<'_>) -> Result<String, Trouble>;
    let checks: [(&str, u32, Check); 3] = [
        ("fold", SMALL, folds),
        ("compact", LARGE, compacts),
        ("cut", LARGE, is_cut),
    ];
    let cases = checks.into_iter().flat_map(|(check, context, run)| {
        WIRES.map(|(wire, wire_name)| {
            let name = format!("{check}-{wire_name}");
            let program = program.to_owned();
            Case {
                name: name.clone(),
                setup: Setup::notes(context),
                run: Box::new(move |server| {
                    again(|| {
                        run(&Run {
                            program: &program,
                            name: &name,
                            server,
                            wire,
                            wire_name,
                        })
                    })
                }),
            }
        })
    });
    cases.collect()
}

/// One run of a case.
struct Run<'a> {
    program: &'a Path,
    name: &'a str,
    server: &'a Server,
    wire: ApiProtocol,
    wire_name: &'a str,
}

/// What went wrong.
pub enum Trouble {
    /// The model wrote no summary that could be used. Another try may give one.
    Rambling(&'static str),
    /// Something that no other try would mend.
    Wrong(String),
}

impl From<String> for Trouble {
    fn from(text: String) -> Self {
        Self::Wrong(text)
    }
}

/// Returns what no other try would mend.
pub fn wrong<T>(text: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Wrong(text.into()))
}

/// Runs a case again where only the model is to blame, and says how often.
pub fn again(mut run: impl FnMut() -> Result<String, Trouble>) -> Outcome<String> {
    let mut rambled = Vec::new();
    loop {
        match run() {
            Ok(seen) if rambled.is_empty() => return Ok(seen),
            Ok(seen) => {
                let tries = rambled.len() + 1;
                return Ok(format!(
                    "{seen}; try {tries}, before: {}",
                    rambled.join("; ")
                ));
            }
            Err(Trouble::Wrong(what)) => return Err(what),
            Err(Trouble::Rambling(what)) => rambled.push(what),
        }
        if rambled.len() == TRIES {
            let tries = rambled.join("; ");
            return Err(format!("{TRIES} tries: {tries}"));
        }
    }
}

/// What a run of the program gave.
struct Done {
    code: Option<i32>,
    document: Value,
    errors: String,
}

impl Done {
    /// Returns the document of a compaction that a model wrote.
    fn compacted(self) -> Result<Value, Trouble> {
        let said = self.document["error"]["message"]
            .as_str()
            .or_else(|| self.document["nothing_to_do"].as_str())
            .unwrap_or_default()
            .to_owned();
        let rambling = RAMBLING.iter().find(|text| said.contains(**text));
        match (self.code, rambling) {
            (Some(0), _) => {}
            (Some(3 | 5), Some(what)) => return Err(Trouble::Rambling(what)),
            (code, _) => return wrong(format!("exit {code:?}: {said} {}", self.errors)),
        }
        let by = &self.document["model"]["answered_by"];
        match by == &Value::from(model()) {
            true => Ok(self.document),
            false => wrong(format!("it was answered by {by}")),
        }
    }
}

/// Returns the name of the model, as reports have it.
pub fn model() -> String {
    format!("llama.cpp/{MODEL}")
}

impl Run<'_> {
    /// Writes a session to a file of this case.
    fn session(&self, text: &str) -> Outcome<PathBuf> {
        self.server.keep(&format!("{}.jsonl", self.name), text)
    }

    /// Runs the program.
    fn program(&self, arguments: &[&str], session: &Path) -> Outcome<Done> {
        let output = without_settings(&mut Command::new(self.program))
            .args(arguments)
            .arg(session)
            .arg("--json")
            .stdin(Stdio::null())
            .current_dir(target())
            .output()
            .map_err(|error| format!("cannot run {}: {error}", self.program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let document =
            serde_json::from_str(&text).map_err(|error| format!("no JSON ({error}): {text}"))?;
        Ok(Done {
            code: output.status.code(),
            document,
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Compacts a session by the model.
    fn compact(&self, session: &Path, window: u32, fallback: &str, more: &[&str]) -> Outcome<Done> {
        let (base, model) = (base(self.server, self.wire), model());
        let window = window.to_string();
        let arguments = [
            "compact",
            "--in-place",
            "--model",
            &model,
            "--base-url",
            &base,
            "--wire",
            self.wire_name,
            "--window",
            &window,
            "--fallback",
            fallback,
            // The last question and its answer.
            "--set",
            "compaction.keepRecentTokens=30",
        ];
        self.program(&[&arguments, more].concat(), session)
    }

    /// Opens the session again: the newest entry must be a compaction by the model, and nothing be amiss.
    fn reopen(&self, session: &Path, summary: &Value) -> Result<(), Trouble> {
        let seen = self.program(&["inspect"], session)?;
        if seen.code != Some(0) || seen.document["diagnostics"] != Value::Array(Vec::new()) {
            let diagnostics = &seen.document["diagnostics"];
            return wrong(format!("inspect: exit {:?}, {diagnostics}", seen.code));
        }
        let text = read(session)?;
        let last = text.lines().next_back().unwrap_or_default();
        let entry: Value = serde_json::from_str(last).map_err(|error| error.to_string())?;
        for heading in ["## Goal\n", "\n## Next Steps\n"] {
            if !summary.as_str().is_some_and(|text| text.contains(heading)) {
                return wrong(format!("no {heading:?} in {summary}"));
            }
        }
        let summarizer = &entry["details"]["summarizer"];
        let by = serde_json::json!({"by": "model", "provider": "llama.cpp", "model": MODEL});
        if entry["type"] != "compaction" || *summarizer != by || entry["summary"] != *summary {
            return wrong(format!("the entry that was written: {entry}"));
        }
        Ok(())
    }
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Says how large the context is before and after, and what the model took.
fn figures(document: &Value) -> String {
    let model = &document["model"];
    let words = document["summary"].as_str().unwrap_or_default();
    let words = words.split_whitespace().count();
    let usage = |names: &[&str]| -> u64 {
        let figures = names.iter().map(|name| model["usage"][*name].as_u64());
        figures.map(Option::unwrap_or_default).sum()
    };
    format!(
        "{} to {} tokens, a summary of {words} words, {} requests, {} retries, {} tokens read and {} written",
        document["estimated_tokens_before"],
        document["tokens_after"],
        model["requests_sent"],
        model["retries"],
        usage(&["input", "cache_read", "cache_write"]),
        usage(&["output"]),
    )
}

/// Compacts twelve messages.
fn compacts(run: &Run<'_>) -> Result<String, Trouble> {
    let session = run.session(&session::twelve())?;
    // A cap that leaves room for a model that does not stop soon.
    let reserve = ["--set", "compaction.reserveTokens=640"];
    let done = run.compact(&session, LARGE, "none", &reserve)?;
    let document = done.compacted()?;
    run.reopen(&session, &document["summary"])?;
    Ok(figures(&document))
}

/// Compacts what the server cannot take in one request, with a window that promises that it can.
fn folds(run: &Run<'_>) -> Result<String, Trouble> {
    let session = run.session(&session::twenty())?;
    let document = run.compact(&session, TOO_LARGE, "none", &[])?.compacted()?;
    let folds = document["model"]["folds"].as_u64().unwrap_or_default();
    if folds == 0 {
        return wrong(format!("nothing was folded: {}", document["model"]));
    }
    run.reopen(&session, &document["summary"])?;
    Ok(format!("{folds} folds, {}", figures(&document)))
}

/// Has every summary cut by a cap that holds none: asked once more, then a failure that leaves the session alone,
/// or an extractive summary where that is allowed.
fn is_cut(run: &Run<'_>) -> Result<String, Trouble> {
    let text = session::twelve();
    let session = run.session(&text)?;
    let own = format!(
        "models.\"{}\"={{\"window\":{LARGE},\"maxOutput\":8}}",
        model()
    );
    let cap = ["--set", own.as_str()];
    let failed = run.compact(&session, LARGE, "none", &cap)?;
    let said = failed.document["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if failed.code != Some(5) || !said.contains(RAMBLING[0]) {
        return wrong(format!("exit {:?}: {said} {}", failed.code, failed.errors));
    }
    if read(&session)? != text {
        return wrong("a failed compaction has changed the session");
    }
    let extractive = run.compact(&session, LARGE, "extractive", &cap)?;
    let report = &extractive.document["model"];
    let retries = report["retries"].as_u64().unwrap_or_default();
    let kind = &report["failed"][0]["kind"];
    // So short a session may be shorter than what is kept of it word by word.
    let is_short = extractive.errors.contains("would not get smaller");
    let is_done = extractive.code == Some(if is_short { 3 } else { 0 });
    if !is_done || retries == 0 || kind != "no_summary" {
        return wrong(format!(
            "exit {:?}: {report} {}",
            extractive.code, extractive.errors
        ));
    }
    if !report["answered_by"].is_null() {
        return wrong(format!("a cut summary was taken: {report}"));
    }
    Ok(format!(
        "{}: exit 5, session unchanged; with a fallback {retries} retry, then extractive",
        RAMBLING[0]
    ))
}
