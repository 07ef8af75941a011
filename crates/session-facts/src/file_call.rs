//! Which files a call names and what it does to them, in the dialects of several agents.

use serde_json::Value;
use session_model::ToolCall;
use session_model::json::Members;

use crate::phrases::Phrases;
pub use crate::shell_files::FileAction;
use crate::shell_files::shell_files;

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

/// How the plain name of an argument ends that names a file, or several.
const PATHS: [&str; 7] = [
    "path", "paths", "file", "files", "filename", "filepath", "uri",
];

/// Arguments that hold a command, and those that hold a patch besides.
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];
const PATCHES: [&str; 3] = ["input", "patch", "patchText"];

/// How a patch begins that names its files in lines of their own.
const PATCH: &str = "*** Begin Patch";

/// What a line of a patch does to the file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchHead {
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
pub fn patch_head(line: &str) -> Option<(PatchHead, &str)> {
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
pub fn file_call(call: &ToolCall) -> Option<(FileAction, String)> {
    let action = action_of(call)?;
    let arguments = call.arguments.as_ref()?;
    let members = Members::parse(arguments.get()).ok()?;
    let mut paths = members.0.iter().filter(|(name, _)| names_file(name));
    let path = paths.find_map(|(_, value)| serde_json::from_str::<String>(value.get()).ok())?;
    (!path.is_empty()).then_some((action, path))
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
    match () {
        () if has(&OTHERS) => None,
        // "create" in the name of an editor says nothing of this call.
        () if has(&WRITES) && !has(&["edit", "replace"]) => Some(FileAction::Write),
        () if changes_files(&name) => Some(FileAction::Edit),
        () if has(&READS) && !has(&LISTS) => Some(FileAction::Read),
        () => None,
    }
}

/// Returns whether an argument of this name holds the path of a file: `file_path`, `TargetFile`.
fn names_file(argument: &str) -> bool {
    let plain = argument.chars().filter(|c| c.is_alphanumeric());
    let plain = plain.collect::<String>().to_lowercase();
    PATHS.iter().any(|end| plain.ends_with(end)) && plain != "profile" && !plain.starts_with("old")
}

/// Returns the files that a call names and what it does to each: one, those of a list, of a patch that it applies or of
/// a command that it runs. Those that a patch deletes are not among them.
pub fn file_calls(call: &ToolCall) -> Vec<(FileAction, String)> {
    if let Some(found) = file_call(call) {
        return vec![found];
    }
    let Some(arguments) = &call.arguments else {
        return Vec::new();
    };
    let arguments = arguments.to_value();
    if let Some(action) = action_of(call) {
        let mut found = Vec::new();
        listed(&arguments, 0, &mut |path| {
            found.push((action, path.to_owned()));
        });
        if !found.is_empty() {
            return found;
        }
    }
    let names = COMMANDS.iter().chain(&PATCHES);
    let values = names.filter_map(|name| arguments.get(name));
    let texts: Vec<&str> = values.filter_map(command_text).collect();
    let patches = texts.iter().filter_map(|text| text.split_once(PATCH));
    let mut patches = patches.map(|(_, patch)| patch).peekable();
    if patches.peek().is_some() {
        return patches.flat_map(patched).collect();
    }
    let commands = commands_in(&arguments);
    commands.flat_map(shell_files).collect()
}

/// Returns the commands that a call runs.
pub fn commands_of(call: &ToolCall) -> Vec<String> {
    let arguments = call.arguments.as_ref();
    let has_one = |text: &str| COMMANDS.iter().any(|name| text.contains(name));
    let Some(arguments) = arguments.filter(|arguments| has_one(arguments.get())) else {
        return Vec::new();
    };
    commands_in(&arguments.to_value())
        .map(str::to_owned)
        .collect()
}

fn commands_in(arguments: &Value) -> impl Iterator<Item = &str> {
    let commands = COMMANDS.iter().filter_map(|name| arguments.get(name));
    commands.filter_map(command_text)
}

/// Returns whether the result of a tool that changes files says, in its first line, that it changed nothing.
pub fn tells_refusal(said: &str) -> bool {
    const FIRST: usize = 300;
    static REFUSALS: Phrases = Phrases::named("file_call.refusals");
    static SUCCESS: Phrases = Phrases::named("file_call.success");
    // Names of files may have any words in them.
    let names = |word: &&str| {
        word.trim_end_matches(['.', ',', ':'])
            .contains(['/', '\\', '.'])
    };
    let first = session_model::text::first_line(said.trim_start(), FIRST).to_lowercase();
    let words: Vec<&str> = first.split(' ').filter(|word| !names(word)).collect();
    let first = words.join(" ");
    let refused = REFUSALS.first_in(&first);
    refused.is_some_and(|at| SUCCESS.first_in(&first).is_none_or(|done| at < done))
}

/// Returns what a shell is to run: a text, or the last of a list of words.
fn command_text(value: &Value) -> Option<&str> {
    match value {
        Value::Array(words) => words.last()?.as_str(),
        value => value.as_str(),
    }
}

/// Tells the paths of lists: `paths: [..]`, `edits: [{file_path: ..}]`.
fn listed(value: &Value, depth: usize, tell: &mut dyn FnMut(&str)) {
    let Value::Object(members) = value else {
        return;
    };
    for (name, value) in members {
        match value {
            Value::String(path) if depth > 0 && names_file(name) && !path.is_empty() => tell(path),
            Value::Array(values) if depth < 2 => {
                let paths = values.iter().filter(|_| names_file(name));
                paths.filter_map(Value::as_str).for_each(&mut *tell);
                values.iter().for_each(|it| listed(it, depth + 1, tell));
            }
            _ => {}
        }
    }
}

/// Returns the files that a patch names, and what it does to each.
fn patched(patch: &str) -> Vec<(FileAction, String)> {
    let mut found: Vec<(FileAction, String)> = Vec::new();
    for (head, path) in patch.lines().filter_map(patch_head) {
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
    found
}

#[cfg(test)]
mod tests {
    use super::tells_refusal;
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

    #[test]
    fn what_a_tool_says_first_tells_whether_it_changed_anything() {
        for said in [
            "Error: old_string was not found",
            "Failed to find expected lines in src/a.rs",
            "The edit was declined by the user.",
            "No match for the search block.",
            "Read-only file system (os error 30)",
            "Der Zugriff wurde verweigert.",
        ] {
            assert!(tells_refusal(said), "{said}");
        }
        for said in [
            "",
            "ok",
            "Edited src/error.rs: 1 passage replaced",
            "The file /a/timeout.rs has been updated. Here is a part of it:\n error",
            "Success. Updated the following files:\nM src/failed.rs",
            "src/invalid.ts saved",
        ] {
            assert!(!tells_refusal(said), "{said}");
        }
    }
}
