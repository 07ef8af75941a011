//! OpenAI Responses: the bodies of `POST {base}/responses` and `POST {base}/responses/compact`, and the
//! events that come back.
//!
//! A conversation is a list of items. Those that the provider made itself (reasoning, compaction) keep their JSON text,
//! so that unknown fields are replayed too.

mod decode;
mod encode;
mod items;
mod output_item;
#[cfg(test)]
pub(crate) mod samples;

#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod encode_tests;
#[cfg(test)]
mod ending_tests;
#[cfg(test)]
mod shape_tests;

use session_model::json::Members;
#[cfg(test)]
use session_model::json::RawJson;

pub(crate) use decode::{Decoder, usage};
pub(crate) use encode::{encode, encode_compact_with, encode_in_band_with};
#[cfg(test)]
pub(crate) use encode::{encode_compact, encode_in_band, encode_with};
pub(crate) use items::input;

/// Returns true for the types under which providers have sent a compacted history.
pub(crate) fn is_compaction(kind: &str) -> bool {
    matches!(
        kind,
        "compaction" | "context_compaction" | "compaction_summary"
    )
}

/// Returns the `text` (or `refusal`) members of the parts in the array `key` of an item; a plain string counts as one.
pub(crate) fn part_texts(item: &Members<'_>, key: &str) -> Vec<String> {
    if let Some(text) = item.text(key) {
        return vec![text];
    }
    let parts = item.objects(key).into_iter();
    let texts = parts.filter_map(|part| part.text("text").or_else(|| part.text("refusal")));
    texts.collect()
}

/// The side of a tool call that an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallSide {
    /// The model calls.
    Call,
    /// The tool answers.
    Output,
}

/// Returns the side of a tool call for items of type `kind`, or `None` for all other items.
pub(crate) fn call_side(kind: &str) -> Option<CallSide> {
    match kind {
        "function_call" | "custom_tool_call" | "local_shell_call" => Some(CallSide::Call),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            Some(CallSide::Output)
        }
        _ => None,
    }
}

/// Returns the unpaired calls and outputs of a body: outputs without a call before them, and calls without an output
/// after them. Services refuse both.
#[cfg(test)]
pub(crate) fn orphans(body: &RawJson) -> Vec<String> {
    let input = Members::parse(body.get()).map_or_else(Vec::new, |body| body.items("input"));
    let mut open: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
    let mut wrong = Vec::new();
    for (place, item) in input.into_iter().enumerate() {
        let Some(item) = Members::parse(item) else {
            continue;
        };
        let kind = item.text("type").unwrap_or_default();
        let id = item.text("call_id").unwrap_or_default();
        match call_side(&kind) {
            Some(CallSide::Call) if !open.insert(id.clone()) => {
                wrong.push(format!("input[{place}]: call {id} is open already"));
            }
            Some(CallSide::Output) if !open.remove(&id) => {
                wrong.push(format!("input[{place}]: output {id} answers no open call"));
            }
            Some(CallSide::Call | CallSide::Output) | None => {}
        }
    }
    wrong.extend(
        open.into_iter()
            .map(|id| format!("call {id} has no output")),
    );
    wrong
}
