//! What one line of an answer adds to it.

use session_model::json::{Members, string};
use session_model::{Block, StopReason, Usage};

use super::blocks::{answer_block, stop_reason, usage_of};
use crate::emitter::PendingCall;
use crate::report::ImportReport;

/// What one line of an answer adds to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    /// The id of the answer.
    pub id: Option<Box<str>>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub stop: Option<StopReason>,
    pub calls: Vec<PendingCall>,
    pub blocks: Vec<Block>,
    /// It has blocks, read or not.
    pub says: bool,
    /// The program says it in the name of the model.
    pub is_synthetic: bool,
}

impl Part {
    /// Returns what a record adds; without its blocks, unless they are `wanted`.
    pub fn of(record: &Members<'_>, report: &mut ImportReport, wanted: bool) -> Self {
        let message = record.object("message").unwrap_or_default();
        let model = message.filled("model");
        let is_synthetic = model.as_deref() == Some("<synthetic>");
        let stop = message.text("stop_reason");
        let mut part = Self {
            id: message.filled("id").map(Into::into),
            is_synthetic: is_synthetic || record.flag("isApiErrorMessage"),
            // What a fork copies was billed in its source.
            usage: (message.object("usage"))
                .filter(|_| record.raw("forkedFrom").is_none())
                .map(|usage| usage_of(&usage)),
            stop: match record.flag("isAbortedMidStream") {
                true => Some(StopReason::Aborted),
                false => stop.and_then(|reason| stop_reason(&reason)),
            },
            model,
            ..Self::default()
        };
        let uuid = record.text("uuid").unwrap_or_default();
        if let Some(raw) = message.raw("content").filter(|raw| raw.starts_with('"')) {
            part.says = true;
            part.blocks = match wanted {
                true => string(raw).into_iter().map(Block::text).collect(),
                false => Vec::new(),
            };
            return part;
        }
        for block in message.objects("content") {
            let kind = block.text("type").unwrap_or_default();
            if kind == "tool_use" {
                part.calls.push(PendingCall {
                    id: call_id(&block, &uuid, part.calls.len()),
                    name: block.text("name").unwrap_or_default(),
                });
            }
            match kind.as_str() {
                "text" | "thinking" | "redacted_thinking" | "tool_use" => part.says = true,
                other => report.lose(&format!("block of an answer: {other}")),
            }
            if wanted {
                let id = part.calls.last().map(|call| call.id.clone());
                part.blocks.extend(answer_block(&block, id));
            }
        }
        part
    }
}

/// Returns the id of a call; one without gets the place of its block.
fn call_id(block: &Members<'_>, uuid: &str, place: usize) -> String {
    let id = block.filled("id");
    id.unwrap_or_else(|| format!("{uuid}.call{}", place + 1))
}
