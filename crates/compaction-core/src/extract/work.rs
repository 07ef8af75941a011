//! What was done: commands that failed or passed, and the calls whose success counts.

use std::collections::BTreeMap;

use serde_json::Value;
use session_model::{BashExecution, ToolCall, ToolResultMessage};

use super::command::{Command, is_check};
use super::facts::{Facts, Failure, FileWork, Item};
use super::files::{file_works, patch_works};
use super::signals::{Outcome, judge};
use super::text::one_line;
use super::todos::{TodoList, is_todo_tool, plain_name};

/// The longest command that is shown, in characters.
const COMMAND: usize = 160;
/// How many commands that passed, or failed and stayed so, are remembered while scanning.
const REMEMBERED: usize = 64;

enum Deed {
    Files(Vec<FileWork>),
    Run(String),
    Todos(Value),
}

struct Call {
    deed: Deed,
    failed: bool,
}

/// The calls of a span of messages, gathered one message at a time.
#[derive(Default)]
pub(super) struct Works {
    calls: Vec<Call>,
    pending: BTreeMap<String, usize>,
    passed: Vec<(Command, Item)>,
    /// Failures, each with how many requests there had been.
    failures: Vec<(usize, Command, Failure)>,
    succeeded: Vec<String>,
    requests: usize,
    /// What the newest calls did, one line each.
    last: Vec<String>,
}

impl Works {
    /// Notes a call; `broken` when its answer ended in an error or was stopped.
    pub(super) fn call(&mut self, call: &ToolCall, broken: bool) {
        self.last.push(describe(call));
        if let Some(deed) = deed(call) {
            self.pending.insert(call.id.clone(), self.calls.len());
            self.calls.push(Call {
                deed,
                failed: broken,
            });
        }
    }

    /// Notes that the user asked for something.
    pub(super) fn request(&mut self) {
        self.requests += 1;
    }

    /// Notes that a new answer starts, so that `last_steps` speaks of the newest only.
    pub(super) fn start_answer(&mut self) {
        self.last.clear();
    }

    /// Returns what the newest answer's calls did.
    pub(super) fn last_steps(&self) -> String {
        self.last.join("; ")
    }

    /// Notes what a tool gave back.
    pub(super) fn result(&mut self, result: &ToolResultMessage, id: &str) {
        let Some(at) = self.pending.remove(&result.tool_call_id) else {
            return;
        };
        let call = &mut self.calls[at];
        call.failed = result.is_error;
        if let Deed::Run(command) = &call.deed {
            let command = command.clone();
            let text = result.content.joined_text("\n");
            self.ran(&command, &judge(&text, result.is_error), id);
        }
    }

    /// Notes a command that the user ran.
    pub(super) fn user_ran(&mut self, run: &BashExecution, id: &str) {
        if run.cancelled || run.exclude_from_context {
            return;
        }
        let command = show_command(&run.command);
        let failed = run.exit_code.is_some_and(|code| code != 0);
        let mut outcome = judge(&run.output, failed);
        if let Outcome::Failed { exit, .. } = &mut outcome {
            *exit = run.exit_code.filter(|code| *code != 0).or(*exit);
        }
        self.ran(&command, &outcome, id);
    }

    fn ran(&mut self, text: &str, outcome: &Outcome, id: &str) {
        let command = Command::new(text);
        if command.only_looks() {
            return;
        }
        self.passed
            .retain(|(earlier, _)| !earlier.is_same(&command));
        let id = id.to_owned();
        match outcome {
            Outcome::Denied => {}
            Outcome::Passed => {
                self.failures
                    .retain(|(_, failed, _)| !command.settles(failed));
                let text = text.to_owned();
                self.succeeded.push(text.clone());
                if is_check(&text) {
                    self.passed.push((command, Item { text, id }));
                }
            }
            Outcome::Failed { exit, lines } => {
                self.failures
                    .retain(|(_, failed, _)| !failed.is_same(&command));
                let failure = Failure {
                    command: text.to_owned(),
                    exit: *exit,
                    lines: lines.clone(),
                    id,
                };
                self.failures.push((self.requests, command, failure));
            }
        }
        let excess = self.passed.len().saturating_sub(REMEMBERED);
        self.passed.drain(..excess);
        let excess = self.failures.len().saturating_sub(REMEMBERED);
        self.failures.drain(..excess);
    }

    /// Writes what was gathered into `facts`.
    pub(super) fn into_facts(mut self, facts: &mut Facts) {
        let mut files: BTreeMap<String, (usize, FileWork)> = BTreeMap::new();
        let mut todos = TodoList::default();
        for (order, call) in self.calls.into_iter().enumerate() {
            if call.failed {
                continue;
            }
            match call.deed {
                Deed::Run(_) => {}
                Deed::Todos(arguments) => todos.apply(&arguments),
                Deed::Files(works) => {
                    for work in works {
                        let earlier = files.remove(&work.path).map(|(_, earlier)| earlier);
                        let path = work.path.clone();
                        let work = earlier
                            .map_or_else(|| work.clone(), |earlier| earlier.then(work.clone()));
                        files.insert(path, (order, work));
                    }
                }
            }
        }
        let mut files: Vec<_> = files.into_values().collect();
        files.sort_by_key(|(order, _)| *order);
        facts.add_works(files.into_iter().map(|(_, work)| work).collect());
        todos.write(facts);
        facts.passed = self.passed.into_iter().map(|(_, item)| item).collect();
        // A command that checks nothing and failed two requests ago blocks nobody any more.
        let requests = self.requests;
        let failures = self.failures.into_iter();
        let failures =
            failures.filter(|(at, _, failure)| is_check(&failure.command) || requests < at + 2);
        facts.failures = failures.map(|(_, _, failure)| failure).collect();
        self.succeeded.sort_unstable();
        self.succeeded.dedup();
        facts.succeeded = self.succeeded;
    }
}

fn show_command(command: &str) -> String {
    one_line(&command.replace('`', "'"), COMMAND)
}

/// Returns a few words on what a call does.
fn describe(call: &ToolCall) -> String {
    let Some(arguments) = &call.arguments else {
        return call.name.clone();
    };
    let keys = [
        "path",
        "file_path",
        "command",
        "cmd",
        "pattern",
        "query",
        "url",
    ];
    let what = keys.iter().find_map(|key| arguments.string_member(key));
    match what {
        Some(what) => format!("{} `{}`", call.name, one_line(&what.replace('`', "'"), 80)),
        None => call.name.clone(),
    }
}

fn deed(call: &ToolCall) -> Option<Deed> {
    let arguments = call.arguments.as_ref()?;
    if is_todo_tool(&call.name) {
        return Some(Deed::Todos(arguments.to_value()));
    }
    let name = plain_name(&call.name);
    match name.as_str() {
        "read" | "view" | "ls" | "grep" | "glob" | "find" | "readfile" => return None,
        _ => {}
    }
    let writes = [
        "write", "edit", "replace", "patch", "create", "insert", "update", "diff", "notebook",
    ];
    if writes.iter().any(|word| name.contains(word)) {
        return file_works(&arguments.to_value()).map(Deed::Files);
    }
    let arguments = arguments.to_value();
    let command = ["command", "cmd", "script"]
        .iter()
        .find_map(|key| arguments.get(key))?;
    let command = match command {
        Value::String(text) => text.clone(),
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    if command.contains("*** Begin Patch") {
        return Some(Deed::Files(patch_works(&command)));
    }
    let command = command
        .strip_prefix("bash -lc ")
        .or_else(|| command.strip_prefix("bash -c "))
        .unwrap_or(&command);
    Some(Deed::Run(show_command(command)))
}
