//! How the content of new messages is serialized.

use crate::json::{RawJson, quoted};
use crate::message::{Block, Content};

/// Returns the JSON text of content.
pub(crate) fn content_text(content: &Content) -> String {
    match content {
        Content::Text(text) => quoted(text),
        Content::Blocks(blocks) => {
            let mut out = "[".to_owned();
            for block in blocks.iter().filter_map(block_text) {
                if out.len() > 1 {
                    out.push(',');
                }
                out.push_str(&block);
            }
            out.push(']');
            out
        }
    }
}

/// A member of an object that is serialized: its name, and its value as JSON text.
pub(super) type Member = (&'static str, String);

/// Returns the JSON text of the object with these members.
pub(super) fn object_text(members: &[Member]) -> String {
    let lengths = members
        .iter()
        .map(|(name, value)| name.len() + value.len() + 4);
    let mut out = String::with_capacity(lengths.sum::<usize>() + 2);
    out.push('{');
    for (name, value) in members {
        if out.len() > 1 {
            out.push(',');
        }
        push_member(&mut out, name, value);
    }
    out.push('}');
    out
}

/// Writes a member of an object: the name and the JSON text of its value.
pub(crate) fn push_member(out: &mut String, name: &str, value: &str) {
    for part in ["\"", name, "\":", value] {
        out.push_str(part);
    }
}

/// Adds a member when there is a text for it.
pub(super) fn push_optional(members: &mut Vec<Member>, name: &'static str, text: Option<&str>) {
    if let Some(text) = text {
        members.push((name, quoted(text)));
    }
}

/// Returns the JSON text of a block; unknown blocks cannot be serialized again and are left out.
fn block_text(block: &Block) -> Option<String> {
    let mut members: Vec<Member> = Vec::new();
    match block {
        Block::Text(block) => {
            members.push(("type", quoted("text")));
            members.push(("text", quoted(&block.text)));
            push_optional(&mut members, "textSignature", block.signature.as_deref());
        }
        Block::Image(block) => {
            members.push(("type", quoted("image")));
            members.push(("data", quoted(&block.data)));
            members.push(("mimeType", quoted(&block.mime_type)));
        }
        Block::Thinking(block) => {
            members.push(("type", quoted("thinking")));
            members.push(("thinking", quoted(&block.thinking)));
            push_optional(
                &mut members,
                "thinkingSignature",
                block.signature.as_deref(),
            );
            if block.redacted {
                members.push(("redacted", "true".to_owned()));
            }
        }
        Block::ToolCall(call) => {
            members.push(("type", quoted("toolCall")));
            members.push(("id", quoted(&call.id)));
            members.push(("name", quoted(&call.name)));
            let arguments = call.arguments.as_ref().map(RawJson::one_line);
            members.push(("arguments", arguments.unwrap_or_else(|| "{}".to_owned())));
            push_optional(&mut members, "thoughtSignature", call.signature.as_deref());
        }
        Block::Other { .. } => return None,
    }
    Some(object_text(&members))
}
