//! What one line of an answer adds to it.

use session_model::json::Members;
use session_model::{Block, StopReason, Usage};

use super::blocks::{answer_block, stop_reason, usage_of};
use crate::report::ImportReport;

/// What one line of an answer adds to it.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub stop: Option<StopReason>,
    pub blocks: Vec<Block>,
    /// The program says it in the name of the model.
    pub is_synthetic: bool,
}

impl Part {
    /// Returns what a record adds.
    pub fn of(record: &Members<'_>, report: &mut ImportReport) -> Self {
        let message = record.object("message").unwrap_or_default();
        let model = message.filled("model");
        let is_synthetic = model.as_deref() == Some("<synthetic>");
        let stop = message.text("stop_reason");
        let mut part = Self {
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
        if let Some(text) = message.raw("content").and_then(session_model::json::string) {
            part.blocks.push(Block::text(text));
            return part;
        }
        let mut calls = calls_of(record, &message).into_iter();
        for block in message.objects("content") {
            let is_call = block.text("type").as_deref() == Some("tool_use");
            let id = is_call.then(|| calls.next()).flatten();
            match answer_block(&block, id) {
                Some(block) => part.blocks.push(block),
                None => {
                    let kind = block.text("type").unwrap_or_default();
                    report.lose(&format!("block of an answer: {kind}"));
                }
            }
        }
        part
    }
}

/// Returns the ids of a record's calls; one without an id gets its place among them.
pub(super) fn calls_of(record: &Members<'_>, message: &Members<'_>) -> Vec<String> {
    let uuid = record.text("uuid").unwrap_or_default();
    let blocks = message.objects("content").into_iter();
    let calls = blocks.filter(|block| block.text("type").as_deref() == Some("tool_use"));
    let ids = calls.enumerate().map(|(place, block)| {
        let id = block.filled("id");
        id.unwrap_or_else(|| format!("{uuid}.call{}", place + 1))
    });
    ids.collect()
}
