//! What a call does, as its arguments tell in the dialects of several agents.

use serde_json::{Map, Value};
use session_model::ToolCall;
use session_model::json::RawJson;

use crate::file_call::{FileAction, file_call};

/// Names of the argument that is a command.
pub const COMMANDS: [&str; 3] = ["command", "cmd", "script"];

/// Names of the arguments that are the old and the new text of an edit.
const EDITS: [(&str, &str); 6] = [
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("search", "replace"),
    ("old", "new"),
];

/// Names of the argument that is the text of a file.
const TEXTS: [&str; 4] = ["content", "text", "file_text", "contents"];

/// What a call does.
#[derive(Debug, Clone, PartialEq)]
pub enum CallBody {
    /// It runs a command line.
    Command(String),
    /// It looks at a file.
    Read {
        /// The file.
        path: String,
    },
    /// It writes a file anew.
    Write {
        /// The file.
        path: String,
        /// What is written.
        text: String,
    },
    /// It changes a file.
    Edit {
        /// The file.
        path: String,
        /// The texts that go, each with the one that comes in its place.
        edits: Vec<(String, String)>,
    },
    /// Something else.
    Other(Map<String, Value>),
    /// There are no arguments, or they are no object.
    Nothing,
}

impl CallBody {
    /// Returns what a call does.
    pub fn of(call: &ToolCall) -> Self {
        let Some(Value::Object(mut arguments)) = call.arguments.as_ref().map(RawJson::to_value)
        else {
            return Self::Nothing;
        };
        match file_call(call) {
            None => match taken(&mut arguments, &COMMANDS) {
                Some(command) => Self::Command(command),
                None => Self::Other(arguments),
            },
            Some((FileAction::Read, path)) => Self::Read { path },
            Some((FileAction::Write, path)) => match taken(&mut arguments, &TEXTS) {
                Some(text) => Self::Write { path, text },
                None => Self::Other(arguments),
            },
            Some((FileAction::Edit, path)) => match edits(&arguments) {
                edits if edits.is_empty() => Self::Other(arguments),
                edits => Self::Edit { path, edits },
            },
        }
    }
}

/// Takes the first of the members that is a string.
fn taken(arguments: &mut Map<String, Value>, names: &[&str]) -> Option<String> {
    let is_text = |name: &&&str| arguments.get(**name).is_some_and(Value::is_string);
    let name = names.iter().find(is_text)?;
    match arguments.remove(*name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn edits(arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let single = std::iter::once(arguments);
    let several = arguments.get("edits").and_then(Value::as_array);
    let several = several.into_iter().flatten().filter_map(Value::as_object);
    let pairs = single.chain(several).filter_map(|edit| {
        EDITS.iter().find_map(|(old, new)| {
            let string = |key: &str| edit.get(key).and_then(Value::as_str).map(str::to_owned);
            string(old).zip(string(new))
        })
    });
    pairs.collect()
}
