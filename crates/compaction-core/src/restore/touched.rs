//! Which files the calls of the agent touched, the newest first, and what it saw of each.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use session_model::{
    AgentMessage, Block, CallEvent, Content, EntryId, SessionContext, match_calls,
};

use crate::restore::before::brought_back;
use crate::restore::seen::{Seen, seen_after};
use crate::restore::{LastSeen, RESTORED_CONTEXT, TouchedFile};
use session_facts::{FileAction, SourceMessage, file_calls, resolved};

/// A file while the messages are gone through.
struct Touch {
    at: usize,
    path: String,
    action: FileAction,
    entry_id: EntryId,
    seen: Seen,
}

/// The most lines that are said of an image; a text that holds images has more.
const LINES_OF_AN_IMAGE: usize = 4;

/// Returns the files that the context's calls touched, newest first, each once as far as its
/// spellings tell; of parallel calls the last is
/// the newest. Calls that failed, or whose success is unknown, do not count. Files that an earlier
/// compaction brought back count as touched then. What was looked at last as an image does not: images come back as such.
pub fn touched_files(context: &SessionContext) -> Vec<TouchedFile> {
    // What an edit shortened or took out was seen all the same.
    let originals = context.entries.iter().flat_map(|projected| {
        let messages = projected.original_messages().into_iter();
        messages.map(|message| SourceMessage {
            entry_id: projected.entry.id.clone(),
            message,
        })
    });
    touched_in(&originals.collect::<Vec<_>>(), "")
}

/// Returns the same for messages of any origin, oldest first; paths are seen from the folder `cwd`.
pub fn touched_in(messages: &[SourceMessage], cwd: &str) -> Vec<TouchedFile> {
    let said = messages
        .iter()
        .map(|source| CallEvent::from(&*source.message));
    let results = match_calls(said);
    let mut touched: BTreeMap<String, Touch> = BTreeMap::new();
    let mut clock = 0;
    let mut touch = |touched: &mut BTreeMap<String, Touch>,
                     path: String,
                     action,
                     entry_id: &EntryId,
                     see: &dyn Fn(Seen) -> Seen| {
        clock += 1;
        let key = resolved(&path, cwd);
        let before = touched.remove(&key);
        let seen = see(before.map_or(Seen::Nothing, |before| before.seen));
        let touch = Touch {
            at: clock,
            path,
            action,
            entry_id: entry_id.clone(),
            seen,
        };
        touched.insert(key, touch);
    };
    for (place, source) in messages.iter().enumerate() {
        if let AgentMessage::Custom(message) = &*source.message
            && message.custom_type == RESTORED_CONTEXT
        {
            for file in brought_back(message).into_iter().rev() {
                let seen = |_| match &file.seen {
                    Some(hash) => Seen::Hash(hash.clone()),
                    None => Seen::Nothing,
                };
                touch(
                    &mut touched,
                    file.path.clone(),
                    FileAction::Read,
                    &file.entry_id,
                    &seen,
                );
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
            for (action, path) in file_calls(call) {
                if action == FileAction::Read && is_image(&result.content) {
                    // It comes back as an image, or not at all.
                    touched.remove(&resolved(&path, cwd));
                    continue;
                }
                let seen = |before| seen_after(before, action, call, &result.content);
                touch(&mut touched, path, action, &source.entry_id, &seen);
            }
        }
    }
    let mut touched: Vec<Touch> = touched.into_values().collect();
    touched.sort_by_key(|touch| Reverse(touch.at));
    let files = touched.into_iter().map(|touch| TouchedFile {
        path: touch.path,
        action: touch.action,
        entry_id: touch.entry_id,
        last_seen: match touch.seen {
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
