//! Sessions that are a plain list of messages: an answer waits for the results of its calls, which follow it.

use std::collections::HashMap;

use session_model::{Block, EntryId, FirstKept, Timestamp, Usage, UserParts};

use crate::content::{Answer, compaction, is_blank};
use crate::emitter::{Begin, CallResult, Emitter, PendingCall, Place};
use crate::error::ImportError;
use crate::report::ImportReport;

/// Writes the messages of a session in their order.
pub(crate) struct Conversation<'a> {
    pub emitter: Emitter<'a>,
    leaf: EntryId,
    /// What stands before each message, and its first entry, by its id in the source.
    known: HashMap<String, (EntryId, EntryId)>,
    open: Option<Open>,
    /// The tokens of the newest answer's context.
    tokens: u64,
}

/// An answer that waits for results.
struct Open {
    id: String,
    place: Place,
    answer: Answer,
    calls: Vec<(PendingCall, Option<CallResult>)>,
}

impl<'a> Conversation<'a> {
    pub fn begin(mut emitter: Emitter<'a>, begin: Begin<'_>) -> Result<Self, ImportError> {
        emitter.begin(begin)?;
        Ok(Self {
            leaf: emitter.root.clone(),
            emitter,
            known: HashMap::new(),
            open: None,
            tokens: 0,
        })
    }

    pub fn user(
        &mut self,
        id: &str,
        at: Option<Timestamp>,
        parts: UserParts,
    ) -> Result<(), ImportError> {
        let place = self.place(at)?;
        let ends = self.emitter.user_parts(id, place, parts)?;
        if let Some((first, last)) = ends {
            self.wrote(id, first, last);
        }
        Ok(())
    }

    /// Writes an answer, once the results of its calls are there. One that says nothing is left out.
    pub fn answer(&mut self, id: &str, answer: Answer) -> Result<(), ImportError> {
        let place = self.place(answer.at)?;
        let says_nothing = is_blank(&answer.blocks) && answer.error.is_none();
        if says_nothing && answer.usage.is_none_or(|usage| usage.total_tokens == 0) {
            self.emitter.report.skip("answer without content");
            return Ok(());
        }
        let calls = answer.blocks.iter().filter_map(PendingCall::of);
        let calls = calls.map(|call| (call, None)).collect();
        if let Some(usage) = answer.usage.filter(|usage| usage.total_tokens > 0) {
            self.tokens = usage.total_tokens;
        }
        self.open = Some(Open {
            id: id.to_owned(),
            place,
            answer,
            calls,
        });
        Ok(())
    }

    /// Takes the result of a call; without its call it is a message that people are not shown.
    pub fn result(&mut self, call: &str, result: CallResult) -> Result<(), ImportError> {
        let calls = self.open.iter_mut().flat_map(|open| &mut open.calls);
        let mut calls = calls.filter(|(pending, known)| pending.id == call && known.is_none());
        if let Some((_, known)) = calls.next() {
            *known = Some(result);
            return Ok(());
        }
        let place = self.place(result.at)?;
        self.leaf = self.emitter.orphan(&place, result)?;
        Ok(())
    }

    /// Writes what the model saw and what no participant said.
    pub fn hidden(
        &mut self,
        id: &str,
        at: Option<Timestamp>,
        kind: &str,
        text: String,
    ) -> Result<(), ImportError> {
        let mut parts = UserParts::default();
        parts.insert(kind, Block::text(text));
        self.user(id, at, parts)
    }

    /// Writes a compaction, which keeps what is written from the first of the messages `kept` on.
    pub fn compaction(
        &mut self,
        id: &str,
        at: Option<Timestamp>,
        summary: &str,
        kept: &[String],
        tokens: Option<u64>,
    ) -> Result<(), ImportError> {
        let place = self.place(at)?;
        let kept = kept
            .iter()
            .find_map(|kept| Some(self.known.get(kept)?.1.clone()));
        let kept = kept.map_or(FirstKept::None, FirstKept::Entry);
        let draft = compaction(summary, kept, tokens.unwrap_or(self.tokens), None, None);
        let entry = self.emitter.write(id, &place, &draft)?;
        self.wrote(id, entry.clone(), entry);
        Ok(())
    }

    /// Writes again what the user said, which a compaction keeps outside of its summary.
    pub fn copied(&mut self, at: Option<Timestamp>, text: String) -> Result<(), ImportError> {
        let place = self.place(at)?;
        self.leaf = self
            .emitter
            .copied(&place, "user", vec![Block::text(text)])?;
        Ok(())
    }

    /// Writes tokens that belong to no message.
    pub fn usage(
        &mut self,
        kind: &str,
        at: Option<Timestamp>,
        usage: Usage,
    ) -> Result<(), ImportError> {
        if usage.total_tokens > 0 {
            let place = self.place(at)?;
            self.leaf = self.emitter.usage(&place, kind, usage)?;
        }
        Ok(())
    }

    /// Counts what is lost of a record that is mapped.
    pub fn lose(&mut self, what: &str) {
        self.emitter.report.lose(what);
    }

    /// Returns the entry that the next one will be below.
    pub fn leaf(&mut self) -> Result<EntryId, ImportError> {
        self.close()?;
        Ok(self.leaf.clone())
    }

    /// Continues below an entry.
    pub fn go_to(&mut self, leaf: EntryId) -> Result<(), ImportError> {
        self.close()?;
        self.leaf = leaf;
        Ok(())
    }

    /// Returns the entry before a message.
    pub fn before(&mut self, message: &str) -> Result<Option<EntryId>, ImportError> {
        self.close()?;
        Ok(self.known.get(message).map(|(before, _)| before.clone()))
    }

    pub fn finish(mut self) -> Result<ImportReport, ImportError> {
        self.close()?;
        self.emitter.finish(&self.leaf)
    }

    fn place(&mut self, at: Option<Timestamp>) -> Result<Place, ImportError> {
        self.close()?;
        Ok(Place {
            parent: self.leaf.clone(),
            at,
        })
    }

    fn wrote(&mut self, id: &str, first: EntryId, last: EntryId) {
        let before = std::mem::replace(&mut self.leaf, last);
        self.known.insert(id.to_owned(), (before, first));
    }

    fn close(&mut self) -> Result<(), ImportError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let draft = open.answer.draft()?;
        let (first, last) = self
            .emitter
            .answer(&open.id, &open.place, draft, open.calls)?;
        self.wrote(&open.id, first, last);
        Ok(())
    }
}
