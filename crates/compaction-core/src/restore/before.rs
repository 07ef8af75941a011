//! What earlier compactions brought back: its paths are given to the next summarizer, its contents are not.

use std::sync::Arc;

use serde_json::Value;
use session_model::json::RawJson;
use session_model::{AgentMessage, Content, CustomMessage, EntryId, SessionContext};

use crate::restore::{RESTORED_CONTEXT, words};

/// A file that was brought back.
pub(super) struct Brought {
    /// The path, as the call gives it.
    pub path: String,
    /// The path, as it was shown.
    pub shown: String,
    /// The entry of the call that touched it.
    pub entry_id: EntryId,
    /// The hash of what was seen of it.
    pub seen: Option<String>,
}

/// Returns the files whose text or path a message brought back, newest first.
pub(super) fn brought_back(message: &CustomMessage) -> Vec<Brought> {
    let details = details(message);
    let files = details["files"].as_array().into_iter().flatten();
    let told = files.filter(|file| {
        let outcome = file["outcome"].as_str();
        matches!(outcome, Some("embedded" | "reference"))
    });
    let brought = told.filter_map(|file| {
        let text = |name: &str| file[name].as_str().map(str::to_owned);
        let path = text("path")?;
        Some(Brought {
            shown: text("shown").unwrap_or_else(|| path.clone()),
            path,
            entry_id: EntryId::new(file["entryId"].as_str().unwrap_or_default()),
            seen: text("seen"),
        })
    });
    brought.collect()
}

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

/// Returns how many turns the session had at the newest compaction, where that is known.
pub(crate) fn turns_before(context: &SessionContext) -> usize {
    let details = context.compaction().and_then(|(_, it)| it.details.as_ref());
    details.map_or(0, |details| {
        number(&details.to_value()["restored"]["turns"])
    })
}

/// Returns the message as a summarizer reads it: in the place of what was brought back a list of paths. `None` for all
/// other messages.
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
