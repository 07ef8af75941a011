//! What was noticed about a session that is not as it should be, and what was done about it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::entry::EntryId;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A peculiarity of the spelling; nothing is missing.
    Note,
    /// Something was repaired in memory; the bytes of the session are untouched.
    Warning,
    /// Content could not be read; its bytes are still in the session.
    Error,
}

/// What kind of thing was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The session begins with a byte-order mark.
    ByteOrderMark,
    /// Lines end in CR LF.
    CarriageReturns,
    /// There are blank lines.
    BlankLines,
    /// The last line does not end in a newline.
    MissingFinalNewline,
    /// The last line is cut off.
    TornTail,
    /// A write of several entries that count only together was cut off.
    UnfinishedWrite,
    /// A line is not a JSON object that can be read.
    DamagedLine,
    /// Several records are on one line.
    SharedLine,
    /// A line is longer than 4 GiB.
    OversizedLine,
    /// The session has more entries, or longer ids, than can be numbered: their ids take more than 4 GiB.
    TooManyEntries,
    /// A line is valid JSON, but no entry (it has no `type`).
    NotAnEntry,
    /// The first readable line is not a session header.
    MissingHeader,
    /// There is more than one header.
    ExtraHeader,
    /// An entry has no id.
    MissingId,
    /// Two entries have the same id.
    DuplicateId,
    /// An entry names a parent that is not there.
    MissingParent,
    /// The parents of some entries form a ring.
    ParentCycle,
    /// A header, or the head of an entry, was readable only after repair (duplicate keys, wrong types).
    RepairedHead,
    /// A body was readable only after repair (lone surrogates, duplicate keys, wrong types, bytes that are not UTF-8).
    RepairedBody,
    /// A body could not be read.
    DamagedBody,
    /// A compaction keeps from an entry that is not on its path.
    KeptEntryOffPath,
    /// A tool call and its result are not paired.
    UnpairedToolCall,
    /// Messages do not follow the order of roles.
    RoleOrder,
    /// Nothing fits a budget that was set.
    OverBudget,
    /// An image is larger than the service of its agent takes.
    OversizedImage,
    /// The agent that wrote the session does not resume it.
    NotResumable,
    /// The context of an imported session is much smaller than what its newest answer was billed for.
    ContextMismatch,
    /// The last line stands under an old entry, and newer messages are out of the context.
    StaleLeaf,
    /// Services refuse something of a message.
    Refused,
}

/// One thing that was noticed, with the line it concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// What kind of thing it is.
    pub kind: DiagnosticKind,
    /// The line, counted from 1, or `None` when no single line is meant.
    pub line: Option<u64>,
    /// The entry it concerns, if it has an id.
    pub entry_id: Option<EntryId>,
    /// One sentence fragment: what was found and what was done.
    pub message: String,
    /// How many more of its kind there are that are not listed; on the last one of them that is.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Diagnostic {
    /// Returns a diagnostic about no particular line or entry.
    pub fn new(severity: Severity, kind: DiagnosticKind, message: impl Into<String>) -> Self {
        Self {
            severity,
            kind,
            line: None,
            entry_id: None,
            message: message.into(),
            more: 0,
        }
    }

    /// Returns how many it stands for: itself, and those of its kind that are not listed.
    pub fn count(&self) -> u64 {
        self.more.saturating_add(1)
    }

    /// Returns the same diagnostic, said of `line`.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Returns the same diagnostic, said of the entry `id`.
    #[must_use]
    pub fn of_entry(mut self, id: EntryId) -> Self {
        self.entry_id = Some(id);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " ({more} more of this kind are not listed)"),
        }
    }
}

/// Diagnostics as they are collected: the first [`LISTED`](Self::LISTED) of each kind, and how many more there are. So
/// a session takes no more memory the more of it is damaged.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    listed: Vec<Diagnostic>,
    kinds: BTreeMap<DiagnosticKind, OfKind>,
}

#[derive(Debug, Clone, Copy, Default)]
struct OfKind {
    count: u64,
    listed: u64,
    /// The place of the last that is listed.
    last: usize,
}

impl Diagnostics {
    /// How many diagnostics of one kind are listed.
    pub const LISTED: u64 = 1000;

    /// Adds a diagnostic.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        let kind = self.kinds.entry(diagnostic.kind).or_default();
        kind.count = kind.count.saturating_add(diagnostic.count());
        if kind.listed < Self::LISTED {
            kind.listed += 1;
            kind.last = self.listed.len();
            diagnostic.more = 0;
            self.listed.push(diagnostic);
        }
    }

    /// Returns how many of a kind there are, listed or not.
    pub fn count(&self, kind: DiagnosticKind) -> u64 {
        self.kinds.get(&kind).map_or(0, |kind| kind.count)
    }

    /// Returns those that are listed, in the order in which they came; the last of each kind counts the others.
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        for kind in self.kinds.values() {
            self.listed[kind.last].more = kind.count.saturating_sub(kind.listed);
        }
        self.listed
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        for diagnostic in diagnostics {
            self.push(diagnostic);
        }
    }
}
