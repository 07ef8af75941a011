//! Blocks of records: who said them, and how they are written in the family.

use session_model::json::Members;
use session_model::{Block, StopReason, Usage, UserParts};

use crate::json;
use crate::report::ImportReport;

/// Returns what a message with the role of the user holds; `whole` says what it is where the program wrote all of it.
pub(super) fn user_parts(
    report: &mut ImportReport,
    message: &Members<'_>,
    whole: Option<&str>,
) -> UserParts {
    let mut parts = UserParts::default();
    let mut add = |block: Block| match whole {
        Some(kind) => parts.insert(kind, block),
        None => parts.add(block),
    };
    if let Some(text) = message.text("content") {
        add(Block::text(text));
        return parts;
    }
    for block in message.objects("content") {
        if block.text("type").as_deref() != Some("tool_result")
            && let Some(block) = plain_block(report, &block, "message of the user")
        {
            add(block);
        }
    }
    parts
}

/// Returns a text or an image; anything else is counted as lost.
pub(crate) fn plain_block(
    report: &mut ImportReport,
    block: &Members<'_>,
    of: &str,
) -> Option<Block> {
    let kind = block.text("type").unwrap_or_default();
    let source = block.object("source").unwrap_or_default();
    match (kind.as_str(), source.text("data")) {
        ("text", _) => block.text("text").map(Block::text),
        ("image", Some(data)) => {
            let mime = source.text("media_type").unwrap_or_default();
            Some(Block::image(data, mime))
        }
        _ => {
            report.lose(&format!("block of a {of}: {kind}"));
            None
        }
    }
}

/// Returns a block of an answer; a call has the id `call`.
pub(crate) fn answer_block(block: &Members<'_>, id: Option<String>) -> Option<Block> {
    let text = |key| block.text(key).unwrap_or_default();
    Some(match &*text("type") {
        "text" => Block::text(text("text")),
        "thinking" => Block::thinking(text("thinking"), block.filled("signature")),
        "redacted_thinking" => {
            let mut redacted = Block::thinking(String::new(), block.filled("data"));
            if let Block::Thinking(block) = &mut redacted {
                block.redacted = true;
            }
            redacted
        }
        "tool_use" => {
            let arguments = block.raw("input").and_then(json::raw_object);
            Block::call(id?, text("name"), arguments)
        }
        _ => return None,
    })
}

pub(super) fn result_blocks(report: &mut ImportReport, block: &Members<'_>) -> Vec<Block> {
    if let Some(text) = block.text("content") {
        return vec![Block::text(text)];
    }
    let mut blocks = Vec::new();
    for block in block.objects("content") {
        blocks.extend(plain_block(report, &block, "result"));
    }
    blocks
}

/// Returns what an attachment tells the model, as far as it is text or images.
pub(super) fn attachment_blocks(report: &mut ImportReport, attachment: &Members<'_>) -> Vec<Block> {
    let content = attachment.object("content").unwrap_or_default();
    let file = content.object("file").unwrap_or_default();
    let found = [
        file.filled("content"),
        content.filled("content"),
        attachment.filled("content"),
        attachment.filled("snippet"),
        attachment.filled("prompt"),
        attachment.filled("banner"),
    ];
    let mut blocks: Vec<Block> = found
        .into_iter()
        .flatten()
        .take(1)
        .map(Block::text)
        .collect();
    let names = ["filename", "path", "displayPath"];
    let name = names.into_iter().find_map(|key| attachment.filled(key));
    if let (Some(Block::Text(text)), Some(name)) = (blocks.first_mut(), name) {
        text.text = format!("{name}\n\n{}", text.text);
    }
    if blocks.is_empty() {
        for block in attachment.objects("prompt") {
            blocks.extend(plain_block(report, &block, "queued message"));
        }
        let texts = attachment.texts("content").into_iter();
        blocks.extend(texts.map(Block::text));
    }
    blocks
}

pub(super) fn usage_of(usage: &Members<'_>) -> Usage {
    json::usage(
        usage.count("input_tokens").unwrap_or(0),
        usage.count("output_tokens").unwrap_or(0),
        usage.count("cache_read_input_tokens").unwrap_or(0),
        usage.count("cache_creation_input_tokens").unwrap_or(0),
    )
}

pub(super) fn stop_reason(reason: &str) -> Option<StopReason> {
    Some(match reason {
        "end_turn" | "stop_sequence" => StopReason::Stop,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::Length,
        other => StopReason::Other(other.to_owned()),
    })
}
