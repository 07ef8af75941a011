//! The names that the tools of several agents give their arguments. No other module names one.

use serde_json::Value;

/// Arguments that hold a command line, or its words.
pub(crate) const COMMANDS: [&str; 4] = ["command", "cmd", "script", "commandLine"];
/// Arguments that name the folder of a command.
pub(crate) const FOLDERS: [&str; 4] = ["workdir", "cwd", "working_directory", "directory"];
/// Arguments that hold a patch or a program.
pub(crate) const INPUTS: [&str; 3] = ["input", "patch", "patchText"];
/// Arguments that hold the whole text of a file.
pub(crate) const TEXTS: [&str; 6] = [
    "content",
    "contents",
    "file_text",
    "text",
    "newContent",
    "CodeContent",
];
/// Arguments that hold the text to replace, each with the one for the text in its place.
pub(crate) const EDITS: [(&str, &str); 6] = [
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("search", "replace"),
    ("old", "new"),
];
/// Arguments with which an edit replaces every occurrence.
pub(crate) const ALL: [&str; 3] = ["all", "replace_all", "replaceAll"];
/// The argument that lists edits.
pub(crate) const EDIT_LIST: &str = "edits";
/// The argument at which reading begins, and those with which a part of a file is read.
pub(crate) const OFFSET: &str = "offset";
pub(crate) const PARTS: [&str; 9] = [
    "limit",
    "start_line",
    "end_line",
    "startLine",
    "endLine",
    "line_start",
    "line_end",
    "view_range",
    "pages",
];
/// Arguments of todo tools that hold a list, and the members of an item that hold its text.
pub(crate) const TODO_LISTS: [&str; 9] = [
    "todos",
    "items",
    "plan",
    "tasks",
    "todoList",
    "todo_list",
    "phases",
    "ops",
    "list",
];
pub(crate) const TODO_TEXTS: [&str; 7] = [
    "text",
    "content",
    "step",
    "title",
    "description",
    "task",
    "name",
];

/// How the plain name of an argument ends that names a file, or several.
const PATHS: [&str; 7] = [
    "path", "paths", "file", "files", "filename", "filepath", "uri",
];

/// Returns whether an argument of this name holds the path of a file: `file_path`, `TargetFile`.
pub(crate) fn names_file(argument: &str) -> bool {
    let plain = argument.chars().filter(|c| c.is_alphanumeric());
    let plain = plain.collect::<String>().to_lowercase();
    PATHS.iter().any(|end| plain.ends_with(end)) && plain != "profile" && !plain.starts_with("old")
}

/// Returns the first of these members that is a text.
pub(crate) fn text_of<'a>(arguments: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| arguments.get(*name)?.as_str())
}

/// Returns what a shell is to run: a text, or the last of a list of words.
pub(crate) fn command_text(value: &Value) -> Option<&str> {
    match value {
        Value::Array(words) => words.last()?.as_str(),
        value => value.as_str(),
    }
}
