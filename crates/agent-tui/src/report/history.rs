//! The end of a conversation that is resumed, as the transcript shows it.

use std::collections::BTreeMap;

use compaction_core::Profile;
use session_model::{AgentMessage, EntryBody, EntryId, build_context};
use session_protocol::Snapshot;
use session_text::{call_text, counted, entry_text};

use super::Built;
use crate::block::{Block, ToolCard};

/// How many messages are shown; /tree and /recall have the others.
const SHOWN: usize = 30;

/// How many messages of the user the editor remembers.
const PROMPTS: usize = 100;

/// The most characters of a result that a card holds.
const OUTPUT: usize = 2_000;

pub(super) fn history(session: &Snapshot) -> Built {
    let path = session.tree.path(session.leaf);
    let context = build_context(&path, Profile::Own.context_rules());
    let messages: Vec<&AgentMessage> = context.messages().map(|(_, message)| &**message).collect();
    let texts = messages.iter().filter_map(|message| match message {
        AgentMessage::User(user) => Some(user.content.joined_text("\n")),
        _ => None,
    });
    let mut prompts: Vec<String> = texts.collect();
    let surplus = prompts.len().saturating_sub(PROMPTS);
    prompts.drain(..surplus);
    // A turn is shown from its beginning where it is not too long.
    let mut start = messages.len().saturating_sub(SHOWN);
    let is_user = |message: &&AgentMessage| matches!(message, AgentMessage::User(_));
    start += messages[start..].iter().position(is_user).unwrap_or(0);
    let mut blocks = Vec::new();
    if start > 0 {
        let earlier = counted(start, "earlier message");
        blocks.push(Block::Text(vec![format!("... {earlier}; /tree has them")]));
    }
    let mut calls = BTreeMap::new();
    for message in &messages[start..] {
        blocks.extend(of_message(message, &mut calls));
    }
    Built::History { blocks, prompts }
}

/// Returns the text of an entry, or of the newest answer that has one.
pub(super) fn copied(session: &Snapshot, entry: Option<&EntryId>) -> Option<String> {
    let tree = &session.tree;
    let text_of = |index| tree.entry(index).ok().map(|entry| entry_text(&entry));
    let text = match entry {
        Some(id) => text_of(tree.find(id)?)?,
        None => {
            let path = tree.path(session.leaf);
            let newest_first = path.entries().iter().rev();
            let mut answers = newest_first.filter_map(|index| {
                let entry = tree.entry(*index).ok()?;
                match &entry.body {
                    EntryBody::Message(message) => match &**message {
                        AgentMessage::Assistant(answer) => Some(answer.content.joined_text("\n")),
                        _ => None,
                    },
                    _ => None,
                }
            });
            answers.find(|text| !text.trim().is_empty())?
        }
    };
    (!text.trim().is_empty()).then_some(text)
}

fn of_message(message: &AgentMessage, calls: &mut BTreeMap<String, String>) -> Option<Block> {
    match message {
        AgentMessage::User(user) => Some(Block::User(user.content.joined_text("\n"))),
        AgentMessage::Assistant(answer) => {
            for call in answer.content.tool_calls() {
                let arguments = serde_json::from_str(&call.arguments_text()).unwrap_or_default();
                calls.insert(call.id.clone(), call_text(&call.name, &arguments));
            }
            let text = answer.content.joined_text("\n");
            (!text.trim().is_empty()).then_some(Block::Answer(text))
        }
        AgentMessage::ToolResult(result) => {
            let text = result.content.joined_text("\n");
            let output: String = text.chars().take(OUTPUT).collect();
            let name = result.tool_name.clone();
            Some(Block::Tool(Box::new(ToolCard {
                call: calls
                    .remove(&result.tool_call_id)
                    .unwrap_or_else(|| name.clone()),
                name,
                seconds: 0.0,
                is_error: result.is_error,
                truncated: output.len() < text.len(),
                output,
                details: None,
            })))
        }
        AgentMessage::CompactionSummary(_) | AgentMessage::BranchSummary(_) => {
            Some(Block::Text(vec![
                "-- a summary of what came before".to_owned(),
            ]))
        }
        _ => None,
    }
}
