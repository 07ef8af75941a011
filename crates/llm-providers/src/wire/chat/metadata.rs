//! Provider-specific metadata of messages and calls, such as signatures of thinking: kept unchanged, and sent back to
//! the model that made it.

use serde_json::{Map, Value};

/// Members by name.
pub(super) type Metadata = Map<String, Value>;

/// The members of a call that the protocol itself defines.
const CALL: [&str; 4] = ["index", "id", "type", "function"];

/// The members of a message that the protocol itself defines or that occur only in answers.
const MESSAGE: [&str; 8] = [
    "content",
    "tool_calls",
    "function_call",
    "annotations",
    "audio",
    "images",
    "executed_tools",
    "logprobs",
];

/// The most details that one list may have.
const MOST_DETAILS: usize = 4096;

/// The members with the text of a detail that comes in pieces.
const PIECES: [&str; 3] = ["text", "summary", "data"];

/// Adds what a piece of a call has.
pub(super) fn add_of_call(all: &mut Metadata, call: &Value) {
    add(all, call, |name, _| !CALL.contains(&name));
}

/// Adds what a piece of a message has: lists and objects; single values are the answer's, not its metadata.
pub(super) fn add_of_message(all: &mut Metadata, message: &Value) {
    add(all, message, |name, value| {
        (value.is_object() || value.is_array()) && !MESSAGE.contains(&name)
    });
}

/// Returns the metadata that a signature holds.
pub(super) fn parse(signature: &str) -> Option<Metadata> {
    serde_json::from_str(signature).ok()
}

/// Returns true for a detail of the message, which pi keeps with the call that it belongs to.
pub(super) fn is_detail(metadata: &Metadata) -> bool {
    let kind = metadata.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.starts_with("reasoning."))
}

/// Returns such a detail at the path where the message has it.
pub(super) fn detail_of_message(metadata: Metadata) -> Option<Metadata> {
    let list = is_detail(&metadata).then(|| Value::Array(vec![Value::Object(metadata)]));
    list.map(|list| Metadata::from_iter([("reasoning_details".to_owned(), list)]))
}

fn add(all: &mut Metadata, piece: &Value, is_metadata: impl Fn(&str, &Value) -> bool) {
    for (name, value) in piece.as_object().into_iter().flatten() {
        if is_metadata(name, value) {
            merge_member(all, name, value);
        }
    }
}

fn merge_member(all: &mut Metadata, name: &str, value: &Value) {
    match (all.get_mut(name), value) {
        (_, Value::Null) => {}
        (Some(Value::Object(known)), Value::Object(piece)) => {
            for (name, value) in piece {
                merge_member(known, name, value);
            }
        }
        (Some(Value::Array(known)), Value::Array(piece)) => {
            piece.iter().for_each(|detail| add_detail(known, detail));
        }
        _ => {
            all.insert(name.to_owned(), value.clone());
        }
    }
}

/// Adds a detail to a list, or appends to the one with the same number and type.
fn add_detail(list: &mut Vec<Value>, detail: &Value) {
    let same = |known: &&mut Value| {
        detail["index"].is_number()
            && known["index"] == detail["index"]
            && known["type"] == detail["type"]
    };
    let known = list.iter_mut().rev().find(same);
    let (Some(Value::Object(known)), Value::Object(piece)) = (known, detail) else {
        // A detail takes much more memory than bytes in the response.
        if list.len() < MOST_DETAILS {
            list.push(detail.clone());
        }
        return;
    };
    for (name, value) in piece {
        match (known.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(more)) if PIECES.contains(&name.as_str()) => {
                text.push_str(more);
            }
            _ => merge_member(known, name, value),
        }
    }
}
