//! Which format a file has, by its first bytes.

use crate::format::Format;
use session_model::json::Members;

/// How many lines are looked at.
const MOST_LINES: usize = 64;

/// Returns the format of the file that begins with `head`, or `None` for a session of the pi family and for all else.
///
/// The more of the file is given, the more certain the answer; some 64 KiB are enough, and the first line should be
/// whole.
pub fn detect(head: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if let Some(format) = document(text) {
        return Some(format);
    }
    for line in text.lines().take(MOST_LINES) {
        let Some(object) = Members::parse(line.trim()) else {
            continue;
        };
        if is_record(Format::Copilot, &object) {
            return Some(Format::Copilot);
        }
        if is_native(&object) {
            return None;
        }
        if let Some(format) = Format::ALL
            .into_iter()
            .find(|format| is_record(*format, &object))
        {
            return Some(format);
        }
    }
    cut_line(text)
}

/// Returns which format the file that begins with `head` resembles, where [`detect`] found none, and why it is not read.
pub fn nearest_miss(head: &[u8]) -> Option<(Format, &'static str)> {
    if head.starts_with(b"SQLite format 3\0") {
        let reason = "a database is not read; write the session to a file with opencode export ID";
        return Some((Format::Opencode, reason));
    }
    if head.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
        let reason = "it is compressed with Zstandard; decompress it first";
        return Some((Format::Codex, reason));
    }
    let first = head.split(|byte| *byte == b'\n').next()?;
    let first = Members::parse(std::str::from_utf8(first).ok()?.trim())?;
    let is_index = first.raw("display").is_some() && first.raw("project").is_some();
    let reason = "it is the index of prompts; sessions are below projects/";
    is_index.then_some((Format::ClaudeCode, reason))
}

/// Returns true for the lines of the pi family.
fn is_native(object: &Members<'_>) -> bool {
    let kind = object.text("type").unwrap_or_default();
    match kind.as_str() {
        "session" => true,
        // oh-my-pi keeps a slot of fixed length for the title in front of the header.
        "title" => object.raw("pad").is_some(),
        _ => {
            object.raw("parentId").is_some() || object.raw("id").is_some_and(|_| kind == "message")
        }
    }
}

fn is_record(format: Format, object: &Members<'_>) -> bool {
    let kind = object.text("type").unwrap_or_default();
    let kind = kind.as_str();
    let has = |key| object.raw(key).is_some();
    match format {
        Format::Codex => {
            const TYPES: [&str; 7] = [
                "session_meta",
                "turn_context",
                "world_state",
                "response_item",
                "event_msg",
                "compacted",
                "token_usage_record",
            ];
            // Before September 2025 the first record had no type.
            let is_older = kind.is_empty() && has("id") && has("timestamp");
            let mut names = object.iter().map(|(name, _)| name);
            let is_older = is_older && names.any(|name| name == "instructions");
            is_older || (TYPES.contains(&kind) && object.object("payload").is_some())
        }
        Format::QwenCode => {
            let is_marked = has("provenance") || has("systemPayload");
            let message = object.object("message");
            let has_parts = message.is_some_and(|message| message.raw("parts").is_some());
            has("uuid") && has("sessionId") && (is_marked || has_parts)
        }
        Format::ClaudeCode => {
            const THREADED: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];
            const OTHERS: [&str; 10] = [
                "custom-title",
                "ai-title",
                "agent-name",
                "last-prompt",
                "queue-operation",
                "file-history-snapshot",
                "mode",
                "permission-mode",
                "worktree-state",
                "bridge-session",
            ];
            let is_qwen = is_record(Format::QwenCode, object);
            let is_threaded = THREADED.contains(&kind) && has("uuid") && has("sessionId");
            let is_other = OTHERS.contains(&kind) && (has("sessionId") || has("messageId"));
            let is_summary = kind == "summary" && has("leafUuid");
            !is_qwen && (is_threaded || is_other || is_summary)
        }
        Format::GeminiCli => {
            let is_metadata = has("sessionId") && has("projectHash");
            is_metadata || (kind == "gemini" && has("id") && has("content"))
        }
        Format::Copilot => {
            // The others have no dot in their types.
            kind.contains('.') && has("id") && has("timestamp") && object.object("data").is_some()
        }
        Format::Opencode | Format::Cline | Format::Goose | Format::Crush => false,
    }
}

