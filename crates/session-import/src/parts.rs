//! Parts of messages as the Gemini API has them, which gemini-cli and qwen-code store.

use session_model::json::{Members, RawJson};
use session_model::{Block, Usage};

use crate::emitter::{CallResult, Emitter};
use crate::json;

/// Returns the texts and images of parts.
pub(crate) fn plain_blocks(emitter: &mut Emitter<'_>, parts: &[Members<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in parts {
        if let Some(text) = part.text("text") {
            match part.flag("thought") {
                true => blocks.push(Block::thinking(text, part.filled("thoughtSignature"))),
                false => blocks.push(Block::text(text)),
            }
        } else if let Some(data) = part.object("inlineData") {
            let mime = data.text("mimeType").unwrap_or_default();
            match data.text("data").filter(|_| mime.starts_with("image/")) {
                Some(data) => blocks.push(Block::image(data, mime)),
                None => emitter
                    .report
                    .lose("data of a message that is not an image"),
            }
        } else if let Some(file) = part.object("fileData") {
            let uri = file.text("fileUri").unwrap_or_default();
            blocks.push(Block::text(format!("[file {uri}]")));
        } else if part.raw("functionCall").is_none() && part.raw("functionResponse").is_none() {
            let kind = part.iter().next().map_or("", |(name, _)| name);
            emitter.report.lose(&format!("part of a message: {kind}"));
        }
    }
    blocks
}

/// Returns the id of a call; one without gets its place.
pub(crate) fn call_id(call: &Members<'_>, record: &str, place: usize) -> String {
    let id = call.filled("id");
    id.unwrap_or_else(|| format!("{record}.call{}", place + 1))
}

/// Returns a call.
pub(crate) fn call_block(function: &Members<'_>, id: String) -> Block {
    let name = function.text("name").unwrap_or_default();
    let arguments = function.raw("args").and_then(json::raw_object);
    Block::call(id, name, arguments)
}

/// Returns what a function responded.
pub(crate) fn response(function: &Members<'_>) -> CallResult {
    let response = function.object("response").unwrap_or_default();
    let error = response.text("error");
    let is_error = error.is_some();
    let text = error.or(response.text("output"));
    let text = text.unwrap_or_else(|| function.raw("response").unwrap_or_default().to_owned());
    CallResult {
        content: vec![Block::text(text)],
        is_error,
        ..CallResult::default()
    }
}

/// Returns usage: prompt tokens include the cached ones, and thoughts may or may not be among the tokens of the answer,
/// so the total tells.
pub(crate) fn usage(prompt: u64, cached: u64, answer: u64, thoughts: u64, total: u64) -> Usage {
    let output = match total.checked_sub(prompt) {
        Some(output) if output >= answer => output,
        _ => answer.saturating_add(thoughts),
    };
    json::inclusive_usage(prompt, cached, 0, output)
}

/// Returns a value as details of a result.
pub(crate) fn details(raw: Option<&str>) -> Option<RawJson> {
    RawJson::parse(raw?).ok()
}
