//! The presentation of tool calls: title, kind, locations, differences.

use std::path::Path;

use serde_json::{Value, json};
use session_facts::CallBody;
use session_model::ToolCall;
use session_model::json::RawJson;
use session_model::text::first_line;

/// The length of a command or path in a title, in characters.
const TITLE: usize = 120;

/// The kinds of the built-in tools; all others are `other`.
const KINDS: [(&str, &str); 11] = [
    ("read", "read"),
    ("ls", "search"),
    ("find", "search"),
    ("grep", "search"),
    ("edit", "edit"),
    ("write", "edit"),
    ("bash", "execute"),
    ("todo", "think"),
    ("recall", "search"),
    ("recall_read", "search"),
    ("skill", "read"),
];

/// The tool that keeps the list of what is to be done.
pub(crate) const TODO: &str = "todo";

/// The parts of a call that an editor shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    pub title: String,
    pub kind: &'static str,
    /// The files that it touches.
    pub locations: Vec<Value>,
    /// The changes of files, as content of the call.
    pub differences: Vec<Value>,
}

/// Returns the call of a tool with these arguments.
pub(crate) fn call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall {
        id: String::new(),
        name: name.to_owned(),
        arguments: RawJson::of(arguments).ok(),
        signature: None,
    }
}

/// Returns what is shown of a call; paths are those of `cwd`.
pub(crate) fn shown(call: &ToolCall, cwd: &Path) -> Shown {
    let absolute = |path: &str| cwd.join(path).display().to_string();
    let location = |path: &str| vec![json!({ "path": absolute(path) })];
    let difference = |path: &str, old: Option<&str>, new: &str| json!({ "type": "diff", "path": absolute(path), "oldText": old, "newText": new });
    let kind = KINDS.iter().find(|(name, _)| *name == call.name);
    let kind = kind.map_or("other", |(_, kind)| kind);
    let (what, locations, differences) = match CallBody::of(call) {
        CallBody::Command(command) => (command, Vec::new(), Vec::new()),
        CallBody::Read { path } => {
            let locations = location(&path);
            (path, locations, Vec::new())
        }
        CallBody::Write { path, text } => {
            let differences = vec![difference(&path, None, &text)];
            let locations = location(&path);
            (path, locations, differences)
        }
        CallBody::Edit { path, edits } => {
            let edits = edits
                .iter()
                .map(|(old, new)| difference(&path, Some(old), new));
            let edits = edits.collect();
            let locations = location(&path);
            (path, locations, edits)
        }
        CallBody::Other(arguments) => {
            let path = arguments.get("path").and_then(Value::as_str);
            let locations = path.map(location).unwrap_or_default();
            let first = arguments.values().find_map(Value::as_str);
            (first.unwrap_or_default().to_owned(), locations, Vec::new())
        }
        CallBody::Nothing => (String::new(), Vec::new(), Vec::new()),
    };
    let what = first_line(&what, TITLE);
    Shown {
        title: match (call.name.as_str(), what.is_empty()) {
            ("bash", false) => format!("`{what}`"),
            (name, false) => format!("{name} {what}"),
            (name, true) => name.to_owned(),
        },
        kind,
        locations,
        differences,
    }
}

/// Returns a text as the content of a call; `None` if it is empty.
pub(crate) fn text(text: &str) -> Option<Value> {
    let block = || json!({ "type": "content", "content": { "type": "text", "text": text } });
    (!text.is_empty()).then(block)
}

/// Returns the entries of a plan from the arguments of the tool that keeps the list; `None` if it is only read.
pub(crate) fn plan(arguments: &Value) -> Option<Value> {
    let items = arguments.get("items")?.as_array()?;
    let entries = items.iter().map(|item| {
        let status = match item["status"].as_str() {
            Some("current") => "in_progress",
            Some("done") => "completed",
            _ => "pending",
        };
        json!({ "content": item["text"].as_str().unwrap_or_default(), "priority": "medium", "status": status })
    });
    Some(entries.collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::{call, plan, shown};

    #[test]
    fn an_edit_has_its_file_and_its_difference() {
        let edit = call(
            "edit",
            &json!({"path": "src/a.rs", "edits": [{"old_text": "a", "new_text": "b"}]}),
        );
        let shown = shown(&edit, Path::new("/p"));
        assert_eq!(
            (shown.title.as_str(), shown.kind),
            ("edit src/a.rs", "edit")
        );
        assert_eq!(shown.locations, [json!({"path": "/p/src/a.rs"})]);
        let difference =
            json!({"type": "diff", "path": "/p/src/a.rs", "oldText": "a", "newText": "b"});
        assert_eq!(shown.differences, [difference]);
    }

    #[test]
    fn a_command_is_its_title() {
        let bash = call("bash", &json!({"command": "cargo test\nls"}));
        assert_eq!(shown(&bash, Path::new("/p")).title, "`cargo test`");
        let other = call("time__now", &json!({"zone": "UTC"}));
        let shown = shown(&other, Path::new("/p"));
        assert_eq!(
            (shown.title.as_str(), shown.kind),
            ("time__now UTC", "other")
        );
    }

    #[test]
    fn a_list_of_what_is_to_be_done_is_a_plan() {
        let items = json!({"items": [{"text": "a", "status": "done"}, {"text": "b", "status": "current"}, {"text": "c"}]});
        assert_eq!(
            plan(&items),
            Some(json!([
                {"content": "a", "priority": "medium", "status": "completed"},
                {"content": "b", "priority": "medium", "status": "in_progress"},
                {"content": "c", "priority": "medium", "status": "pending"},
            ]))
        );
        assert_eq!(plan(&json!({})), None);
    }
}