/// Returns the format of a file that is one JSON document, by its first members.
fn document(text: &str) -> Option<Format> {
    if !text.starts_with('{') {
        return None;
    }
    let start: String = text.chars().take(16 * 1024).collect();
    let squeezed: String = start
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let has = |parts: &[&str]| parts.iter().all(|part| squeezed.contains(part));
    if squeezed.starts_with("{\"info\":{") && has(&["\"id\":\"ses_"]) {
        return Some(Format::Opencode);
    }
    if squeezed.starts_with("{\"crush\":{") {
        return Some(Format::Crush);
    }
    if squeezed.starts_with("{\"id\":\"") && has(&["\"working_dir\":"]) {
        return Some(Format::Goose);
    }
    if has(&["\"agent\":\"", "\"sessionId\":\"", "\"updated_at\":\""]) {
        return Some(Format::Cline);
    }
    let first = text.lines().next().and_then(Members::parse);
    let is_chat = first.is_none() && has(&["\"projectHash\":", "\"sessionId\":"]);
    is_chat.then_some(Format::GeminiCli)
}

/// Returns the format of a file whose first line is longer than what is known of it.
fn cut_line(text: &str) -> Option<Format> {
    let mut lines = text.lines();
    let first = lines.next()?;
    if Members::parse(first).is_some() || lines.next().is_some() {
        return None;
    }
    let start: String = first.chars().take(4096).collect();
    let squeezed: String = start
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let has = |part: &str| squeezed.contains(part);
    if has("\"payload\":{")
        && (has("\"type\":\"session_meta\"") || has("\"type\":\"response_item\""))
    {
        return Some(Format::Codex);
    }
    if has("\"uuid\":\"") && has("\"sessionId\":\"") {
        return Some(match has("\"provenance\":") || has("\"parts\":[") {
            true => Format::QwenCode,
            false => Format::ClaudeCode,
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{detect, nearest_miss};
    use crate::format::Format;

    fn check(head: &str, format: Option<Format>) {
        assert_eq!(detect(head.as_bytes()), format, "{head}");
    }

    #[test]
    fn sessions_of_the_family_are_not_foreign() {
        check(r#"{"type":"session","version":3,"id":"s"}"#, None);
        check(r#"{"type":"title","v":1,"title":"t","pad":"    "}"#, None);
        let headless = r#"{"type":"message","id":"a","parentId":null,"message":{}}"#;
        check(headless, None);
        check("", None);
        check("text", None);
    }

    #[test]
    fn formats_are_told_by_their_records() {
        let codex = r#"{"timestamp":"t","type":"event_msg","payload":{"type":"task_started"}}"#;
        check(codex, Some(Format::Codex));
        let claude = r#"{"type":"user","uuid":"u","sessionId":"s","message":{"content":"a"}}"#;
        check(claude, Some(Format::ClaudeCode));
        let qwen = r#"{"type":"user","uuid":"u","sessionId":"s","message":{"parts":[]}}"#;
        check(qwen, Some(Format::QwenCode));
        let gemini = r#"{"sessionId":"s","projectHash":"h","kind":"chat"}"#;
        check(gemini, Some(Format::GeminiCli));
        check(
            "{\n \"sessionId\": \"s\",\n \"projectHash\": \"h\",\n \"messages\": [",
            Some(Format::GeminiCli),
        );
        check(
            "{\n \"info\": {\n \"id\": \"ses_1\"",
            Some(Format::Opencode),
        );
        check(
            "{\"type\":\"session_meta\",\"payload\":{\"text\":\"cut",
            Some(Format::Codex),
        );
    }

    #[test]
    fn a_near_miss_says_what_to_do() {
        let miss = |head: &[u8]| nearest_miss(head).map(|(format, _)| format);
        assert_eq!(miss(b"SQLite format 3\0"), Some(Format::Opencode));
        assert_eq!(miss(&[0x28, 0xB5, 0x2F, 0xFD, 0]), Some(Format::Codex));
        let index = br#"{"display":"hi","project":"/p"}"#;
        assert_eq!(miss(index), Some(Format::ClaudeCode));
        assert_eq!(miss(b"text"), None);
    }
}
