//! Which files the calls of the agent touched, the newest first, and what it saw of each.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use session_model::json::RawJson;
use session_model::{
    AgentMessage, Block, CallEvent, Content, CustomMessage, EntryId, ToolCall, match_calls,
};

use crate::path_normalize::resolved;
use crate::seen::{Seen, replaces, seen_after};
use crate::shell_files::FileAction;
use crate::source::SourceMessage;
use crate::tool_call::file_calls;

/// A file while the messages are gone through.
struct Touch<'a> {
    at: usize,
    path: String,
    action: FileAction,
    entry_id: EntryId,
    /// What was known of it, and the calls that changed that.
    known: Seen,
    since: Vec<(FileAction, &'a ToolCall, &'a Content)>,
}

/// The most lines that are said of an image; a text that holds images has more.
const LINES_OF_AN_IMAGE: usize = 4;

/// What the agent saw of a file last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastSeen {
    /// All of its text.
    Text(String),
    /// The hash of its content; see [`content_hash`](crate::content_hash).
    Hash(String),
    /// It is not known: a part of it, or a change of it whose result was not seen.
    Unknown,
}

/// A file that a call of the agent read or changed without failing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedFile {
    /// The path, as the call spells it.
    pub path: String,
    /// What was done last.
    pub action: FileAction,
    /// The entry of the call.
    pub entry_id: EntryId,
    /// What was seen of it last.
    pub last_seen: LastSeen,
}

/// A file that a message brought back after a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroughtBack {
    /// The path, as the call gave it.
    pub path: String,
    /// The path, as it was shown.
    pub shown: String,
    /// The entry of the call that touched it.
    pub entry_id: EntryId,
    /// The hash of what was seen of it.
    pub seen: Option<String>,
}

/// Returns the files whose text or path a message brought back, newest first.
pub fn brought_back(message: &CustomMessage) -> Vec<BroughtBack> {
    let details = message
        .details
        .as_ref()
        .map(RawJson::to_value)
        .unwrap_or_default();
    let files = details["files"].as_array().into_iter().flatten();
    let shown =
        files.filter(|file| matches!(file["outcome"].as_str(), Some("embedded" | "reference")));
    let brought = shown.filter_map(|file| {
        let text = |name: &str| file[name].as_str().map(str::to_owned);
        let path = text("path")?;
        Some(BroughtBack {
            shown: text("shown").unwrap_or_else(|| path.clone()),
            path,
            entry_id: EntryId::new(file["entryId"].as_str().unwrap_or_default()),
            seen: text("seen"),
        })
    });
    brought.collect()
}

/// The custom type of the message that brings files and images back.
pub const RESTORED_CONTEXT: &str = "restored_context";

/// Returns the files that the calls in `messages` touched, newest first, each once as far as its spellings say; of parallel
/// calls the last is the newest. Paths are seen from the folder `cwd`. Calls that failed, or whose success is unknown, do
/// not count. Files that an earlier compaction brought back count as touched then; what was deleted does not count, and
/// neither does what was looked at last as an image: images come back as such.
pub fn touched_in(messages: &[SourceMessage], cwd: &str) -> Vec<TouchedFile> {
    let said = messages
        .iter()
        .map(|source| CallEvent::from(&*source.message));
    let results = match_calls(said);
    let mut touched: BTreeMap<String, Touch<'_>> = BTreeMap::new();
    let mut clock = 0;
    for (place, source) in messages.iter().enumerate() {
        if let AgentMessage::Custom(message) = &*source.message
            && message.custom_type == RESTORED_CONTEXT
        {
            for file in brought_back(message).into_iter().rev() {
                let key = resolved(&file.path, cwd);
                clock += 1;
                let touch = Touch {
                    at: clock,
                    path: file.path,
                    action: FileAction::Read,
                    entry_id: file.entry_id,
                    known: file.seen.map_or(Seen::Nothing, Seen::Hash),
                    since: Vec::new(),
                };
                touched.insert(key, touch);
            }
        }
        for call in source.message.tool_calls() {
            let result = results.get(&(place, call.id.as_str()));
            let Some(AgentMessage::ToolResult(result)) =
                result.map(|result| &*messages[*result].message)
            else {
                continue;
            };
            if result.is_error {
                continue;
            }
            let files = file_calls(call);
            // What a call of several files says belongs to none of them for sure.
            let is_one = files.len() == 1;
            let is_image = is_image(&result.content);
            for (action, path) in files {
                let key = resolved(&path, cwd);
                let before = touched.remove(&key);
                // An image comes back as an image, or not at all.
                let is_image = is_image && action == FileAction::Read;
                if is_image || action == FileAction::Delete {
                    continue;
                }
                let before = before.filter(|_| is_one && !replaces(action, call));
                let (known, mut since) =
                    before.map_or_else(Default::default, |before| (before.known, before.since));
                since.extend(is_one.then_some((action, call, &result.content)));
                clock += 1;
                let touch = Touch {
                    at: clock,
                    path,
                    action,
                    entry_id: source.entry_id.clone(),
                    known,
                    since,
                };
                touched.insert(key, touch);
            }
        }
    }
    let mut touched: Vec<Touch<'_>> = touched.into_values().collect();
    touched.sort_by_key(|touch| Reverse(touch.at));
    let files = touched.into_iter().map(|touch| TouchedFile {
        path: touch.path,
        action: touch.action,
        entry_id: touch.entry_id,
        last_seen: match touch.since.into_iter().fold(touch.known, seen_after) {
            Seen::Nothing => LastSeen::Unknown,
            Seen::Hash(hash) => LastSeen::Hash(hash),
            Seen::Text(text) => LastSeen::Text(text),
        },
    });
    files.collect()
}

/// Returns whether a file was shown as an image.
fn is_image(result: &Content) -> bool {
    let mut blocks = result.blocks().iter();
    let has_image = blocks.any(|block| matches!(block, Block::Image(_)));
    has_image && result.joined_text("\n").lines().count() <= LINES_OF_AN_IMAGE
}
