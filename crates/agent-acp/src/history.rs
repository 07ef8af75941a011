//! Replays the conversation so far to an editor that loads a session.

use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{AgentMessage, Block, Content, Entry, EntryBody};
use session_protocol::Snapshot;

use crate::tool;
use crate::update::{Translator, chunk};

/// The length of a result that is sent, in bytes.
const RESULT: usize = 8000;

/// Replays the entries of the path one after another; `tell` gets the updates of each.
pub(crate) fn updates(session: &Snapshot, translator: &mut Translator) -> Vec<Value> {
    let path = session.tree.path(session.leaf);
    let entries = path
        .entries()
        .iter()
        .filter_map(|index| session.tree.entry(*index).ok());
    let mut updates = Vec::new();
    for entry in entries {
        of_entry(&entry, translator, &mut updates);
    }
    updates
}

fn of_entry(entry: &Entry, translator: &mut Translator, updates: &mut Vec<Value>) {
    match &entry.body {
        EntryBody::Message(message) => of_message(message, translator, updates),
        EntryBody::Compaction(compaction) => {
            let id = format!("compaction-{}", entry.id);
            let text = tool::text(&compaction.summary);
            updates.push(json!({
                "sessionUpdate": "tool_call", "toolCallId": id, "kind": "think", "status": "completed",
                "title": format!("Compacted {} tokens", compaction.tokens_before),
                "content": text.into_iter().collect::<Vec<_>>(),
            }));
        }
        EntryBody::BranchSummary(branch) => {
            updates.push(chunk(
                "agent_thought_chunk",
                &format!("Summary of a branch that was left:\n\n{}", branch.summary),
            ));
        }
        _ => {}
    }
}

fn of_message(message: &AgentMessage, translator: &mut Translator, updates: &mut Vec<Value>) {
    match message {
        AgentMessage::User(user) => blocks("user_message_chunk", &user.content, updates),
        AgentMessage::BashExecution(run) => {
            updates.push(chunk("user_message_chunk", &format!("! {}", run.command)));
        }
        AgentMessage::Assistant(answer) => {
            blocks("agent_message_chunk", &answer.content, updates);
            for call in answer.content.tool_calls() {
                let arguments = call
                    .arguments
                    .as_ref()
                    .map(RawJson::to_value)
                    .unwrap_or_default();
                updates.extend(translator.begin(&call.id, &call.name, &arguments, "pending"));
            }
        }
        AgentMessage::ToolResult(result) => {
            let text = result.content.joined_text("\n");
            let end = text.floor_char_boundary(RESULT);
            updates.extend(translator.end(
                &result.tool_call_id,
                result.is_error,
                &text[..end],
                None,
            ));
        }
        AgentMessage::System(_)
        | AgentMessage::Developer(_)
        | AgentMessage::Custom(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_)
        | AgentMessage::Other { .. } => {}
    }
}

/// Tells texts, thinking and images in their order.
fn blocks(kind: &str, content: &Content, updates: &mut Vec<Value>) {
    if let Content::Text(text) = content {
        updates.push(chunk(kind, text));
    }
    for block in content.blocks() {
        match block {
            Block::Text(text) if !text.text.is_empty() => updates.push(chunk(kind, &text.text)),
            Block::Thinking(thinking) if !thinking.thinking.is_empty() => {
                updates.push(chunk("agent_thought_chunk", &thinking.thinking));
            }
            Block::Image(image) if image.has_bytes() => updates.push(json!({
                "sessionUpdate": kind,
                "content": { "type": "image", "data": image.data, "mimeType": image.mime_type },
            })),
            Block::Text(_)
            | Block::Thinking(_)
            | Block::Image(_)
            | Block::ToolCall(_)
            | Block::Other { .. } => {}
        }
    }
}
