//! What a session did with files: every read, write and edit, and the text of each as it was seen last.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use session_model::{
    AgentMessage, CallEvent, EntryId, EntryKind, SessionPath, Timestamp, match_calls,
};

use session_facts::{LastSeen, SourceMessage, file_calls, resolved, touched_in};
use session_model::{is_excluded, without_private};

/// One call that names a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileEvent {
    /// The entry that makes the call.
    pub entry_id: EntryId,
    /// `read`, `write`, `edit` or `delete`.
    pub action: &'static str,
    /// When it was written, if the session says so.
    pub timestamp: Option<String>,
    /// What came of it: `done`, `failed`, or `unknown` without a result.
    pub outcome: &'static str,
}

/// What a session did with one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileHistory {
    /// Its path, as the newest call names it.
    pub path: String,
    /// The calls, the oldest first.
    pub events: Vec<FileEvent>,
    /// Its text after the last of them, where the session has all of it.
    pub content: Option<String>,
}

/// Returns the files that the calls on `path` name, the one that was touched last first. Messages that carry a marker
/// that excludes them do not count, and private spans are removed.
pub fn file_history(path: &SessionPath<'_>) -> Vec<FileHistory> {
    let tree = path.tree();
    let cwd = tree.header().map_or("", |header| header.cwd.as_str());
    let mut sources: Vec<SourceMessage> = Vec::new();
    let mut times: Vec<Option<Timestamp>> = Vec::new();
    let mut made: HashSet<String> = HashSet::new();
    for index in path.entries() {
        if !matches!(
            tree.kind(*index),
            EntryKind::Message | EntryKind::CustomMessage
        ) {
            continue;
        }
        let Ok(entry) = tree.entry(*index) else {
            continue;
        };
        for message in entry.messages() {
            if is_excluded(&message.display_text()) {
                match *message {
                    AgentMessage::User(_) => return Vec::new(),
                    _ => continue,
                }
            }
            let calls = message.tool_calls();
            let named = calls.filter(|call| !file_calls(call).is_empty());
            let before = made.len();
            made.extend(named.map(|call| call.id.clone()));
            // Most of a session is output that says nothing of files.
            let is_wanted = match &*message {
                AgentMessage::ToolResult(result) => made.contains(&result.tool_call_id),
                _ => made.len() > before,
            };
            if !is_wanted {
                continue;
            }
            times.push(entry.timestamp);
            sources.push(SourceMessage {
                entry_id: entry.id.clone(),
                message,
            });
        }
    }
    let said = sources
        .iter()
        .map(|source| CallEvent::from(&*source.message));
    let results = match_calls(said);
    let mut files: BTreeMap<String, FileHistory> = BTreeMap::new();
    for (place, source) in sources.iter().enumerate() {
        for call in source.message.tool_calls() {
            let result = results.get(&(place, call.id.as_str()));
            let result = result.map(|result| &*sources[*result].message);
            let outcome = match result {
                Some(AgentMessage::ToolResult(result)) if result.is_error => "failed",
                Some(_) => "done",
                None => "unknown",
            };
            for (action, path) in file_calls(call) {
                let event = FileEvent {
                    entry_id: source.entry_id.clone(),
                    action: action.name(),
                    timestamp: times[place].map(|at| at.to_string()),
                    outcome,
                };
                let file = files
                    .entry(resolved(&path, cwd))
                    .or_insert_with(|| FileHistory {
                        path: path.clone(),
                        events: Vec::new(),
                        content: None,
                    });
                file.path = path;
                file.events.push(event);
            }
        }
    }
    let mut found = Vec::new();
    for touched in touched_in(&sources, cwd) {
        let Some(mut file) = files.remove(&resolved(&touched.path, cwd)) else {
            continue;
        };
        if let LastSeen::Text(text) = touched.last_seen {
            file.content = Some(without_private(&text).into_owned());
        }
        found.push(file);
    }
    // What only failed.
    found.extend(files.into_values());
    found
}

#[cfg(test)]
mod tests {
    use session_model::decode_bytes;

    use super::file_history;

    #[test]
    fn what_a_call_of_several_files_prints_is_the_text_of_none() {
        let lines = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}
{"type":"message","id":"a","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"write","arguments":{"path":"a.rs","content":"one"}},{"type":"toolCall","id":"2","name":"read_many_files","arguments":{"paths":["a.rs","b.rs"]}}]}}
{"type":"message","id":"b","parentId":"a","message":{"role":"toolResult","toolCallId":"1","toolName":"write","content":[],"isError":false}}
{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"2","toolName":"read_many_files","content":[{"type":"text","text":"two\nthree"}],"isError":false}}
"#;
        let tree = decode_bytes(lines.as_bytes().to_vec()).tree;
        let files = file_history(&tree.path(tree.leaf()));
        let contents: Vec<_> = files
            .iter()
            .map(|file| (&*file.path, &file.content))
            .collect();
        assert_eq!(contents, [("b.rs", &None), ("a.rs", &None)]);
    }

    #[test]
    fn a_file_has_its_calls_and_its_last_text() {
        let lines = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}
{"type":"message","id":"a","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"write","arguments":{"path":"a.rs","content":"one\n<private>x</private>\ntwo\n"}}]}}
{"type":"message","id":"b","parentId":"a","message":{"role":"toolResult","toolCallId":"1","toolName":"write","content":[],"isError":false}}
{"type":"message","id":"c","parentId":"b","message":{"role":"assistant","content":[{"type":"toolCall","id":"2","name":"edit","arguments":{"path":"/p/a.rs","edits":[{"old_text":"two","new_text":"three"}]}},{"type":"toolCall","id":"3","name":"read","arguments":{"path":"b.rs"}}]}}
{"type":"message","id":"d","parentId":"c","message":{"role":"toolResult","toolCallId":"2","toolName":"edit","content":[],"isError":false}}
{"type":"message","id":"e","parentId":"d","message":{"role":"toolResult","toolCallId":"3","toolName":"read","content":[],"isError":true}}
"#;
        let tree = decode_bytes(lines.as_bytes().to_vec()).tree;
        let files = file_history(&tree.path(tree.leaf()));
        let events = |place: usize| {
            let events = files[place].events.iter();
            let events = events.map(|event| (&*event.entry_id, event.action, event.outcome));
            events.collect::<Vec<_>>()
        };
        assert_eq!(files.len(), 2);
        assert_eq!(files[0].path, "/p/a.rs");
        assert_eq!(events(0), [("a", "write", "done"), ("c", "edit", "done")]);
        assert_eq!(files[0].content.as_deref(), Some("one\n[private]\nthree\n"));
        assert_eq!(
            (events(1), &files[1].content),
            (vec![("c", "read", "failed")], &None)
        );
    }
}
