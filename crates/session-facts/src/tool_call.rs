//! What a call does, as its name and its arguments say in the dialects of several agents.

use serde_json::{Map, Value};
use session_model::ToolCall;
use session_model::json::{Members, RawJson};

use crate::arguments::{
    COMMANDS, EDIT_LIST, EDITS, FOLDERS, INPUTS, TEXTS, command_text, names_file, text_of,
};
use crate::code_mode::{self, PATCH};
use crate::shell_files::{FileAction, shell_files};

/// Words in the plain names of tools that look at files, of those that write one anew, and of those that look at
/// something else.
const READS: [&str; 5] = ["read", "view", "open", "getfile", "cat"];
const WRITES: [&str; 3] = ["write", "create", "save"];
const OTHERS: [&str; 3] = ["todo", "dir", "folder"];
const LISTS: [&str; 3] = ["list", "tree", "search"];

/// Words in the plain names of tools that change files.
const CHANGES: [&str; 9] = [
    "write", "edit", "replace", "patch", "create", "insert", "update", "diff", "notebook",
];

/// Tools of several agents whose argument `command` says what they do.
const EDITORS: [&str; 3] = ["strreplaceeditor", "strreplacebasededittool", "fswrite"];

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
        let Some(Value::Object(arguments)) = call.arguments.as_ref().map(RawJson::to_value) else {
            return Self::Nothing;
        };
        let arguments = Value::Object(arguments);
        let body = match file_call(call) {
            None => text_of(&arguments, &COMMANDS).map(|command| Self::Command(command.to_owned())),
            Some((FileAction::Write, path)) => {
                text_of(&arguments, &TEXTS).map(|text| Self::Write {
                    path,
                    text: text.to_owned(),
                })
            }
            Some((FileAction::Edit, path)) => match edits(&arguments) {
                edits if edits.is_empty() => None,
                edits => Some(Self::Edit { path, edits }),
            },
            Some((FileAction::Read | FileAction::Delete, path)) => Some(Self::Read { path }),
        };
        match (body, arguments) {
            (Some(body), _) => body,
            (None, Value::Object(arguments)) => Self::Other(arguments),
            (None, _) => Self::Nothing,
        }
    }
}

fn edits(arguments: &Value) -> Vec<(String, String)> {
    let several = arguments.get(EDIT_LIST).and_then(Value::as_array);
    let all = std::iter::once(arguments).chain(several.into_iter().flatten());
    let pairs = all.filter_map(|edit| {
        EDITS.iter().find_map(|(old, new)| {
            let string = |key: &str| edit.get(key).and_then(Value::as_str).map(str::to_owned);
            string(old).zip(string(new))
        })
    });
    pairs.collect()
}

/// Returns the name of a tool without the server that offers it, in lower case, letters and digits only.
pub fn plain_tool_name(name: &str) -> String {
    let own = name.rsplit("__").next().unwrap_or(name);
    let own = own.rsplit(['.', '/', ':']).next().unwrap_or(own);
    let plain = own.chars().filter(|c| c.is_alphanumeric());
    plain.collect::<String>().to_lowercase()
}

/// Returns whether a tool changes the file that its arguments name, whatever agent it belongs to.
pub fn changes_files(name: &str) -> bool {
    let name = plain_tool_name(name);
    CHANGES.iter().any(|word| name.contains(word))
}

/// Returns what a tool for files does, by its name.
fn action_of(call: &ToolCall) -> Option<FileAction> {
    let name = plain_tool_name(&call.name);
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if EDITORS.contains(&name.as_str()) {
        let command = call.arguments.as_ref()?.string_member("command");
        return Some(match command.as_deref() {
            Some("view") => FileAction::Read,
            Some("create") => FileAction::Write,
            _ => FileAction::Edit,
        });
    }
    if has(&OTHERS) {
        None
    } else if has(&WRITES) && !has(&["edit", "replace"]) {
        // "create" in the name of an editor says nothing of this call.
        Some(FileAction::Write)
    } else if changes_files(&name) {
        Some(FileAction::Edit)
    } else if has(&READS) && !has(&LISTS) {
        Some(FileAction::Read)
    } else {
        None
    }
}

