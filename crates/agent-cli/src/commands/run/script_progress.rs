//! What of a script a session holds already: answers, summaries, and what the user of the script has done since.
//!
//! A session that began with a handoff goes on from another file, and so does its script.

use crate::files::{ReadSession, open_session};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use compaction_core::{HANDOFF_MESSAGE, LEAF_ENTRY};
use llm_script::ScriptAction;
use session_model::{
    AgentMessage, EntryBody, EntryId, EntryIndex, EntryKind, SessionTree, StopReason,
};

use session_store::Queued;
use session_store::SessionFile;

#[cfg(test)]
mod tests;

/// How many files are read back at most.
const MAX_PARENTS: usize = 100;

/// What of a script a session holds already.
#[derive(Debug, Default)]
pub(super) struct ScriptProgress {
    pub answers: usize,
    pub summaries: usize,
    /// What was done since the newest answer of the script, the oldest first.
    traces: Vec<Trace>,
}

/// What a session shows of something that its user did.
#[derive(Debug, PartialEq, Eq)]
enum Trace {
    /// This, told apart by a hash: a session may hold more text than memory does.
    Message(u64),
    Compacted,
    Moved,
    Labelled,
    HandedOff,
}

impl Trace {
    fn message(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self::Message(hasher.finish())
    }
}

impl ScriptProgress {
    /// Returns what a session and those before it hold: of the session itself these entries, in the order of the
    /// file, and the messages that wait.
    pub fn of(
        tree: &SessionTree,
        entries: impl IntoIterator<Item = EntryIndex>,
        queued: &[Queued],
    ) -> Self {
        let mut given = Self::in_file(tree, entries);
        let waiting = queued.iter().map(|queued| Trace::message(&queued.text));
        given.traces.extend(waiting);
        let mut before = handoff(tree).zip(parent(tree));
        for _ in 0..MAX_PARENTS {
            let Some((handoff_here, file)) = before else {
                break;
            };
            let tree = file.tree();
            before = handoff(tree).zip(parent(tree));
            match &before {
                // A fork holds the entries of the file that it was made of.
                Some((there, _)) if there.id == handoff_here.id => {}
                Some(_) | None => {
                    let left_at = handoff_here.left_at.and_then(|id| tree.find(&id));
                    let until = left_at.map_or(usize::MAX, EntryIndex::as_usize);
                    let then = tree.indices().filter(|index| index.as_usize() <= until);
                    given.follow(Self::in_file(tree, then));
                }
            }
        }
        given
    }

    fn in_file(tree: &SessionTree, entries: impl IntoIterator<Item = EntryIndex>) -> Self {
        let mut given = Self::default();
        for index in entries {
            given.read(tree, index);
        }
        given
    }

    fn read(&mut self, tree: &SessionTree, index: EntryIndex) {
        match tree.kind(index) {
            EntryKind::Message => {
                let Ok(entry) = tree.entry(index) else {
                    return;
                };
                let EntryBody::Message(message) = &entry.body else {
                    return;
                };
                if let AgentMessage::User(message) = &**message {
                    self.traces
                        .push(Trace::message(&message.content.joined_text("")));
                } else if let AgentMessage::Assistant(answer) = &**message
                    && answer.provider == "scripted"
                    && answer.stop_reason != StopReason::Aborted
                {
                    self.answers += 1;
                    self.traces.clear();
                }
            }
            EntryKind::Compaction => {
                self.summaries += usize::from(holds(tree, index, SCRIPTED));
                self.traces.push(Trace::Compacted);
            }
            EntryKind::BranchSummary => {
                self.summaries += usize::from(holds(tree, index, SCRIPTED));
                self.traces.push(Trace::Moved);
            }
            EntryKind::CustomMessage if handoff_at(tree, index).is_some() => {
                self.summaries += usize::from(holds(tree, index, SCRIPTED_DOCUMENT));
                self.traces.push(Trace::HandedOff);
            }
            EntryKind::Custom => {
                if let Ok(entry) = tree.entry(index)
                    && let EntryBody::Custom { custom_type, .. } = &entry.body
                    && custom_type == LEAF_ENTRY
                {
                    self.traces.push(Trace::Moved);
                }
            }
            EntryKind::Label => self.traces.push(Trace::Labelled),
            _ => {}
        }
    }

