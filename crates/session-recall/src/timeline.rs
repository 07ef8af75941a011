//! What happened on a branch, turn by turn: what the user said, commits, test runs, compactions.

use serde::Serialize;
use session_model::text::first_line;
use session_model::{AgentMessage, CallEvent, Entry, EntryBody, EntryId, SessionPath, ToolCall};
use session_model::{Timestamp, match_calls};

use session_model::{is_excluded, without_private};

/// How much of a text is told, in characters.
const TOLD: usize = 200;

/// How commands begin that run tests.
const TEST_COMMANDS: [&str; 18] = [
    "cargo test",
    "cargo nextest",
    "cargo xtask ci",
    "npm test",
    "npm run test",
    "npx jest",
    "npx vitest",
    "pnpm test",
    "yarn test",
    "bun test",
    "deno test",
    "pytest",
    "python -m pytest",
    "python3 -m pytest",
    "go test",
    "make test",
    "mvn test",
    "gradle test",
];

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
    let entries: Vec<Entry> = path
        .entries()
        .iter()
        .filter_map(|index| tree.entry(*index).ok())
        .collect();
    let said = entries.iter().map(|entry| match &entry.body {
        EntryBody::Message(message) => CallEvent::from(&**message),
        _ => CallEvent::Other,
    });
    let results = match_calls(said);
    let mut events: Vec<TimelineEvent> = Vec::new();
    let mut turn = 0;
    for (place, entry) in entries.iter().enumerate() {
        let mut add = |turn, kind, text: &str, failed| {
            let text = first_line(&without_private(text), TOLD);
            events.push(TimelineEvent {
                turn,
                kind,
                entry_id: entry.id.clone(),
                timestamp: entry.timestamp.map(|at: Timestamp| at.to_string()),
                text,
                failed,
            });
        };
        let message = match &entry.body {
            EntryBody::Compaction(body) => {
                add(turn, TimelineKind::Compaction, &body.summary, None);
                continue;
            }
            EntryBody::BranchSummary(body) => {
                add(turn, TimelineKind::BranchSummary, &body.summary, None);
                continue;
            }
            EntryBody::Message(message) => message,
            _ => continue,
        };
        let is_hidden = is_excluded(&message.display_text());
        match &**message {
            AgentMessage::User(_) if is_hidden => return Vec::new(),
            _ if is_hidden => {}
            AgentMessage::User(user) => {
                turn += 1;
                let text = user.content.joined_text("\n");
                add(turn, TimelineKind::Message, &text, None);
            }
            AgentMessage::BashExecution(run) if !run.exclude_from_context => {
                let failed = run.exit_code.map(|code| code != 0);
                for (kind, step) in steps(&run.command) {
                    add(turn, kind, step, failed);
                }
            }
            _ => {
                for call in message.tool_calls() {
                    let result = results.get(&(place, call.id.as_str()));
                    let failed = result.and_then(|result| match &entries[*result].body {
                        EntryBody::Message(message) => match &**message {
                            AgentMessage::ToolResult(result) => Some(result.is_error),
                            _ => None,
                        },
                        _ => None,
                    });
                    for (kind, step) in command_of(call).as_deref().map_or(Vec::new(), steps) {
                        add(turn, kind, step, failed);
                    }
                }
            }
        }
    }
    events
}

fn command_of(call: &ToolCall) -> Option<String> {
    let arguments = call.arguments.as_ref()?;
    let command = ["command", "cmd"];
    let found = command
        .iter()
        .find_map(|key| arguments.string_member(key))?;
    Some(found.into_owned())
}

/// Returns the steps of a command line that commit or run tests.
fn steps(command: &str) -> Vec<(TimelineKind, &str)> {
    let steps = command.split(['\n', ';', '&', '|']).map(str::trim);
    let begins = |step: &str, with: &str| {
        let rest = step.strip_prefix(with);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let found = steps.filter_map(|step| match () {
        () if begins(step, "git commit") => Some((TimelineKind::Commit, step)),
        () if TEST_COMMANDS.iter().any(|with| begins(step, with)) => {
            Some((TimelineKind::Tests, step))
        }
        () => None,
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use session_model::decode_bytes;

    use super::{TimelineKind, steps, timeline};

    #[test]
    fn commits_and_test_runs_are_steps_of_commands() {
        let found = steps(
            "cd x && cargo test -p y; git commit -m 'a b' | cat\ngit commits\necho cargo test",
        );
        assert_eq!(
            found,
            [
                (TimelineKind::Tests, "cargo test -p y"),
                (TimelineKind::Commit, "git commit -m 'a b'"),
            ]
        );
    }

    #[test]
    fn what_happened_stands_in_its_turn() {
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
