//! Variables of the environment that are named after a setting.

use serde_json::Value;

use crate::keys::keys_of;
use crate::path::KeyPath;
use crate::sources::VARIABLE_PREFIX;

/// The allowed values of a switch.
const ON_OR_OFF: &str = "true or false";

/// Returns what the variables set, in the order of their names: the name of the variable, the path of the setting, the
/// value.
pub(crate) fn set_by(env: &[(String, String)]) -> Vec<(&str, KeyPath, Value)> {
    let set = env.iter().filter_map(|(name, text)| {
        let path = KeyPath::of_names(name.strip_prefix(VARIABLE_PREFIX)?.split("__"));
        let value = value(&path, text);
        Some((name.as_str(), path, value))
    });
    let mut set: Vec<_> = set.collect();
    set.sort_by_key(|(name, ..)| *name);
    set
}

/// Returns the value of a text, as [`loose`] does, but 1 and 0 are true and false for a switch.
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

/// Returns the value of a text on the command line: JSON, or else the text itself.
pub(crate) fn loose(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
