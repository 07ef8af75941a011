//! What a turn brings, until it is in the session.

use session_model::{ContextEditDraft, EntryDraft, EntryId};
use session_store::NewEntry;

use crate::runtime::answer::ModelResponse;
use session_protocol::TurnEnd;

/// What a turn brings, and what was not written of it.
#[derive(Default)]
pub(super) struct TurnState {
    /// The answer that is to be written.
    pub answer: Option<ModelResponse>,
    /// The results that are to be written.
    pub results: Vec<NewEntry>,
    /// Answers and results that could not be written; they precede the entries that are written next.
    unsaved: Vec<NewEntry>,
    /// Why the newest write failed.
    pub store_error: Option<String>,
    /// The newest answer, when it failed and should leave the context.
    pub failed_answer: Option<EntryId>,
    /// The calls that run next were begun before the session was opened.
    pub resumes_calls: bool,
    /// How the newest turn ended.
    pub end: Option<TurnEnd>,
}

impl TurnState {
    /// Returns the answer that is to be written. The one before is no longer the newest.
    pub fn take_answer(&mut self) -> Option<ModelResponse> {
        self.failed_answer = None;
        self.answer.take()
    }

    /// Returns entries behind those that could not be written, and how many these are.
    pub fn behind_unsaved(&self, entries: Vec<NewEntry>) -> (Vec<NewEntry>, usize) {
        let mut all = self.unsaved.clone();
        all.extend(entries);
        (all, self.unsaved.len())
    }

    /// Keeps entries that could not be written and cannot be made again.
    pub fn keep_unsaved(&mut self, entries: Vec<NewEntry>) {
        self.unsaved.extend(entries);
    }

    pub fn unsaved(&self) -> usize {
        self.unsaved.len()
    }

    /// All entries are in the session.
    pub fn saved(&mut self) {
        self.unsaved.clear();
        self.store_error = None;
    }

    /// Returns the edit that takes the answer that failed out of the context; nothing where none did.
    pub fn omission(&self) -> Option<NewEntry> {
        let target = self.failed_answer.clone()?;
        let edit = ContextEditDraft {
            target,
            replacement: None,
        };
        Some(EntryDraft::ContextEdit(edit).into())
    }
}
