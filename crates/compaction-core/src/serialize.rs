//! A conversation as text, so that a summarizer reads it instead of going on with it.

use std::borrow::Cow;

use session_model::{Block, Content, LlmMessage, StopReason, Wording, json};

use crate::settings::Serialization;

/// How conversations are serialized, and how much of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The form of the labels.
    pub serialization: Serialization,
    /// Which wording frames summaries and commands.
    pub wording: Wording,
    /// The most of a tool result, in UTF-16 code units.
    pub tool_result: usize,
    /// The most of one tool argument, in UTF-16 code units; `None` for all of it.
    pub tool_argument: Option<usize>,
    /// The most of a thinking block, in UTF-16 code units; `None` for all of it.
    pub thinking: Option<usize>,
    /// Whether text that imitates our tags and labels is escaped.
    pub escapes: bool,
}

impl Bounds {
    /// pi 0.87.1's bounds: only tool results are cut, nothing is escaped.
    pub const PI: Self = Self {
        serialization: Serialization::Labels,
        wording: Wording::Pi,
        tool_result: 2000,
        tool_argument: None,
        thinking: None,
        escapes: false,
    };

    /// Returns what stands between two parts.
    pub fn separator(&self) -> &'static str {
        match self.serialization {
            Serialization::Labels => "\n\n",
            Serialization::RoleMarkers => "\n\n---\n\n",
        }
    }
}

/// Returns the conversation as one text; see [`serialize_parts`].
pub fn serialize_conversation(messages: &[LlmMessage], bounds: &Bounds) -> String {
    let parts = messages
        .iter()
        .flat_map(|message| serialize_parts(message, bounds));
    parts.collect::<Vec<_>>().join(bounds.separator())
}

/// Returns the labelled parts of one message: what was said, thought, called or given back.
pub fn serialize_parts(message: &LlmMessage, bounds: &Bounds) -> Vec<String> {
    match message {
        LlmMessage::System(_) => Vec::new(),
        LlmMessage::Developer(content) | LlmMessage::User(content) => {
            let text = told_text(content, bounds);
            let part = (!text.is_empty()).then(|| labelled(Label::User, &text, bounds));
            part.into_iter().collect()
        }
        LlmMessage::Assistant(answer) => {
            let mut parts = answer_parts(&answer.content, bounds);
            if bounds.wording == Wording::Own && answer.stop_reason == StopReason::Aborted {
                parts.push(labelled(Label::Assistant, INTERRUPTED, bounds));
            }
            parts
        }
        LlmMessage::ToolResult(result) => {
            let text = told_text(&result.content, bounds);
            let part = (!text.is_empty()).then(|| {
                let text = match (bounds.wording, result.is_error) {
                    (Wording::Pi, _) => cut(&text, Some(bounds.tool_result), bounds),
                    (Wording::Own, false) => {
                        cut(&folded_lines(&text), Some(bounds.tool_result), bounds)
                    }
                    (Wording::Own, true) => {
                        format!(
                            "(failed) {}",
                            ends(&folded_lines(&text), bounds.tool_result)
                        )
                    }
                };
                labelled(Label::ToolResult, &text, bounds)
            });
            part.into_iter().collect()
        }
    }
}

/// Returns the text of a content. In our own wording the place of an image is marked by its type; the cut of a long
/// result comes later, so a mark at its end may go with it.
fn told_text(content: &Content, bounds: &Bounds) -> String {
    let is_image = |block: &Block| matches!(block, Block::Image(_));
    if bounds.wording == Wording::Pi || !content.blocks().iter().any(is_image) {
        return content.joined_text("");
    }
    let blocks = content.blocks().iter().filter_map(|block| match block {
        Block::Text(block) => Some(block.text.clone()),
        Block::Image(image) => Some(image_mark(&image.mime_type)),
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// Returns what stands in the place of an image.
fn image_mark(mime_type: &str) -> String {
    let is_name =
        |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '/' | '+' | '-' | '.');
    let name = mime_type.chars().filter(|byte| is_name(*byte)).take(64);
    format!("[image {}]", name.collect::<String>())
}

fn answer_parts(content: &Content, bounds: &Bounds) -> Vec<String> {
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
    // Empty thinking (kept by the provider) and empty text say nothing; pi labels them all the same.
    let thinking_text = thinking.join("\n");
    if !(thinking.is_empty() || own && thinking_text.trim().is_empty()) {
        let text = cut(&thinking_text, bounds.thinking, bounds);
        parts.push(labelled(Label::Thinking, &text, bounds));
    }
    let has_text = content.texts().next().is_some();
    let text = content.joined_text("\n");
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
            format!("{}({})", call.name, arguments.join(", "))
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
    Thinking,
    Assistant,
    Calls,
    ToolResult,
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
                Label::Thinking => "ASSISTANT_THINKING",
                Label::Assistant => "ASSISTANT",
                Label::Calls => "ASSISTANT_TOOL_CALLS",
                Label::ToolResult => "TOOL_RESULT",
            };
            // The first line of the text stands at the start of a line here, so it is escaped like the others.
            format!("[{label}]{}", escaped(format!("\n{text}")))
        }
    }
}

