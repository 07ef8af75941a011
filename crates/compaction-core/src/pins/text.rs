//! The text that a pin of an entry keeps.

use session_model::{AgentMessage, Block, Content, Entry, EntryBody};

use crate::pins::PIN_ENTRY;
use crate::prose::prose_of;

/// Returns the pinned text of a pin entry.
pub(crate) fn pinned_text(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Custom { custom_type, .. } if custom_type == PIN_ENTRY => text_of(entry),
        _ => None,
    }
}

/// Returns the text that a pin of the entry keeps; `None` if the entry has no text.
pub(super) fn text_of(entry: &Entry) -> Option<String> {
    let text = match &entry.body {
        EntryBody::Message(message) => text_of_message(message)?,
        EntryBody::CustomMessage(message) => text_of_content(&message.content)?,
        EntryBody::Compaction(compaction) => prose_of(&compaction.summary),
        EntryBody::BranchSummary(branch) => prose_of(&branch.summary),
        EntryBody::Custom { custom_type, data } if custom_type == PIN_ENTRY => {
            data.as_ref()?.string_member("text")?.to_string()
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn text_of_message(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::BashExecution(command) => Some(command.to_text()),
        AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
            Some(prose_of(&summary.summary))
        }
        AgentMessage::System(_) => None,
        AgentMessage::User(_)
        | AgentMessage::Developer(_)
        | AgentMessage::Assistant(_)
        | AgentMessage::ToolResult(_)
        | AgentMessage::Custom(_)
        | AgentMessage::Other { .. } => text_of_content(message.content()?),
    }
}

/// Returns the text of a content, with a word for each image; `None` without text.
fn text_of_content(content: &Content) -> Option<String> {
    let blocks = match content {
        Content::Text(text) => return Some(text.clone()),
        Content::Blocks(blocks) => blocks,
    };
    let has_text = content.texts().any(|text| !text.trim().is_empty());
    let parts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        Block::Image(_) => Some("[image]"),
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
    });
    has_text.then(|| parts.collect::<Vec<_>>().join("\n"))
}
