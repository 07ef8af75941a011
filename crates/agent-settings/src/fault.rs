//! Descriptions of errors in a tree of settings.

use serde_json::{Value, json};

use crate::keys::nearest_key;
use crate::path::KeyPath;
use crate::schema;

/// The quoted length of a value, in characters.
const SHOWN: usize = 60;

/// Returns where reading a tree failed, and why.
pub(crate) fn of_reading(
    error: &serde_path_to_error::Error<serde_json::Error>,
    tree: &Value,
) -> (KeyPath, String) {
    let path = KeyPath::of_failure(error.path());
    let reason = error.inner().to_string();
    let message = if let Some(missing) = reason.strip_prefix("missing field ") {
        format!("{path} needs {}", missing.replace('`', ""))
    } else {
        let node = schema::find(schema::known(), &path);
        match (node, path.find(tree)) {
            (Some(node), Some(value)) => wrong(&path, value, &node),
            _ => format!("{path}: {reason}"),
        }
    };
    (path, message)
}

/// Returns the path of the first invalid value or unknown name, and the error.
pub(crate) fn of_misplaced(tree: &Value) -> Option<(KeyPath, String)> {
    let path = schema::misplaced(schema::known(), tree)?;
    let message = match schema::find(schema::known(), &path) {
        Some(node) => wrong(&path, path.find(tree)?, &node),
        None => unknown(&path),
    };
    Some((path, message))
}

/// Returns the error for an unknown key.
pub fn unknown(path: &KeyPath) -> String {
    format!("{path} is not a setting; {}", hint(path))
}

fn hint(path: &KeyPath) -> String {
    const LIST: &str = "agent-cli config show lists all";
    let Some((around, name)) = path.split() else {
        return LIST.to_owned();
    };
    if let Some(whole) = KeyPath::parse(name).filter(|whole| name.contains('.') && known(whole)) {
        return format!("write {}", whole.tree(json!("VALUE")));
    }
    if let Some(near) = nearest_key(path) {
        return format!("did you mean {near}?");
    }
    let members = schema::members(schema::known(), &around);
    let members = members.iter().filter(|name| *name != "$schema");
    let members = members.map(String::as_str).collect::<Vec<_>>().join(", ");
    let place = around.to_string();
    match (members.is_empty(), around.0.len()) {
        (true, _) => LIST.to_owned(),
        (false, 0) => format!("there are {members}"),
        (false, 2) => format!("{place} has {members}; put a name with dots in double quotes"),
        (false, _) => format!("{place} has {members}"),
    }
}

fn known(path: &KeyPath) -> bool {
    schema::find(schema::known(), path).is_some()
}

/// Returns the error for an invalid value.
fn wrong(path: &KeyPath, value: &Value, node: &Value) -> String {
    let allowed = schema::allowed(node);
    let shown = match value {
        // It may be a key.
        Value::String(_) if is_private(path, &allowed) => None,
        Value::Object(_) => Some("an object".to_owned()),
        Value::Array(items) if items.is_empty() => Some("an empty list".to_owned()),
        Value::Array(_) => Some("a list".to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Some(shortened(&value.to_string()))
        }
    };
    match (path.0.is_empty(), shown) {
        (true, _) => "must be a JSON object".to_owned(),
        (false, Some(shown)) => format!("{path} is {shown}, but must be {allowed}"),
        (false, None) => format!("{path} must be {allowed}"),
    }
}

/// Returns true if a text is not quoted in errors: one about providers, unless a name from a list is expected.
fn is_private(path: &KeyPath, allowed: &str) -> bool {
    let of_providers = path.is_within(&KeyPath::of_names(["providers"]));
    of_providers && !allowed.starts_with('"')
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
