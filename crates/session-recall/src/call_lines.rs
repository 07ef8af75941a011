//! Which lines of a session may make or answer a call, as their bytes tell: most of a session is output that the
//! history of files does not need.

use std::collections::HashSet;

use memchr::memchr2;
use memchr::memmem;
use session_model::{
    AgentMessage, Entry, EntryBody, EntryIndex, MARKER_BYTES, SessionTree, StatedRole, is_excluded,
};

/// What is known of an entry.
pub(super) enum CallLine {
    /// It makes no call and answers none of those made, cannot be read, or carries a marker that excludes it.
    Other,
    /// The user excludes the session.
    Excluded,
    /// It is this one.
    Entry(Box<Entry>),
}

/// Reads an entry, unless it is an answer without calls or a result of none of the calls in `made`.
pub(super) fn call_line(tree: &SessionTree, index: EntryIndex, made: &HashSet<String>) -> CallLine {
    let role = tree.role(index);
    if role == Some(StatedRole::ToolResult) && made.is_empty() {
        return CallLine::Other;
    }
    let Ok(line) = tree.raw_line(index) else {
        return CallLine::Other;
    };
    let is_wanted = match role {
        Some(StatedRole::Assistant) => may_call(&line),
        Some(StatedRole::ToolResult) => may_answer(&line, made),
        _ => true,
    };
    let entry = tree.entry_of_line(index, &line).ok().filter(|_| is_wanted);
    let Some(entry) = entry else {
        return CallLine::Other;
    };
    if memmem::find(&line, MARKER_BYTES).is_some() {
        for message in entry.messages() {
            match (is_excluded(&message.display_text()), &*message) {
                (true, AgentMessage::User(_)) => return CallLine::Excluded,
                (true, _) if matches!(entry.body, EntryBody::Message(_)) => return CallLine::Other,
                _ => {}
            }
        }
    }
    CallLine::Entry(Box::new(entry))
}

/// Returns false for the line of an answer that makes no call. Few writers escape letters.
fn may_call(line: &[u8]) -> bool {
    memmem::find(line, b"toolCall").is_some() || memmem::find(line, b"\\u00").is_some()
}

/// Returns false for the line of a result that answers none of these calls.
fn may_answer(line: &[u8], made: &HashSet<String>) -> bool {
    const KEY: &[u8] = b"\"toolCallId\":\"";
    let Some(at) = memmem::find(line, KEY) else {
        return true;
    };
    let rest = &line[at + KEY.len()..];
    let end = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    match (rest.get(end), std::str::from_utf8(&rest[..end])) {
        (Some(b'"'), Ok(id)) => made.contains(id),
        _ => true,
    }
}