    /// Puts what was given in the file before in front.
    fn follow(&mut self, mut before: Self) {
        if self.answers == 0 {
            before.traces.append(&mut self.traces);
            self.traces = before.traces;
        }
        self.answers += before.answers;
        self.summaries += before.summaries;
    }

    /// Returns what of `due` the session does not show as done. What left no trace (a compaction that had nothing to
    /// do, an abort) was done where the message after it was said.
    pub fn left_of(&self, mut due: VecDeque<ScriptAction>) -> VecDeque<ScriptAction> {
        let mut traces = self.traces.iter();
        let mut done = 0;
        let mut without_trace = false;
        for (place, action) in due.iter().enumerate() {
            let mut rest = traces.clone();
            let is_say = matches!(action, ScriptAction::Say { .. });
            let shown = *action == ScriptAction::Abort || rest.any(|trace| trace.shows(action));
            match (shown, is_say) {
                (true, true) => {
                    without_trace = false;
                    done = place + 1;
                    traces = rest;
                }
                (true, false) if !without_trace => {
                    done = place + 1;
                    traces = rest;
                }
                (true, false) => {}
                (false, true) => break,
                (false, false) => without_trace = true,
            }
        }
        due.drain(..done);
        due
    }
}

impl Trace {
    fn shows(&self, action: &ScriptAction) -> bool {
        match action {
            ScriptAction::Say { text, .. } => *self == Self::message(text),
            ScriptAction::Compact { .. } => *self == Self::Compacted,
            ScriptAction::Navigate { .. } => *self == Self::Moved,
            ScriptAction::Label { .. } => *self == Self::Labelled,
            ScriptAction::Handoff { .. } => *self == Self::HandedOff,
            ScriptAction::Abort => false,
        }
    }
}

const SCRIPTED: &[u8] = b"\"provider\":\"scripted\"";
const SCRIPTED_DOCUMENT: &[u8] = b"\"summarizer\":\"scripted/";

fn holds(tree: &SessionTree, index: EntryIndex, text: &[u8]) -> bool {
    let line = tree.raw_line(index).unwrap_or_default();
    line.windows(text.len()).any(|bytes| bytes == text)
}

/// The document that a session began with.
struct Handoff {
    id: EntryId,
    /// The entry of the session before at which it was left.
    left_at: Option<EntryId>,
}

/// Returns the document that a session began with; none where it did not begin with a handoff.
fn handoff(tree: &SessionTree) -> Option<Handoff> {
    let is_message = |index: &EntryIndex| tree.kind(*index) == EntryKind::CustomMessage;
    let first = tree.indices().find(is_message)?;
    handoff_at(tree, first)
}

fn handoff_at(tree: &SessionTree, index: EntryIndex) -> Option<Handoff> {
    if tree.parent(index).is_some() {
        return None;
    }
    let entry = tree.entry(index).ok()?;
    let EntryBody::CustomMessage(message) = &entry.body else {
        return None;
    };
    let details = message.details.as_ref();
    let left_at = details.and_then(|details| details.string_member("parentLeaf"));
    (message.custom_type == HANDOFF_MESSAGE).then(|| Handoff {
        id: entry.id.clone(),
        left_at: left_at.map(|id| EntryId::new(&id)),
    })
}

/// Returns the session that a session names as the one before it, where it can be read.
fn parent(tree: &SessionTree) -> Option<SessionFile> {
    let path = tree.header()?.parent_session.as_deref()?;
    let path = Path::new(path);
    // A pipe or a device could let wait for ever.
    let is_there = path.is_absolute() && path.is_file();
    let opened = is_there.then(|| open_session(path).ok());
    opened.flatten().map(ReadSession::into_file)
}
