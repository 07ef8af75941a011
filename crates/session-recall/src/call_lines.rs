//! Which lines of a session may make or answer a call, as their bytes tell: most of a session is output that neither the
//! timeline nor the history of files needs.

use std::collections::HashSet;
use std::sync::LazyLock;

use memchr::memchr2;
use memchr::memmem::{self, Finder};
use session_facts::{COMMANDS, INPUTS};
use session_model::{
    AgentMessage, Entry, EntryBody, EntryIndex, MARKER_BYTES, SessionTree, StatedRole, is_excluded,
};

/// Which calls are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    /// All.
    All,
    /// Those that may run a command.
    Commands,
}

/// What is known of an entry.
pub(super) enum CallLine {
    /// It makes and answers none of these calls, cannot be read, or carries a marker that excludes it.
    Other,
    /// The user excludes the session.
    Excluded,
    /// It is this one.
    Entry(Box<Entry>),
}

/// Reads an entry, unless it is an answer without such calls or a result of none of the calls in `made`.
pub(super) fn call_line(
    tree: &SessionTree,
    index: EntryIndex,
    calls: Calls,
    made: &HashSet<String>,
) -> CallLine {
    let role = tree.role(index);
    if role == Some(StatedRole::ToolResult) && made.is_empty() {
        return CallLine::Other;
    }
    let Ok(line) = tree.raw_line(index) else {
        return CallLine::Other;
    };
    let is_wanted = match role {
        Some(StatedRole::Assistant) => may_call(&line, calls),
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

/// Returns false for the line of an answer that makes no such call.
fn may_call(line: &[u8], calls: Calls) -> bool {
    static NAMES: LazyLock<Vec<Finder<'static>>> =
        LazyLock::new(|| COMMANDS.iter().chain(&INPUTS).map(Finder::new).collect());
    let is_member = |end: usize| {
        // `name":"text` or `name":[`, also within a text. Spaces may be anywhere.
        let mut rest = line[end..].iter();
        let mut next = || rest.find(|byte| !matches!(byte, b' ' | b'\t' | b'\\'));
        next() == Some(&b'"') && next() == Some(&b':') && matches!(next(), Some(b'"' | b'['))
    };
    let mut names = NAMES.iter();
    let has = match calls {
        Calls::All => memmem::find(line, b"toolCall").is_some(),
        Calls::Commands => names.any(|name| {
            let length = name.needle().len();
            name.find_iter(line).any(|at| is_member(at + length))
        }),
    };
    // Few writers escape letters.
    has || memmem::find(line, b"\\u00").is_some()
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
