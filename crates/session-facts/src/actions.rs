//! What the calls of a session did for certain: files changed, commands with their outcome, commits.

use std::collections::BTreeMap;

use session_model::text::one_line;
use session_model::{AgentMessage, CallEvent, match_calls, without_private};

use crate::commands::{CommandRole, role_of};
use crate::commits::commits;
use crate::outcome::{Outcome, outcome};
use crate::shell::{Joint, Program, programs, within};
use crate::shell_files::{FileAction, files_of_programs};
use crate::source::SourceMessage;
use crate::tool_call::{CommandLine, effects_of};

/// The longest command that is shown, in characters.
const COMMAND: usize = 120;

/// Something that a call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The index of the message that makes the call, among those that were given.
    pub message: usize,
    /// What it did.
    pub kind: ActionKind,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionKind {
    /// It changed a file; one that was only read is no action.
    File {
        /// How.
        action: FileAction,
        /// The path, as the call spells it.
        path: String,
    },
    /// It ran a command.
    Command(CommandRun),
    /// It made a commit.
    Commit {
        /// The hash that git printed.
        hash: String,
        /// The subject, on one line.
        subject: String,
    },
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    /// The command as it is shown: on one line; long ones are cut.
    pub text: String,
    /// Where it begins with a change of folder: that folder, and the command behind it.
    pub changes_to: Option<(String, String)>,
    /// The same for two runs of one command in one folder, however its output is shortened.
    pub key: String,
    /// What it is for.
    pub role: CommandRole,
}

/// Returns what the calls in `messages` did, in their order. A call that failed changed no file.
pub fn actions(messages: &[SourceMessage]) -> Vec<Action> {
    let said = messages
        .iter()
        .map(|source| CallEvent::from(&*source.message));
    let results = match_calls(said);
    let mut found = Vec::new();
    for (message, source) in messages.iter().enumerate() {
        if let AgentMessage::BashExecution(run) = &*source.message {
            let line = CommandLine {
                text: run.command.clone(),
                folder: None,
            };
            let printed = Printed {
                output: &without_private(&run.output),
                is_error: run.exit_code.is_some_and(|code| code != 0),
            };
            of_command(message, &line, Some(&printed), &mut found);
            continue;
        }
        for call in source.message.tool_calls() {
            let effects = effects_of(call);
            if effects
                .files
                .iter()
                .all(|(action, _)| *action == FileAction::Read)
                && effects.commands.is_empty()
            {
                continue;
            }
            let result = results.get(&(message, call.id.as_str()));
            let result = result.and_then(|at| match &*messages[*at].message {
                AgentMessage::ToolResult(result) => Some(result),
                _ => None,
            });
            let output = result.map(|result| result.content.joined("\n"));
            let output = output.as_deref().map(without_private);
            let printed = result
                .zip(output.as_deref())
                .map(|(result, output)| Printed {
                    output,
                    is_error: result.is_error,
                });
            let outcome = printed
                .as_ref()
                .map_or(Outcome::Unknown, Printed::of_a_file_tool);
            for (action, path) in effects.files {
                if action != FileAction::Read {
                    let kind = ActionKind::File { action, path };
                    let outcome = outcome.clone();
                    found.push(Action {
                        message,
                        kind,
                        outcome,
                    });
                }
            }
            for line in &effects.commands {
                of_command(message, line, printed.as_ref(), &mut found);
            }
        }
    }
    found
}

/// Returns the commands whose last run failed, by the index of that action among `actions`, oldest first. What only looks
/// at something blocks nothing and is not among them.
pub fn failing(actions: &[Action]) -> Vec<usize> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, action) in actions.iter().enumerate() {
        if let ActionKind::Command(run) = &action.kind
            && run.role != CommandRole::Looks
            && action.outcome != Outcome::Unknown
        {
            last.insert(&run.key, at);
        }
    }
    let is_failed = |at: &usize| matches!(actions[*at].outcome, Outcome::Failed { .. });
    let mut failing: Vec<usize> = last.into_values().filter(is_failed).collect();
    failing.sort_unstable();
    failing
}

/// What came back from a call.
struct Printed<'a> {
    output: &'a str,
    is_error: bool,
}

