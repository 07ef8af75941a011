//! Heads of records that name their parents.

use std::collections::HashMap;

use session_model::{Span, Timestamp};

/// What a threaded record is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A part of an answer, with the ids of its calls.
    Answer {
        message_id: Option<Box<str>>,
        calls: Vec<Box<str>>,
    },
    /// A message with the role of the user, with the ids of calls whose results it has.
    User {
        results: Vec<Option<Box<str>>>,
        has_more: bool,
    },
    /// The summary that a compaction wrote.
    Summary,
    /// The place of a compaction.
    Boundary,
    /// Context that the program added.
    Attachment,
    /// What a hook reports, written when it has ended.
    Progress,
    /// Nothing that is mapped, but a link between others.
    Link,
}

/// What the place of a compaction says.
#[derive(Debug)]
pub(crate) struct Boundary {
    /// The newest message before it.
    pub logical_parent: Option<Box<str>>,
    /// What it kept, the first and the last of that, and what that follows in the context.
    pub preserved: Vec<Box<str>>,
    pub head: Option<Box<str>>,
    pub tail: Option<Box<str>>,
    pub anchor: Option<Box<str>>,
    pub tokens_before: u64,
    pub metadata: String,
}

/// Of a subagent's step in the file of the session that started it: which subagent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Subagent {
    /// Its id, or an empty text.
    pub id: Box<str>,
    /// The call that started it, of its first step.
    pub call: Option<Box<str>>,
}

/// The head of a threaded record.
#[derive(Debug)]
pub(crate) struct Record {
    pub line: u64,
    pub span: Span,
    /// Where more of it is: later lines with the same uuid.
    pub more: Vec<Span>,
    pub kind: Kind,
    pub uuid: Option<Box<str>>,
    pub parent: Option<Box<str>>,
    /// The answer whose call it is the result of, as the record names it.
    pub source: Option<Box<str>>,
    pub at: Option<Timestamp>,
    pub is_sidechain: bool,
    pub subagent: Option<Box<Subagent>>,
    pub boundary: Option<Box<Boundary>>,
}

impl Record {
    /// Returns the uuid, or an empty text.
    pub fn uuid(&self) -> &str {
        self.uuid.as_deref().unwrap_or_default()
    }
}

/// The heads of all records.
#[derive(Default)]
pub(crate) struct Records {
    pub list: Vec<Record>,
    pub by_uuid: HashMap<Box<str>, usize>,
    /// Copies of records of the session that this one was forked from, by the ids that they have there.
    pub by_source: HashMap<Box<str>, usize>,
    /// The leaf, where the file names one.
    pub leaf: Option<Box<str>>,
}

impl Records {
    /// Returns the record with this uuid.
    pub fn find(&self, uuid: Option<&str>) -> Option<usize> {
        let uuid = uuid?;
        self.by_uuid.get(uuid).or(self.by_source.get(uuid)).copied()
    }

    /// Returns true for the file of a subagent, all of whose messages are a side chain.
    pub fn only_sidechain(&self) -> bool {
        let mut messages = self
            .list
            .iter()
            .filter(|record| matches!(record.kind, Kind::Answer { .. } | Kind::User { .. }))
            .filter(|record| record.subagent.is_none());
        messages.all(|record| record.is_sidechain)
    }
}
