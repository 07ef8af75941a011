//! What happened on a branch, turn by turn: what the user said, commits, test runs, compactions.

use std::collections::HashSet;

use serde::Serialize;
use session_facts::{ActionKind, CommandRole, Outcome, SourceMessage, actions, commands_of};
use session_model::text::{first_line, one_line};
use session_model::{
    AgentMessage, Entry, EntryBody, EntryId, SessionPath, Timestamp, without_private,
};

use crate::call_lines::{CallLine, Calls, call_line};

/// How much of a text is shown, in characters.
const SHOWN: usize = 200;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineKind {
    /// The user said something.
    Message,
    /// A command committed.
    Commit,
    /// A command ran tests.
    Tests,
    /// Older history was summarized.
    Compaction,
    /// A branch was left and summarized.
    BranchSummary,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineEvent {
    /// The turn, counted from 1; 0 before the first message.
    pub turn: usize,
    /// What it is.
    pub kind: TimelineKind,
    /// The entry.
    pub entry_id: EntryId,
    /// When it was written, if the session says so.
    pub timestamp: Option<String>,
    /// The first line of the message or summary, or the command.
    pub text: String,
    /// Of a command: whether it failed, if its result is there.
    pub failed: Option<bool>,
}

/// Returns what happened on `path`, the oldest first. Messages that carry a marker that excludes them are left out, and
/// so are private spans.
pub fn timeline(path: &SessionPath<'_>) -> Vec<TimelineEvent> {
    let tree = path.tree();
    let mut sources: Vec<SourceMessage> = Vec::new();
    let mut happened: Vec<(usize, TimelineEvent)> = Vec::new();
    let mut times = Vec::new();
    let mut running: HashSet<String> = HashSet::new();
    for index in path.entries() {
        let entry = match call_line(tree, *index, Calls::Commands, &running) {
            CallLine::Entry(entry) => entry,
            CallLine::Excluded => return Vec::new(),
            CallLine::Other => continue,
        };
        let (kind, text) = match &entry.body {
            EntryBody::Compaction(body) => (TimelineKind::Compaction, body.summary.clone()),
            EntryBody::BranchSummary(body) => (TimelineKind::BranchSummary, body.summary.clone()),
            EntryBody::Message(message) => {
                let calls = message.tool_calls();
                let commands = calls.filter(|call| !commands_of(call).is_empty());
                let commands: Vec<String> = commands.map(|call| call.id.clone()).collect();
                let is_answer = matches!(
                    &**message,
                    AgentMessage::ToolResult(_) | AgentMessage::BashExecution(_)
                );
                if is_answer || !commands.is_empty() {
                    sources.push(SourceMessage {
                        entry_id: entry.id.clone(),
                        message: message.clone(),
                    });
                    times.push(time_of(&entry));
                    running.extend(commands);
                }
                match &**message {
                    AgentMessage::User(user) => match user.words() {
                        words if words.trim().is_empty() => continue,
                        words => (TimelineKind::Message, words),
                    },
                    _ => continue,
                }
            }
            _ => continue,
        };
        let event = TimelineEvent {
            turn: 0,
            kind,
            timestamp: time_of(&entry),
            text: first_line(&without_private(&text), SHOWN),
            entry_id: entry.id.clone(),
            failed: None,
        };
        happened.push((sources.len(), event));
    }
    for action in actions(&sources) {
        let (kind, text) = match &action.kind {
            ActionKind::Command(run) if run.role == CommandRole::Tests => {
                (TimelineKind::Tests, run.text.clone())
            }
            ActionKind::Commit { hash, subject } => {
                let hash = hash
                    .as_ref()
                    .map(|hash| format!("{hash} "))
                    .unwrap_or_default();
                (TimelineKind::Commit, format!("{hash}{subject}"))
            }
            ActionKind::Command(_) | ActionKind::File { .. } => continue,
        };
        let event = TimelineEvent {
            turn: 0,
            kind,
            entry_id: sources[action.message].entry_id.clone(),
            timestamp: times[action.message].clone(),
            text: one_line(&without_private(&text), SHOWN),
            failed: match action.outcome {
                Outcome::Passed => Some(false),
                Outcome::Failed { .. } => Some(true),
                Outcome::Unknown => None,
            },
        };
        happened.push((action.message + 1, event));
    }
    happened.sort_by_key(|(at, _)| *at);
    let mut turn = 0;
    let events = happened.into_iter().map(|(_, event)| {
        turn += usize::from(event.kind == TimelineKind::Message);
        TimelineEvent { turn, ..event }
    });
    events.collect()
}

fn time_of(entry: &Entry) -> Option<String> {
    entry.timestamp.map(|at: Timestamp| at.to_string())
}

#[cfg(test)]
mod tests {
    use session_model::decode_bytes;

    use super::{TimelineKind, timeline};

    #[test]
    fn what_happened_is_listed_under_its_turn() {
        let lines = r#"{"type":"session","version":3,"id":"s"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"<private>x</private> fix it\nnow"}}
{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"bash","arguments":{"command":"cargo test"}}]}}
{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"1","toolName":"bash","content":[],"isError":true}}
{"type":"compaction","id":"k","parentId":"c","summary":"sum","firstKeptEntryId":"c","tokensBefore":1}
{"type":"message","id":"d","parentId":"k","message":{"role":"user","content":"go on"}}
"#;
        let tree = decode_bytes(lines.as_bytes().to_vec()).tree;
        let events = timeline(&tree.path(tree.leaf()));
        let told: Vec<_> = events
            .iter()
            .map(|it| (it.turn, it.kind, &*it.entry_id, &*it.text, it.failed))
            .collect();
        assert_eq!(
            told,
            [
                (1, TimelineKind::Message, "a", "[private] fix it", None),
                (1, TimelineKind::Tests, "b", "cargo test", Some(true)),
                (1, TimelineKind::Compaction, "k", "sum", None),
                (2, TimelineKind::Message, "d", "go on", None),
            ]
        );
    }
}
