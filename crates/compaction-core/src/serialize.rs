//! A conversation as text, so that a summarizer reads it instead of going on with it.

mod shorten;

use std::collections::BTreeMap;

use session_model::{
    AgentMessage, Block, Content, LlmMessage, StopReason, ToolCall, UserParts, Wording,
    convert_message, json, without_private,
};

use crate::settings::Serialization;
use shorten::{ends, folded_lines, outline};

/// The form of serialized conversations, and the limit of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The form of the labels.
    pub serialization: Serialization,
    /// The wording that frames summaries and commands.
    pub wording: Wording,
    /// The most of a tool result, in UTF-16 code units.
    pub tool_result: usize,
    /// The most of one tool argument, in UTF-16 code units; `None` for all of it.
    pub tool_argument: Option<usize>,
    /// The limit of a thinking block, in UTF-16 code units; 0 leaves it out.
    pub thinking: usize,
    /// True if text that imitates our tags and labels is escaped.
    pub escapes: bool,
}

impl Bounds {
    /// pi 1.6.0's bounds: thinking is left out, only tool results are cut, nothing is escaped.
    pub const PI: Self = Self {
        serialization: Serialization::Labels,
        wording: Wording::Pi,
        tool_result: 2000,
        tool_argument: None,
        thinking: 0,
        escapes: false,
    };

    /// Returns the separator of two parts.
    pub fn separator(&self) -> &'static str {
        match self.serialization {
            Serialization::Labels => "\n\n",
            Serialization::RoleMarkers => "\n\n---\n\n",
        }
    }
}

/// Returns the labelled parts of one message: text, thinking, calls or results.
pub fn serialize_parts(message: &LlmMessage, bounds: &Bounds) -> Vec<String> {
    let mut serializer = Serializer::new(bounds);
    serializer.note_calls(message);
    serializer.parts_of(message, false)
}

/// Serializes messages one after the other. In our own wording, calls that one answer makes together are numbered, with
/// their results, and messages of the user during a running turn are marked.
pub(crate) struct Serializer<'a> {
    bounds: &'a Bounds,
    /// The numbers of calls that were made together, by their ids.
    numbers: BTreeMap<String, usize>,
    /// True if the newest answer called tools and has not ended its turn.
    works: bool,
}

impl<'a> Serializer<'a> {
    /// Returns one at the beginning of a conversation.
    pub(crate) const fn new(bounds: &'a Bounds) -> Self {
        Self {
            bounds,
            numbers: BTreeMap::new(),
            works: false,
        }
    }

    /// Returns the labelled parts of the next message.
    pub(crate) fn parts(&mut self, message: &AgentMessage) -> Vec<String> {
        let Some(told) = convert_message(message, self.bounds.wording) else {
            return Vec::new();
        };
        let steers = self.works && matches!(message, AgentMessage::User(_));
        self.note_calls(&told);
        if self.bounds.wording == Wording::Own {
            let (inserted, own) = inserted(message);
            if !inserted.is_empty() {
                let text = told_text(&inserted, self.bounds);
                let mut parts = vec![labelled(Label::Context, &text, self.bounds)];
                parts.extend(self.parts_of(&LlmMessage::User(own), steers));
                return parts;
            }
        }
        self.parts_of(&told, steers)
    }

    /// Numbers the calls of an answer that makes several.
    fn note_calls(&mut self, told: &LlmMessage) {
        if self.bounds.wording == Wording::Own
            && let LlmMessage::Assistant(answer) = told
        {
            let calls: Vec<&ToolCall> = answer.content.tool_calls().collect();
            self.works = !calls.is_empty() && answer.stop_reason != StopReason::Aborted;
            if calls.len() > 1 {
                let ids = calls.iter().map(|call| call.id.clone());
                self.numbers.extend(ids.zip(1..));
            }
        }
    }

    /// Returns the number of a call, with a mark.
    fn number(&self, id: &str) -> String {
        let number = self.numbers.get(id);
        number.map_or_else(String::new, |number| format!("#{number} "))
    }

