//! Entries and messages in the form that session files have.

use std::borrow::Cow;
use std::collections::BTreeSet;

use compaction_core::{CompactionPlan, Disposition};
use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{
    AgentMessage, EntryDraft, EntryId, EntryIndex, MessageDraft, SessionPath, SessionTree, Stamp,
    SummaryMessage, Timestamp,
};

/// The longest tool output that hooks get, in bytes.
const OUTPUT: usize = 100_000;

/// Returns entries as they are in the file, without those that cannot be read.
pub(super) fn entries(tree: &SessionTree, indices: impl Iterator<Item = EntryIndex>) -> Vec<Value> {
    indices.filter_map(|index| entry(tree, index)).collect()
}

fn entry(tree: &SessionTree, index: EntryIndex) -> Option<Value> {
    let line = String::from_utf8(tree.raw_line(index).ok()?).ok()?;
    match RawJson::parse(line.trim()).ok()?.to_value() {
        Value::Null => None,
        value => Some(value),
    }
}

/// Returns the entries of the path from the first that the previous compaction left in the context, and how many
/// are left out.
pub(super) fn branch_entries(plan: &CompactionPlan, path: &SessionPath<'_>) -> (Vec<Value>, usize) {
    let is_own = |fate: Disposition| match fate {
        Disposition::PreviousSummary => false,
        // Its place may be long before a compaction.
        Disposition::System => plan.previous_summary.is_none(),
        Disposition::Kept
        | Disposition::Summarized
        | Disposition::TurnPrefix
        | Disposition::Pruned
        | Disposition::NoMessage => true,
    };
    let own = plan
        .entries
        .iter()
        .filter(|entry| is_own(entry.disposition));
    let own: BTreeSet<&str> = own.map(|entry| entry.entry_id.as_str()).collect();
    let (tree, all) = (path.tree(), path.entries());
    let first = all.iter().position(|index| own.contains(tree.id(*index)));
    let shown = &all[first.unwrap_or(0)..];
    let entries = entries(tree, shown.iter().copied());
    let left_out = all.len() - entries.len();
    (entries, left_out)
}

/// Returns a message as it is in session files; one of an unknown kind as its text.
pub(super) fn message(message: &AgentMessage) -> Value {
    let summary = |summary: &SummaryMessage| {
        let mut value = json!({ "role": message.role(), "summary": summary.summary });
        if let Some(at) = summary.timestamp {
            value["timestamp"] = json!(at.as_millis());
        }
        value
    };
    match message {
        AgentMessage::CompactionSummary(said) | AgentMessage::BranchSummary(said) => summary(said),
        AgentMessage::System(_)
        | AgentMessage::User(_)
        | AgentMessage::Developer(_)
        | AgentMessage::Assistant(_)
        | AgentMessage::ToolResult(_)
        | AgentMessage::BashExecution(_)
        | AgentMessage::Custom(_)
        | AgentMessage::Other { .. } => serialized(message).unwrap_or_else(
            || json!({ "role": message.role(), "content": message.display_text() }),
        ),
    }
}

/// Returns a message as an entry stores it, or none when it cannot be serialized.
fn serialized(message: &AgentMessage) -> Option<Value> {
    const NO_TIME: Timestamp = Timestamp::from_millis(0);
    let draft = MessageDraft::new(message.clone()).ok()?;
    let line = EntryDraft::Message(Box::new(draft)).stamp(&Stamp {
        id: EntryId::new(""),
        parent: None,
        timestamp: NO_TIME,
        part_of: None,
    });
    let mut entry = RawJson::parse(&line).ok()?.to_value();
    let mut message = entry.get_mut("message")?.take();
    // A message without a time has the time of the entry.
    if message["timestamp"] == json!(NO_TIME.as_millis())
        && let Some(members) = message.as_object_mut()
    {
        members.remove("timestamp");
    }
    Some(message)
}

/// Returns the beginning of an output, with a note of what was left out.
pub(super) fn bounded(output: &str) -> Cow<'_, str> {
    let end = output.floor_char_boundary(OUTPUT);
    match output.len() - end {
        0 => Cow::Borrowed(output),
        left => Cow::Owned(format!("{}\n[{left} more bytes]", &output[..end])),
    }
}