/// Returns the file that a call names and what it does to it, or `None` when it is no call of a tool for one file.
pub fn file_call(call: &ToolCall) -> Option<(FileAction, String)> {
    let action = action_of(call)?;
    let arguments = call.arguments.as_ref()?;
    let members = Members::parse(arguments.get())?;
    let mut paths = members.0.iter().filter(|(name, _)| names_file(name));
    let path = paths.find_map(|(_, value)| serde_json::from_str::<String>(value.get()).ok())?;
    (!path.is_empty()).then_some((action, path))
}

/// A command line that a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// The line.
    pub text: String,
    /// The folder that it runs in, where the call says so.
    pub folder: Option<String>,
}

/// What a call does to files, and the command lines that it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallEffects {
    /// The files that the call names itself; those of its commands are not among them.
    pub files: Vec<(FileAction, String)>,
    /// The commands.
    pub commands: Vec<CommandLine>,
}

/// Returns what a call does.
pub(crate) fn effects_of(call: &ToolCall) -> CallEffects {
    let mut effects = CallEffects::default();
    if let Some(found) = file_call(call) {
        effects.files.push(found);
        return effects;
    }
    let Some(arguments) = &call.arguments else {
        return effects;
    };
    let arguments = arguments.to_value();
    if let Some(action) = action_of(call) {
        listed(&arguments, 0, &mut |path| {
            effects.files.push((action, path.to_owned()));
        });
        if !effects.files.is_empty() {
            return effects;
        }
    }
    let folder = text_of(&arguments, &FOLDERS).map(str::to_owned);
    let line = |text: String| CommandLine {
        text,
        folder: folder.clone(),
    };
    let texts = |names: &[&str]| -> Vec<String> {
        let values = names.iter().filter_map(|name| arguments.get(*name));
        values.filter_map(command_text).map(str::to_owned).collect()
    };
    for text in texts(&INPUTS) {
        let code = code_mode::calls_of(&text);
        if code.commands.is_empty() && code.patches.is_empty() {
            effects.files.extend(patched(&text));
        }
        effects
            .files
            .extend(code.patches.iter().flat_map(|patch| patched(patch)));
        effects.commands.extend(code.commands.into_iter().map(line));
    }
    for text in texts(&COMMANDS) {
        match patched(&text) {
            files if files.is_empty() => effects.commands.push(line(text)),
            files => effects.files.extend(files),
        }
    }
    effects
}

/// Returns the files that a call names and what it does to each: one, those of a list, of a patch that it applies or of
/// a command that it runs.
pub fn file_calls(call: &ToolCall) -> Vec<(FileAction, String)> {
    let CallEffects {
        mut files,
        commands,
    } = effects_of(call);
    files.extend(
        commands
            .iter()
            .flat_map(|command| shell_files(&command.text)),
    );
    files
}

/// Returns the commands that a call runs, in their order.
pub fn commands_of(call: &ToolCall) -> Vec<String> {
    let commands = effects_of(call).commands.into_iter();
    commands.map(|command| command.text).collect()
}

/// Gives the paths of lists: `paths: [..]`, `edits: [{file_path: ..}]`.
fn listed(value: &Value, depth: usize, give: &mut dyn FnMut(&str)) {
    let Value::Object(members) = value else {
        return;
    };
    for (name, value) in members {
        match value {
            Value::String(path) if depth > 0 && names_file(name) && !path.is_empty() => give(path),
            Value::Array(values) if depth < 2 => {
                let paths = values.iter().filter(|_| names_file(name));
                paths.filter_map(Value::as_str).for_each(&mut *give);
                values.iter().for_each(|it| listed(it, depth + 1, give));
            }
            _ => {}
        }
    }
}

