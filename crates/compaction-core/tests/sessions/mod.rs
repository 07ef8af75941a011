//! Sessions for the tests of this folder: the text notation decoded, with entries changed where it says too little.
#![allow(dead_code, reason = "each test file uses its part")]

use compaction_core::{AnswerEnd, Summarizer, SummaryAnswer};
use serde_json::{Value, json};
use session_model::{
    Decoded, EntryDraft, EntryId, SessionContext, SessionPath, Stamp, Timestamp, decode_bytes,
};

/// Returns the session that `notation` describes.
pub fn decoded(notation: &str) -> Decoded {
    patched(notation, &[])
}

/// Returns the session that `notation` describes, each patch merged into the entry that it names.
pub fn patched(notation: &str, patches: &[(&str, Value)]) -> Decoded {
    decode_bytes(patched_text(notation, patches).into_bytes())
}

/// Returns the text of the same session.
pub fn patched_text(notation: &str, patches: &[(&str, Value)]) -> String {
    let text = test_support::session(notation);
    let mut missing: Vec<&str> = patches.iter().map(|(id, _)| *id).collect();
    let lines = text.lines().map(|line| {
        let mut entry: Value = serde_json::from_str(line).expect("the notation gives JSON");
        for (id, patch) in patches {
            if entry["id"] == *id && entry["type"] != "session" {
                merge(&mut entry, patch);
                missing.retain(|known| known != id);
            }
        }
        format!("{entry}\n")
    });
    let text = lines.collect();
    assert!(missing.is_empty(), "no entries {missing:?} in {notation}");
    text
}

/// Merges objects member by member; everything else is replaced.
fn merge(value: &mut Value, patch: &Value) {
    match (value, patch) {
        (Value::Object(own), Value::Object(patch)) => {
            for (key, patch) in patch {
                merge(own.entry(key).or_insert(Value::Null), patch);
            }
        }
        (value, patch) => *value = patch.clone(),
    }
}

/// Returns the path to the last entry.
pub fn path(decoded: &Decoded) -> SessionPath<'_> {
    decoded.tree.path(decoded.tree.leaf())
}

/// Returns a patch that gives a message this text.
pub fn says(text: &str) -> Value {
    json!({"message":{"content":[{"type":"text","text":text}]}})
}

/// Returns a patch that makes an answer call `tool` with `arguments`.
pub fn calls(id: &str, tool: &str, arguments: &Value) -> Value {
    let call = json!({"type":"toolCall","id":id,"name":tool,"arguments":arguments});
    json!({"message":{"content":[call],"stopReason":"toolUse"}})
}

/// Returns an answer with this text.
pub fn answer(text: &str) -> SummaryAnswer {
    SummaryAnswer {
        text: text.to_owned(),
        end: AnswerEnd::Complete,
        summarizer: Summarizer::Extractive,
    }
}

/// Returns `text` with the stamped `drafts` appended, the first under `parent`; they are called `new1`, `new2`, ...
pub fn appended(text: &str, parent: Option<&str>, drafts: &[EntryDraft]) -> String {
    let mut text = text.to_owned();
    let mut parent = parent.map(EntryId::new);
    let timestamp = Timestamp::parse("2026-02-01T00:00:00.000Z").expect("a timestamp");
    let taken = text.matches("\"id\":\"new").count();
    for (number, draft) in drafts.iter().enumerate() {
        let id = EntryId::new(&format!("new{}", taken + number + 1));
        let stamp = Stamp {
            id: id.clone(),
            parent: parent.replace(id),
            timestamp,
            part_of: None,
        };
        text.push_str(&draft.stamp(&stamp));
        text.push('\n');
    }
    text
}

/// Returns what the messages of a context say, each with its role.
pub fn said(context: &SessionContext) -> Vec<String> {
    let messages = context.messages();
    messages
        .map(|(_, message)| format!("{}: {}", message.role(), message.display_text()))
        .collect()
}
