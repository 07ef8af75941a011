//! What a turn brings, until it is in the session.

use session_model::{ContextEditDraft, EntryDraft, EntryId};
use session_store::NewEntry;

use crate::machine::TurnEnd;
use crate::runtime::answer::ModelResponse;

/// What a turn brings, and what was not written of it.
#[derive(Default)]
pub(super) struct TurnState {
    answer: Option<ModelResponse>,
    results: Vec<NewEntry>,
    /// Answers and results that could not be written; they precede the entries that are written next.
    unsaved: Vec<NewEntry>,
    store_error: Option<String>,
    /// The newest answer, when it failed and should leave the context.
    failed_answer: Option<EntryId>,
    resumes_calls: bool,
    /// How the newest turn ended.
    pub end: Option<TurnEnd>,
}

impl TurnState {
    pub fn set_answer(&mut self, answer: ModelResponse) {
        self.answer = Some(answer);
    }

    /// Returns the answer that is to be written. The one before is no longer the newest.
    pub fn take_answer(&mut self) -> Option<ModelResponse> {
        self.failed_answer = None;
        self.answer.take()
    }

    pub fn set_results(&mut self, results: Vec<NewEntry>) {
        self.results = results;
    }

    pub fn take_results(&mut self) -> Vec<NewEntry> {
        std::mem::take(&mut self.results)
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

    pub fn write_succeeded(&mut self) {
        self.store_error = None;
    }

    pub fn write_failed(&mut self, error: String) {
        self.store_error = Some(error);
    }

    /// Returns why the newest write failed.
    pub fn take_store_error(&mut self) -> Option<String> {
        self.store_error.take()
    }

    pub fn failed_answer(&self) -> Option<&EntryId> {
        self.failed_answer.as_ref()
    }

    pub fn set_failed_answer(&mut self, answer: Option<EntryId>) {
        self.failed_answer = answer;
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

    /// The calls that run next were begun before the session was opened, or not.
    pub fn set_resumes_calls(&mut self, resumes_calls: bool) {
        self.resumes_calls = resumes_calls;
    }

    /// Returns whether the calls that run now were begun before the session was opened.
    pub fn take_resumes_calls(&mut self) -> bool {
        std::mem::take(&mut self.resumes_calls)
    }
}