/// Returns the files that the patches in a text name, and what they do to each.
fn patched(text: &str) -> Vec<(FileAction, String)> {
    let mut found: Vec<(FileAction, String)> = Vec::new();
    let Some((_, patch)) = text.split_once(PATCH) else {
        return found;
    };
    for line in patch.lines() {
        let head = line
            .strip_prefix("*** ")
            .and_then(|line| line.split_once(": "));
        let Some((head, path)) = head else {
            continue;
        };
        let path = path.trim_end().to_owned();
        match (head, found.last_mut()) {
            ("Add File", _) => found.push((FileAction::Write, path)),
            ("Update File", _) => found.push((FileAction::Edit, path)),
            ("Delete File", _) => found.push((FileAction::Delete, path)),
            ("Move to", Some((action, before))) => {
                *action = FileAction::Write;
                let before = std::mem::replace(before, path);
                found.push((FileAction::Delete, before));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use session_model::{ToolCall, json::RawJson};

    use super::{FileAction, file_calls};

    #[test]
    fn files_are_found_in_the_dialects_of_agents() {
        use FileAction::{Delete, Edit, Read, Write};
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n@@\n-x\n+y\n*** Update File: c\n\
                     *** Move to: d\n*** Delete File: e\n*** End Patch";
        let of_patch = vec![
            (Write, "a"),
            (Edit, "b"),
            (Write, "d"),
            (Delete, "c"),
            (Delete, "e"),
        ];
        let script = format!("cd src && apply_patch <<'EOF'\n{patch}\nEOF");
        let code = format!("await tools.apply_patch({});", json!(patch));
        type Case = (&'static str, Value, Vec<(FileAction, &'static str)>);
        let calls: Vec<Case> = vec![
            ("read", json!({"path": "a"}), vec![(Read, "a")]),
            ("Edit", json!({"file_path": "a"}), vec![(Edit, "a")]),
            (
                "NotebookEdit",
                json!({"notebook_path": "a"}),
                vec![(Edit, "a")],
            ),
            ("apply_patch", json!({"input": patch}), of_patch.clone()),
            ("patch", json!({"patchText": patch}), of_patch.clone()),
            ("exec", json!({"input": code}), of_patch.clone()),
            (
                "exec",
                json!({"input": "await tools.exec_command({cmd:\"rm a.rs\"})"}),
                vec![(Delete, "a.rs")],
            ),
            (
                "shell",
                json!({"command": ["bash", "-lc", script]}),
                of_patch.clone(),
            ),
            ("bash", json!({"command": script}), of_patch),
            // A file that has a patch as its text is written as one.
            (
                "write",
                json!({"path": "p", "content": patch}),
                vec![(Write, "p")],
            ),
            ("search", json!({"query": patch}), vec![]),
            (
                "str_replace_based_edit_tool",
                json!({"command": "view", "path": "a"}),
                vec![(Read, "a")],
            ),
            (
                "str_replace_editor",
                json!({"command": "insert", "path": "a"}),
                vec![(Edit, "a")],
            ),
            ("write", json!({"path": ""}), vec![]),
            (
                "mcp__files__write_file",
                json!({"path": "a"}),
                vec![(Write, "a")],
            ),
            (
                "Serena.replace_symbol_body",
                json!({"relative_path": "a"}),
                vec![(Edit, "a")],
            ),
            (
                "read_many_files",
                json!({"paths": ["a", "b"]}),
                vec![(Read, "a"), (Read, "b")],
            ),
            (
                "multi_replace",
                json!({"replacements": [{"filePath": "a", "oldString": "x"}, {"filePath": "b"}]}),
                vec![(Edit, "a"), (Edit, "b")],
            ),
            (
                "replace_file_content",
                json!({"TargetFile": "a", "Content": "x"}),
                vec![(Edit, "a")],
            ),
            ("bash", json!({"command": "cat a.md"}), vec![(Read, "a.md")]),
            ("list_dir", json!({"path": "a"}), vec![]),
            ("search_replace", json!({"path": "a"}), vec![(Edit, "a")]),
            ("write_todos", json!({"todos": []}), vec![]),
            ("ls", json!({"path": "src"}), vec![]),
        ];
        for (name, arguments, want) in calls {
            let call = ToolCall {
                id: "1".to_owned(),
                name: name.to_owned(),
                arguments: RawJson::of(&arguments).ok(),
                signature: None,
            };
            let found = file_calls(&call);
            let found: Vec<_> = found
                .iter()
                .map(|(action, path)| (*action, path.as_str()))
                .collect();
            assert_eq!(found, want, "{name} {arguments}");
        }
    }
}