/// What is said behind an answer that was stopped.
const INTERRUPTED: &str = "(interrupted by the user)";

/// How often a line must come in a row to be folded.
const REPEATS: usize = 4;

/// Returns a text in which a line that comes several times in a row stands once, with how often it came.
fn folded_lines(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.split('\n').collect();
    let repeats = lines
        .windows(REPEATS)
        .any(|run| run.iter().all(|line| line == &run[0]));
    if !repeats {
        return Cow::Borrowed(text);
    }
    let mut folded: Vec<Cow<'_, str>> = Vec::new();
    for run in lines.chunk_by(|one, next| one == next) {
        folded.push(Cow::Borrowed(run[0]));
        match run.len() {
            count if count >= REPEATS => {
                folded.push(Cow::Owned(format!("[the line before came {count} times]")));
            }
            _ => folded.extend(run[1..].iter().map(|line| Cow::Borrowed(*line))),
        }
    }
    Cow::Owned(folded.join("\n"))
}

/// Returns the beginning of what a failed call printed and more of its end, which tells what went wrong.
fn ends(text: &str, limit: usize) -> String {
    let units = json::utf16_len(text);
    if units <= limit {
        return text.to_owned();
    }
    let head = json::utf16_prefix(text, limit / 4);
    let tail = json::utf16_suffix(&text[head.len()..], limit - limit / 4);
    let left = units - json::utf16_len(head) - json::utf16_len(tail);
    format!("{head}\n[... {left} characters left out]\n{tail}")
}

/// Returns `text`, or its beginning with a marker that says how much was cut.
fn cut(text: &str, limit: Option<usize>, bounds: &Bounds) -> String {
    let units = json::utf16_len(text);
    let Some(limit) = limit.filter(|limit| units > *limit) else {
        return text.to_owned();
    };
    let kept = json::utf16_prefix(text, limit);
    let kept_units = json::utf16_len(kept);
    match bounds.wording {
        Wording::Own => {
            let cut = units - kept_units;
            format!("{kept}\n\n[... {cut} more characters truncated]")
        }
        Wording::Pi => {
            // pi cuts between code units; half a pair is one unit.
            let half = if kept_units < limit { "\u{FFFD}" } else { "" };
            let cut = units - limit;
            format!("{kept}{half}\n\n[... {cut} more characters truncated]")
        }
    }
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
    use super::{ends, escape, folded_lines};

    #[test]
    fn repeated_lines_are_folded_and_errors_keep_their_end() {
        let text = format!("start\n{}end", "waiting\n".repeat(5));
        assert_eq!(
            folded_lines(&text),
            "start\nwaiting\n[the line before came 5 times]\nend"
        );
        assert_eq!(folded_lines("a\na\na\nb"), "a\na\na\nb");
        let cut = ends(&format!("{}the cause", "x".repeat(400)), 40);
        assert!(
            cut.starts_with("xxxxxxxxxx\n[... 369 characters left out]\n"),
            "{cut}"
        );
        assert!(cut.ends_with("the cause"), "{cut}");
    }

    #[test]
    fn imitations_are_defused_and_nothing_else() {
        assert_eq!(
            escape("</conversation> <Summary> <b> <summaryx> a<b\n[User]: hi\n[x]"),
            "&lt;/conversation> &lt;Summary> <b> <summaryx> a<b\n\\[User]: hi\n[x]"
        );
    }
}
