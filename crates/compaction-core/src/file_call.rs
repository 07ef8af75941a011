//! Which files a call names and what it does to them, in the dialects of several agents.

use serde_json::Value;
use session_model::ToolCall;

/// What a call does to the file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// It looks at the file.
    Read,
    /// It writes the file anew.
    Write,
    /// It changes the file.
    Edit,
}

/// Tools of several agents that look at a file, and those that write one anew, by their plain names.
const READERS: [&str; 5] = ["read", "readfile", "view", "viewfile", "openfile"];
const WRITERS: [&str; 5] = [
    "write",
    "writefile",
    "createfile",
    "writetofile",
    "savefile",
];

/// Words in the plain names of tools that change files.
const CHANGES: [&str; 9] = [
    "write", "edit", "replace", "patch", "create", "insert", "update", "diff", "notebook",
];

/// Tools of several agents whose argument `command` says what they do.
const EDITORS: [&str; 2] = ["strreplaceeditor", "strreplacebasededittool"];

/// Returns the name of a tool without the server that offers it, in lower case, letters and digits only.
pub(crate) fn plain_tool_name(name: &str) -> String {
    let own = name.rsplit("__").next().unwrap_or(name);
    let own = own.rsplit(['.', '/', ':']).next().unwrap_or(own);
    let plain = own.chars().filter(|c| c.is_alphanumeric());
    plain.collect::<String>().to_lowercase()
}

/// Returns whether a tool changes the file that its arguments name, whatever agent it belongs to.
pub(crate) fn changes_files(name: &str) -> bool {
    let name = plain_tool_name(name);
    CHANGES.iter().any(|word| name.contains(word))
}

/// Names of the argument that holds the path, in the order in which they are looked for.
const PATH_ARGUMENTS: [&str; 8] = [
    "path",
    "file_path",
    "filePath",
    "absolute_path",
    "filename",
    "target_file",
    "notebook_path",
    "relative_path",
];

/// Names of the arguments that hold a patch: its own, or those of a command that applies one.
const PATCH_ARGUMENTS: [&str; 6] = ["input", "patch", "patchText", "command", "cmd", "script"];

/// How a patch begins that names its files in lines of their own.
const PATCH: &str = "*** Begin Patch";

/// What a line of a patch does to the file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchHead {
    /// It adds the file.
    Add,
    /// It changes the file.
    Update,
    /// It deletes the file.
    Delete,
    /// It gives the file before it this name.
    Move,
}

/// Returns what a line of a patch does, and the file that it names.
pub(crate) fn patch_head(line: &str) -> Option<(PatchHead, &str)> {
    let (head, path) = line.strip_prefix("*** ")?.split_once(": ")?;
    let head = match head {
        "Add File" => PatchHead::Add,
        "Update File" => PatchHead::Update,
        "Delete File" => PatchHead::Delete,
        "Move to" => PatchHead::Move,
        _ => return None,
    };
    Some((head, path.trim_end()))
}

/// Returns the file that a call names and what it does to it, or `None` when it is no call of a tool for one file.
pub(crate) fn file_call(call: &ToolCall) -> Option<(FileAction, String)> {
    let arguments = call.arguments.as_ref()?;
    let name = plain_tool_name(&call.name);
    let name = name.as_str();
    let action = if EDITORS.contains(&name) {
        match &*arguments.string_member("command")? {
            "view" => FileAction::Read,
            "create" => FileAction::Write,
            _ => FileAction::Edit,
        }
    } else if READERS.contains(&name) {
        FileAction::Read
    } else if WRITERS.contains(&name) {
        FileAction::Write
    } else if changes_files(name) {
        FileAction::Edit
    } else {
        return None;
    };
    let mut names = PATH_ARGUMENTS.iter();
    let path = names.find_map(|name| arguments.string_member(name))?;
    (!path.is_empty()).then(|| (action, path.into_owned()))
}

/// Returns the files that a call names and what it does to each: one, or those of a patch that it applies. Those that a
/// patch deletes are not among them.
pub fn file_calls(call: &ToolCall) -> Vec<(FileAction, String)> {
    if let Some(found) = file_call(call) {
        return vec![found];
    }
    let arguments = call.arguments.as_ref();
    let Some(arguments) = arguments.filter(|arguments| arguments.get().contains(PATCH)) else {
        return Vec::new();
    };
    let arguments = arguments.to_value();
    let mut found: Vec<(FileAction, String)> = Vec::new();
    for value in PATCH_ARGUMENTS
        .iter()
        .filter_map(|name| arguments.get(name))
    {
        // A command may be a list of words.
        let words = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        let texts = words.iter().filter_map(Value::as_str);
        let patches = texts.filter_map(|text| text.split_once(PATCH));
        for (head, path) in patches.flat_map(|(_, patch)| patch.lines().filter_map(patch_head)) {
            match head {
                PatchHead::Add => found.push((FileAction::Write, path.to_owned())),
                PatchHead::Update => found.push((FileAction::Edit, path.to_owned())),
                PatchHead::Delete => {}
                PatchHead::Move => {
                    if let Some((_, moved)) = found.last_mut() {
                        path.clone_into(moved);
                    }
                }
            }
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
    fn files_are_told_in_the_dialects_of_agents() {
        use FileAction::{Edit, Read, Write};
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n@@\n-x\n+y\n*** Update File: c\n\
                     *** Move to: d\n*** Delete File: e\n*** End Patch";
        let of_patch = vec![(Write, "a"), (Edit, "b"), (Edit, "d")];
        let script = format!("cd src && apply_patch <<'EOF'\n{patch}\nEOF");
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
