//! How much of a script a session holds already, so that the script continues behind it.

use std::collections::VecDeque;

use llm_script::ScriptAction;
use session_model::{AgentMessage, EntryBody, EntryIndex, EntryKind, SessionTree, StopReason};
use session_store::Queued;

/// How much of a script a session holds already.
#[derive(Debug, Default)]
pub(super) struct ScriptProgress {
    pub answers: usize,
    pub summaries: usize,
    /// What was said since the newest answer of the script.
    said: Vec<String>,
}

const SCRIPTED: &str = "\"provider\":\"scripted\"";
const SCRIPTED_DOCUMENT: &str = "\"summarizer\":\"scripted/";

impl ScriptProgress {
    /// Returns what these entries of a session hold, in the order of the file, and the messages that wait.
    pub fn of(
        tree: &SessionTree,
        entries: impl IntoIterator<Item = EntryIndex>,
        queued: &[Queued],
    ) -> Self {
        let mut progress = Self::default();
        let holds = |index, text: &str| {
            let line = tree.raw_line(index).unwrap_or_default();
            usize::from(String::from_utf8_lossy(&line).contains(text))
        };
        for index in entries {
            match tree.kind(index) {
                EntryKind::Message => progress.read(tree, index),
                EntryKind::Compaction | EntryKind::BranchSummary => {
                    progress.summaries += holds(index, SCRIPTED);
                }
                EntryKind::CustomMessage => progress.summaries += holds(index, SCRIPTED_DOCUMENT),
                _ => {}
            }
        }
        let waiting = queued.iter().map(|queued| queued.text.clone());
        progress.said.extend(waiting);
        progress
    }

    fn read(&mut self, tree: &SessionTree, index: EntryIndex) {
        let body = tree.entry(index).map(|entry| entry.body);
        let Ok(EntryBody::Message(message)) = body else {
            return;
        };
        if let AgentMessage::User(message) = &*message {
            self.said.push(message.content.joined_text(""));
        } else if let AgentMessage::Assistant(answer) = &*message
            && answer.provider == "scripted"
            && answer.stop_reason != StopReason::Aborted
        {
            self.answers += 1;
            self.said.clear();
        }
    }

    /// Returns what the user of the script is to do behind what was said already.
    pub fn left_of(&self, mut due: VecDeque<ScriptAction>) -> VecDeque<ScriptAction> {
        let is_said = |action: &ScriptAction| match action {
            ScriptAction::Say { text, .. } => self.said.contains(text),
            _ => false,
        };
        let done = due.iter().rposition(is_said);
        due.drain(..done.map_or(0, |last| last + 1));
        due
    }
}