    fn parts_of(&self, message: &LlmMessage, steers: bool) -> Vec<String> {
        let bounds = self.bounds;
        match message {
            LlmMessage::System(_) => Vec::new(),
            LlmMessage::Developer(content) | LlmMessage::User(content) => {
                let mut text = told_text(content, bounds);
                if steers && !text.is_empty() {
                    text.insert_str(0, STEERING);
                }
                let part = (!text.is_empty()).then(|| labelled(Label::User, &text, bounds));
                part.into_iter().collect()
            }
            LlmMessage::Assistant(answer) => {
                let mut parts = answer_parts(&answer.content, self);
                if bounds.wording == Wording::Own && answer.stop_reason == StopReason::Aborted {
                    parts.push(labelled(Label::Assistant, INTERRUPTED, bounds));
                }
                parts
            }
            LlmMessage::ToolResult(result) => {
                let text = told_text(&result.content, bounds);
                if text.is_empty() {
                    return Vec::new();
                }
                let limit = bounds.tool_result;
                let text = match (bounds.wording, result.is_error) {
                    (Wording::Pi, _) => cut(&text, Some(limit), bounds),
                    (Wording::Own, false) => {
                        let text = folded_lines(&text);
                        let outline = outline(&result.tool_name, &text, limit);
                        outline.unwrap_or_else(|| cut(&text, Some(limit), bounds))
                    }
                    (Wording::Own, true) => {
                        format!("(failed) {}", ends(&folded_lines(&text), limit))
                    }
                };
                let text = format!("{}{text}", self.number(&result.tool_call_id));
                vec![labelled(Label::ToolResult, &text, bounds)]
            }
        }
    }
}

/// The mark before a message of the user during a running turn.
const STEERING: &str = "(while the work went on) ";

/// Returns the text of a content. In our own wording private spans are removed, and each image is replaced by a mark
/// with its type; a long result is cut later, so a mark at its end may be removed too.
fn told_text(content: &Content, bounds: &Bounds) -> String {
    let is_image = |block: &Block| matches!(block, Block::Image(_));
    if bounds.wording == Wording::Pi {
        return content.joined_text("");
    }
    if !content.blocks().iter().any(is_image) {
        return without_private(&content.joined_text("")).into_owned();
    }
    let blocks = content.blocks().iter().filter_map(|block| match block {
        Block::Text(block) => Some(block.text.clone()),
        Block::Image(image) => Some(image_mark(&image.mime_type)),
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
    });
    without_private(&blocks.collect::<Vec<_>>().join("\n")).into_owned()
}

/// Returns the text that replaces an image.
fn image_mark(mime_type: &str) -> String {
    let is_name =
        |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '/' | '+' | '-' | '.');
    let name = mime_type.chars().filter(|byte| is_name(*byte)).take(64);
    format!("[image {}]", name.collect::<String>())
}

fn answer_parts(content: &Content, serializer: &Serializer<'_>) -> Vec<String> {
    let bounds = serializer.bounds;
    let mut parts = Vec::new();
    let blocks = content.blocks().iter();
    let thinking: Vec<&str> = blocks
        .clone()
        .filter_map(|block| match block {
            Block::Thinking(block) => Some(block.thinking.as_str()),
            _ => None,
        })
        .collect();
    let own = bounds.wording == Wording::Own;
    // Empty thinking (kept by the provider) and empty text contain nothing; pi labels empty text nevertheless.
    let thinking_text = thinking.join("\n");
    if bounds.thinking > 0 && !thinking_text.trim().is_empty() {
        let text = cut(&thinking_text, Some(bounds.thinking), bounds);
        parts.push(labelled(Label::Thinking, &text, bounds));
    }
    let has_text = content.texts().next().is_some();
    let mut text = content.joined_text("\n");
    if own {
        text = without_private(&text).into_owned();
    }
    if has_text && !(own && text.trim().is_empty()) {
        parts.push(labelled(Label::Assistant, &text, bounds));
    }
    let calls: Vec<String> = content
        .tool_calls()
        .map(|call| {
            let arguments = call.arguments.as_ref();
            let arguments = arguments.map(|raw| json::entries(raw.get()));
            let arguments: Vec<String> = arguments
                .into_iter()
                .flatten()
                .map(|(key, value)| {
                    let value = cut(&value, bounds.tool_argument, bounds);
                    format!("{key}={value}")
                })
                .collect();
            let number = serializer.number(&call.id);
            format!("{number}{}({})", call.name, arguments.join(", "))
        })
        .collect();
    if !calls.is_empty() {
        parts.push(labelled(Label::Calls, &calls.join("; "), bounds));
    }
    parts
}

#[derive(Clone, Copy)]
enum Label {
    User,
    /// A message that an agent inserted in the user's role.
    Context,
    Thinking,
    Assistant,
    Calls,
    ToolResult,
}

