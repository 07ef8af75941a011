//! JSON Schemas as people read them.

use serde_json::Value;

/// Takes out what says nothing to an editor, and line breaks out of sentences.
pub fn plain(node: &mut Value) {
    match node {
        Value::Object(members) => {
            // The sizes of integers are names that only Rust knows.
            if members.get("format").is_some_and(Value::is_string) {
                members.remove("format");
            }
            // What each member is by default stands with the member.
            if members
                .get("default")
                .is_some_and(|value| value.is_object() || value.is_null())
            {
                members.remove("default");
            }
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            for member in members.values_mut() {
                plain(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
