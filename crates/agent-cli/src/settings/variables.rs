//! Variables of the environment that set something: those named after a setting, and a few that go by another name.

use serde_json::Value;

use super::keys::keys_of;
use super::path::KeyPath;
use super::sources::VARIABLE_PREFIX;

/// Names under which another agent has the same settings. A variable of our own goes before them.
const ALIASES: [(&str, &str); 4] = [
    ("QWEN_COMPACT_MAX_RECENT_FILES", "maxFiles"),
    ("QWEN_COMPACT_MAX_RECENT_IMAGES", "maxImages"),
    ("QWEN_COMPACT_SCREENSHOT_TRIGGER", "imageTrigger"),
    ("QWEN_COMPACT_SCREENSHOT_THRESHOLD", "imageTriggerCount"),
];

/// What is allowed where a setting is on or off.
const ON_OR_OFF: &str = "true or false";

/// Returns whether a variable sets something.
pub(super) fn sets(name: &str) -> bool {
    name.starts_with(VARIABLE_PREFIX) || alias(name).is_some()
}

fn alias(name: &str) -> Option<&'static str> {
    let mut aliases = ALIASES.iter();
    let (_, member) = aliases.find(|(alias, _)| *alias == name)?;
    Some(member)
}

/// Returns what the variables set, in the order in which each goes before those above it: the name of the variable,
/// the path of the setting, the value.
pub(super) fn set_by(env: &[(String, String)]) -> Vec<(&str, KeyPath, Value)> {
    let mut found: Vec<_> = env
        .iter()
        .filter_map(|(name, text)| {
            let own = name.strip_prefix(VARIABLE_PREFIX);
            let path = match own {
                Some(key) => KeyPath::of_names(key.split("__")),
                None => KeyPath::of_names(["compaction", "restore", alias(name)?]),
            };
            let value = value(&path, text);
            Some((own.is_some(), name.as_str(), path, value))
        })
        .collect();
    found.sort_by_key(|(is_own, name, ..)| (*is_own, *name));
    let found = found.into_iter();
    found
        .map(|(_, name, path, value)| (name, path, value))
        .collect()
}

/// Returns the value that a text stands for: what [`loose`] says, but 1 and 0 switch on and off.
fn value(path: &KeyPath, text: &str) -> Value {
    let value = loose(text);
    let on = match value.as_u64() {
        Some(1) => true,
        Some(0) => false,
        Some(_) | None => return value,
    };
    let keys = keys_of(path);
    match keys.as_slice() {
        [key] if key.allowed == ON_OR_OFF => Value::Bool(on),
        _ => value,
    }
}

/// Returns the value that a text on the command line stands for: JSON, or else the text itself.
pub(super) fn loose(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
