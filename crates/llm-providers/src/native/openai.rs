//! Native compaction in the Responses protocol: decodes the answer into a history.

use session_model::json::{Members, RawJson};

use crate::answer::Answer;
use crate::native::NativeAnswer;
use crate::native_history::{NativeHistory, RESPONSES_KEY};
use crate::wire::Target;
use crate::wire::responses::{is_compaction, part_texts, usage};

/// The reason why an answer is not a natively compacted history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NativeError {
    /// It has another form.
    #[error("the answer is not a compacted history: {0}")]
    Malformed(String),
    /// The service reports a failure inside an otherwise valid answer; the text is its JSON error object.
    #[error("the service could not compact: {0}")]
    Service(String),
    /// It has this many compaction items and not one.
    #[error("the answer has {0} compaction items instead of one")]
    Items(usize),
}

/// Returns the compacted history of an answer of `POST {base}/responses/compact`: its output verbatim and in order,
/// including all items besides the one compaction item.
pub(crate) fn decode_compact(body: &str, target: &Target<'_>) -> Result<NativeAnswer, NativeError> {
    let malformed = |what: &str| NativeError::Malformed(what.to_owned());
    let response = Members::parse(body).ok_or_else(|| malformed("no JSON object"))?;
    if let Some(error) = response.raw("error") {
        return Err(NativeError::Service(error.to_owned()));
    }
    if !response
        .raw("output")
        .is_some_and(|raw| raw.starts_with('['))
    {
        return Err(malformed("no output"));
    }
    let output = response.items("output").into_iter().map(RawJson::parse);
    let output: Vec<RawJson> = output
        .collect::<Result<_, _>>()
        .map_err(|error| malformed(&error.to_string()))?;
    let found: Vec<&RawJson> = output.iter().filter(|item| compacts(item)).collect();
    let item = one(&found)?;
    Ok(NativeAnswer {
        readable: readable(&item)?,
        history: history(output, item, target),
        usage: usage(&response),
        key: RESPONSES_KEY,
        shortened: 0,
    })
}

/// Returns the compacted history of an in-band compaction: the messages of the user and the harness from the sent items
/// `input`, verbatim and in order, and then the one compaction item.
///
/// Answers, reasoning, calls, outputs, and earlier compaction items are left out, because the new item replaces them.
/// No call loses its output, since both are removed.
pub(crate) fn in_band_answer(
    input: &[RawJson],
    answer: &Answer,
    target: &Target<'_>,
) -> Result<NativeAnswer, NativeError> {
    let found: Vec<&RawJson> = answer.native.iter().collect();
    let item = one(&found)?;
    let mut items = newest_retained(input);
    items.push(item.clone());
    Ok(NativeAnswer {
        readable: readable(&item)?,
        history: history(items, item, target),
        usage: answer.usage,
        key: RESPONSES_KEY,
        shortened: 0,
    })
}

/// The size of the user's and the harness's messages that are kept next to the compaction item, in bytes of JSON: about
/// 20,000 tokens, which is what the provider's own client keeps. Without a bound each compaction would copy all of it
/// again.
const RETAINED: usize = 80_000;

/// Returns the newest messages of the user and the harness that fit the bound, in their order. Images stay out.
fn newest_retained(input: &[RawJson]) -> Vec<RawJson> {
    let mut left = RETAINED;
    let mut items: Vec<RawJson> = Vec::new();
    for item in input.iter().rev().filter(|item| retained(item)) {
        if item.get().contains("\"input_image\"") {
            continue;
        }
        let Some(rest) = left.checked_sub(item.get().len()) else {
            break;
        };
        left = rest;
        items.push(item.clone());
    }
    items.reverse();
    items
}

fn history(items: Vec<RawJson>, item: RawJson, target: &Target<'_>) -> NativeHistory {
    NativeHistory {
        provider: target.provider.to_owned(),
        model: target.model.to_owned(),
        replacement_history: items,
        compaction_item: Some(item),
    }
}

fn one(found: &[&RawJson]) -> Result<RawJson, NativeError> {
    match found {
        [item] => Ok((*item).clone()),
        _ => Err(NativeError::Items(found.len())),
    }
}

fn compacts(item: &RawJson) -> bool {
    item.string_member("type")
        .is_some_and(|kind| is_compaction(&kind))
}

/// Returns true for messages that do not come from the model.
fn retained(item: &RawJson) -> bool {
    let kind = item.string_member("type");
    let is_message = kind.is_none_or(|kind| kind == "message");
    let role = item.string_member("role");
    is_message && role.is_some_and(|role| matches!(&*role, "user" | "developer" | "system"))
}

/// Returns the readable text of the compaction item, if any. An item without any content is refused: with it, the whole
/// history would be lost.
fn readable(item: &RawJson) -> Result<Option<String>, NativeError> {
    let fields = Members::parse(item.get());
    let fields = fields.ok_or_else(|| NativeError::Malformed("no compaction item".to_owned()))?;
    let texts = [
        part_texts(&fields, "summary"),
        part_texts(&fields, "content"),
    ]
    .concat();
    let text = texts.join("\n\n");
    let opaque = fields.text("encrypted_content").unwrap_or_default();
    if text.is_empty() && opaque.is_empty() {
        let what = "the compaction item is empty".to_owned();
        return Err(NativeError::Malformed(what));
    }
    Ok((!text.trim().is_empty()).then_some(text))
}
