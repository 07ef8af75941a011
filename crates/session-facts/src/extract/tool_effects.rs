//! What a single call does: change files, run a command, set todos, read.

use serde_json::Value;
use session_model::{ToolCall, json::RawJson};

use crate::file_call::{FileAction, changes_files, file_call, file_calls, plain_tool_name};

use super::facts::FileWork;
use super::files::{file_works, patch_works};
use super::text::one_line;
use super::todos::is_todo_tool;

/// The longest command that is shown, in characters.
const COMMAND: usize = 160;
/// How much of one is looked at for that.
const LOOKED_AT: usize = 4000;

/// What a call does.
pub(super) enum ToolEffect<'a> {
    /// It changes files.
    Files(Vec<FileWork>),
    /// It runs a command, in a folder where that is said.
    Run {
        command: String,
        dir: Option<String>,
    },
    /// It sets or changes a list of todos.
    Todos(&'a RawJson),
    /// All of a file was read.
    Read(String),
}

/// Returns the deed of a call that reads all of a file.
pub(super) fn whole_read(call: &ToolCall) -> Option<ToolEffect<'_>> {
    let (FileAction::Read, path) = file_call(call)? else {
        return None;
    };
    let arguments = call.arguments.as_ref()?.to_value();
    let parts = [
        "offset",
        "limit",
        "start_line",
        "end_line",
        "startLine",
        "endLine",
    ];
    let part = parts.iter().any(|key| arguments.get(key).is_some());
    (!part).then(|| ToolEffect::Read(one_line(&path, usize::MAX)))
}

/// Returns what a call that changes files ticks off: `- [x] text`.
pub(super) fn ticked(call: &ToolCall) -> Vec<String> {
    const MOST: usize = 64;
    let Some(arguments) = &call.arguments else {
        return Vec::new();
    };
    if !arguments.get().contains("[x] ") {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut open = vec![arguments.to_value()];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                let items = text
                    .lines()
                    .filter_map(|line| line.trim().strip_prefix("- [x] "));
                found.extend(items.map(|item| one_line(item, 200)));
            }
            Value::Array(values) => open.extend(values),
            // What was there before is not ticked now.
            Value::Object(members) => open.extend(
                members
                    .into_iter()
                    .filter(|(key, _)| !key.starts_with("old"))
                    .map(|(_, value)| value),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found.truncate(MOST);
    found
}

/// Returns a command as it is shown: lines that are commands of their own stand behind `; `.
pub(super) fn show_command(command: &str) -> String {
    // What is cut off is not looked at.
    let head = command.trim().char_indices().nth(LOOKED_AT);
    let head = head.map_or(command.trim(), |(at, _)| &command.trim()[..at]);
    let shown = match head.contains('\n') && !head.contains("<<") {
        true => one_line(&lines_apart(head), COMMAND),
        false => one_line(head, COMMAND),
    };
    shown.replace('`', "'")
}

/// Returns a script with its lines joined as a shell reads them.
fn lines_apart(script: &str) -> String {
    let mut joined = String::new();
    let (mut quote, mut escaped) = (None, false);
    for letter in script.chars() {
        match (quote, letter) {
            (_, '\n') if escaped => drop(joined.pop()),
            (None, '\n') => {
                let open = ["&&", "||", "|", ";", "&", "{", "(", " then", " do", " else"];
                let before = joined.trim_end();
                let ends = before.is_empty() || open.iter().any(|end| before.ends_with(end));
                let ends = ends || matches!(before, "then" | "do" | "else");
                joined.push_str(if ends { " " } else { "; " });
                continue;
            }
            (None, '\'' | '"') if !escaped => quote = Some(letter),
            (Some(open), _) if open == letter && !escaped => quote = None,
            _ => {}
        }
        escaped = letter == '\\' && !escaped && quote != Some('\'');
        joined.push(if letter == '\n' { ' ' } else { letter });
    }
    joined
}

/// Returns a few words on what a call does.
pub(super) fn describe(call: &ToolCall) -> String {
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

/// Returns whether a tool of this name shows files or searches them: what it gives back says nothing of what was done.
pub fn only_reads(name: &str) -> bool {
    matches!(
        plain_tool_name(name).as_str(),
        "read" | "view" | "ls" | "grep" | "glob" | "find" | "readfile"
    )
}

/// Returns what a call does, as far as it counts.
pub(super) fn deed(call: &ToolCall) -> Option<ToolEffect<'_>> {
    let arguments = call.arguments.as_ref()?;
    if is_todo_tool(&call.name) {
        return Some(ToolEffect::Todos(arguments));
    }
    if only_reads(&call.name) {
        return None;
    }
    if changes_files(&call.name) {
        let works = file_works(&arguments.to_value(), &file_calls(call));
        return works.map(ToolEffect::Files);
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
        return Some(ToolEffect::Files(patch_works(&command)));
    }
    let command = command
        .strip_prefix("bash -lc ")
        .or_else(|| command.strip_prefix("bash -c "))
        .unwrap_or(&command);
    let dirs = ["workdir", "cwd", "working_directory", "directory"];
    let dir = dirs.iter().find_map(|key| arguments.get(key)?.as_str());
    Some(ToolEffect::Run {
        command: show_command(command),
        dir: dir.map(str::to_owned),
    })
}
