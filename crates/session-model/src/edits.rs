//! What context edits make of the messages of entries.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryId};
use crate::message::{AgentMessage, Block, Content};

/// What context edits make of entries; of several on one target the last counts.
#[derive(Debug, Clone, Default)]
pub struct Edits(BTreeMap<EntryId, Option<Content>>);

impl Edits {
    /// Returns the edits among `entries`, which are in order.
    pub fn of<'a>(entries: impl Iterator<Item = &'a Entry>) -> Self {
        let edits = entries.filter_map(|entry| match &entry.body {
            EntryBody::ContextEdit {
                target,
                replacement,
            } => Some((target.clone(), replacement.clone())),
            _ => None,
        });
        Self(edits.collect())
    }

    /// Applies the edit of `entry` to its messages, if there is one, and returns true when it takes them out. What a
    /// command of the user printed is edited with `commands` alone (pi leaves it as it is).
    pub fn apply(
        &self,
        entry: &Entry,
        messages: &mut Vec<Arc<AgentMessage>>,
        commands: bool,
    ) -> bool {
        match self.0.get(&entry.id) {
            None => false,
            Some(None) => {
                messages.clear();
                true
            }
            Some(Some(content)) => {
                for message in messages {
                    let is_command = matches!(**message, AgentMessage::BashExecution(_));
                    if is_command && !commands {
                        continue;
                    }
                    let content = fitting_content(message, content.clone());
                    *message = Arc::new(message.with_content(content));
                }
                false
            }
        }
    }
}

/// A plain text becomes one text block for the roles whose content is always blocks.
fn fitting_content(message: &AgentMessage, content: Content) -> Content {
    match (message, content) {
        (AgentMessage::Assistant(_) | AgentMessage::ToolResult(_), Content::Text(text)) => {
            Content::Blocks(vec![Block::text(text)])
        }
        (_, content) => content,
    }
}