/// Returns what an agent put into a message in the user's place, and what the user wrote.
fn inserted(message: &AgentMessage) -> (Content, Content) {
    let parts = match message {
        AgentMessage::Custom(custom) if !custom.display => {
            return (custom.content.clone(), Content::default());
        }
        AgentMessage::User(user) => UserParts::of(&user.content),
        _ => UserParts::default(),
    };
    let inserted = parts.inserted.into_iter().flat_map(|(_, blocks)| blocks);
    (
        Content::Blocks(inserted.collect()),
        Content::Blocks(parts.own),
    )
}

fn labelled(label: Label, text: &str, bounds: &Bounds) -> String {
    let escaped = |text: String| match bounds.escapes {
        true => escape(&text),
        false => text,
    };
    match bounds.serialization {
        Serialization::Labels => {
            let label = match label {
                Label::User => "User",
                Label::Context => "Context",
                Label::Thinking => "Assistant thinking",
                Label::Assistant => "Assistant",
                Label::Calls => "Assistant tool calls",
                Label::ToolResult => "Tool result",
            };
            format!("[{label}]: {}", escaped(text.to_owned()))
        }
        Serialization::RoleMarkers => {
            let label = match label {
                Label::User => "USER",
                Label::Context => "CONTEXT",
                Label::Thinking => "ASSISTANT_THINKING",
                Label::Assistant => "ASSISTANT",
                Label::Calls => "ASSISTANT_TOOL_CALLS",
                Label::ToolResult => "TOOL_RESULT",
            };
            // The first line of the text begins a line here, so it is escaped like the others.
            format!("[{label}]{}", escaped(format!("\n{text}")))
        }
    }
}

/// The mark after an answer that was stopped.
const INTERRUPTED: &str = "(interrupted by the user)";

/// Returns `text`, or its beginning with a marker that contains the length of the rest.
fn cut(text: &str, limit: Option<usize>, bounds: &Bounds) -> String {
    let units = json::utf16_len(text);
    let Some(limit) = limit.filter(|limit| units > *limit) else {
        return text.to_owned();
    };
    let kept = json::utf16_prefix(text, limit);
    let cut = match bounds.wording {
        Wording::Own => units - json::utf16_len(kept),
        // The half of a pair that does not fit is not counted.
        Wording::Pi => units - limit,
    };
    format!("{kept}\n\n[... {cut} more characters truncated]")
}

/// The tags that frame what this project sends and stores.
const TAGS: [&str; 12] = [
    "conversation",
    "previous-summary",
    "additional-context",
    "read-files",
    "modified-files",
    "summary",
    "ledger",
    "ledger-text",
    "state_snapshot",
    "analysis",
    "restored-file",
    "hook-context",
];

/// The labels that open a part.
const LABELS: [&str; 10] = [
    "[User]",
    "[Assistant]",
    "[Assistant thinking]",
    "[Assistant tool calls]",
    "[Tool result]",
    "[USER]",
    "[ASSISTANT]",
    "[ASSISTANT_THINKING]",
    "[ASSISTANT_TOOL_CALLS]",
    "[TOOL_RESULT]",
];

/// Returns `text` with everything that imitates our tags, or a label at the start of a line, defused.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        if number > 0 && LABELS.iter().any(|label| line.starts_with(label)) {
            out.push('\\');
        }
        if line.contains('<') {
            escape_tags(line, &TAGS, &mut out);
        } else {
            out.push_str(line);
        }
    }
    out
}

/// Returns `text` on one line, defused as by [`escape`], at the start of a line, too.
pub(crate) fn escape_line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    escape(&format!("\n{line}")).split_off(1)
}

/// Returns a model's text with the tags of a ledger in it defused: only code opens and ends one.
pub(crate) fn escape_ledger(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_tags(text, &["ledger", "ledger-text"], &mut out);
    out
}

fn escape_tags(line: &str, tags: &[&str], out: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let name = after.strip_prefix('/').unwrap_or(after);
        let imitates = tags.iter().any(|tag| {
            let head = name.get(..tag.len());
            let end = name.as_bytes().get(tag.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(tag))
                && end.is_none_or(|end| !end.is_ascii_alphanumeric() && !matches!(end, b'-' | b'_'))
        });
        out.push_str(if imitates { "&lt;" } else { "<" });
        rest = after;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn imitations_are_defused_and_nothing_else() {
        assert_eq!(
            escape("</conversation> <Summary> <b> <summaryx> a<b\n[User]: hi\n[x]"),
            "&lt;/conversation> &lt;Summary> <b> <summaryx> a<b\n\\[User]: hi\n[x]"
        );
    }
}