impl Printed<'_> {
    /// Returns how a call of a tool for files ended. Some agents mark no error, but begin the result with that word.
    fn of_a_file_tool(&self) -> Outcome {
        let start = self.output.trim_start();
        let says_error = ["Error", "error:", "<tool_use_error>"]
            .iter()
            .any(|word| start.starts_with(word));
        outcome(self.output, self.is_error || says_error, false, false)
    }
}

/// Adds what a command line did.
fn of_command(
    message: usize,
    line: &CommandLine,
    printed: Option<&Printed<'_>>,
    found: &mut Vec<Action>,
) {
    let public = CommandLine {
        text: without_private(&line.text).into_owned(),
        folder: line.folder.clone(),
    };
    let line = &public;
    let programs = programs(&line.text);
    let roles: Vec<CommandRole> = programs.iter().map(role_of).collect();
    let main = main_program(&roles);
    let role = main.map_or(CommandRole::Other, |at| roles[at]);
    let later = main.map_or(&[][..], |at| &programs[at + 1..]);
    // Only `&&` hands an exit code on.
    let is_hidden = later.iter().any(|program| program.joint != Joint::And);
    let is_check = matches!(role, CommandRole::Tests | CommandRole::Checks);
    let outcome = match printed {
        Some(printed) => outcome(printed.output, printed.is_error, is_hidden, is_check),
        None => Outcome::Unknown,
    };
    let has_failed = matches!(outcome, Outcome::Failed { .. });
    found.push(Action {
        message,
        kind: ActionKind::Command(CommandRun {
            text: shown(&line.text),
            changes_to: change_of_folder(&line.text),
            key: key(line, &programs, &roles),
            role,
        }),
        outcome: outcome.clone(),
    });
    if !has_failed {
        let files = files_of_programs(&programs).into_iter();
        for (action, path) in files.filter(|(action, _)| *action != FileAction::Read) {
            let path = within(line.folder.as_deref(), &path);
            let kind = ActionKind::File { action, path };
            let outcome = outcome.clone();
            found.push(Action {
                message,
                kind,
                outcome,
            });
        }
    }
    let output = printed.map_or("", |printed| printed.output);
    for (hash, subject) in commits(&programs, output) {
        let kind = ActionKind::Commit { hash, subject };
        let outcome = outcome.clone();
        found.push(Action {
            message,
            kind,
            outcome,
        });
    }
}

/// Returns the index of the program that a command line is run for: the last that tests or checks, else the last that does
/// more than look.
fn main_program(roles: &[CommandRole]) -> Option<usize> {
    let last = |wanted: &[CommandRole]| roles.iter().rposition(|role| wanted.contains(role));
    last(&[CommandRole::Tests])
        .or_else(|| last(&[CommandRole::Checks]))
        .or_else(|| last(&[CommandRole::Other]))
        .or_else(|| roles.len().checked_sub(1))
}

/// Returns what two runs of one command share: its programs, each with its folder, without those that only look or
/// shorten the output.
fn key(line: &CommandLine, programs: &[Program], roles: &[CommandRole]) -> String {
    let work = programs
        .iter()
        .zip(roles)
        .filter(|(_, role)| **role != CommandRole::Looks);
    let texts: Vec<String> = work
        .map(|(program, _)| {
            let place = match (&line.folder, &program.folder) {
                (of, Some(place)) => Some(within(of.as_deref(), place)),
                (of, None) => of.clone(),
            };
            place.map_or_else(String::new, |place| place + ": ") + &program.text()
        })
        .collect();
    match texts.is_empty() {
        true => one_line(&line.text, COMMAND),
        false => texts.join(" && "),
    }
}

/// Returns a command as it is shown.
fn shown(line: &str) -> String {
    match line.trim().split_once('\n') {
        Some((first, _)) => format!("{} …", one_line(first, COMMAND)),
        None => one_line(line, COMMAND),
    }
}

/// Returns the folder that a line changes to before anything else, and the command behind it as it is shown.
fn change_of_folder(line: &str) -> Option<(String, String)> {
    let (folder, rest) = line.trim().strip_prefix("cd ")?.split_once(" && ")?;
    let folder = folder.trim_matches(['"', '\'']);
    let is_plain = !folder.contains(['\n', ';', '|']);
    is_plain.then(|| (folder.to_owned(), shown(rest)))
}

#[cfg(test)]
mod tests;
