//! The content that earlier compactions restored: its paths are given to the next summarizer, its contents are not.

use std::sync::Arc;

use serde_json::Value;
use session_model::json::RawJson;
use session_model::{AgentMessage, Content, CustomMessage, SessionContext};

use session_facts::{RESTORED_CONTEXT, brought_back};

use crate::restore::words;

/// An image that was brought back.
pub(super) struct BroughtImage {
    pub tool: Option<String>,
    pub arguments: Option<String>,
    pub turn: usize,
}

/// Returns what is known of the images in a message that brought some back, in their order.
pub(super) fn images_brought_back(message: &CustomMessage) -> Vec<BroughtImage> {
    let details = details(message);
    let images = details["images"].as_array().into_iter().flatten();
    let shown = images.filter(|image| image["outcome"] == "shown");
    let brought = shown.map(|image| BroughtImage {
        tool: image["tool"].as_str().map(str::to_owned),
        arguments: image["arguments"].as_str().map(str::to_owned),
        turn: number(&image["turn"]).max(1),
    });
    brought.collect()
}

fn details(message: &CustomMessage) -> Value {
    let details = message.details.as_ref();
    details.map_or(Value::Null, RawJson::to_value)
}

fn number(value: &Value) -> usize {
    let number = value.as_u64().unwrap_or(0);
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the number of turns in the session at the newest compaction, if it is known.
pub(crate) fn turns_before(context: &SessionContext) -> usize {
    let details = context.compaction().and_then(|(_, it)| it.details.as_ref());
    details.map_or(0, |details| {
        number(&details.to_value()["restored"]["turns"])
    })
}

/// Returns the message as a summarizer reads it: a list of paths instead of restored content. `None` for all other
/// messages.
pub(crate) fn references(message: &AgentMessage) -> Option<Arc<AgentMessage>> {
    let AgentMessage::Custom(custom) = message else {
        return None;
    };
    if custom.custom_type != RESTORED_CONTEXT {
        return None;
    }
    let paths: Vec<String> = brought_back(custom)
        .iter()
        .map(|file| words::shown_path(&file.shown))
        .collect();
    let content = Content::Text(words::brought_back_before(&paths));
    Some(Arc::new(message.with_content(content)))
}
