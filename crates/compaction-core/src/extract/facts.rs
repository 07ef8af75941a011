//! What an extractive summary says, before it is written and after it was read back.

use std::collections::BTreeSet;

use super::ledger_dedup::Part;
use super::sections::with_id;

/// The most ids that a line of what is left out names.
const NAMED_IDS: usize = 10;

/// A request of the user, verbatim but for neutralised tags and the marker of a cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// The words.
    pub text: String,
    /// The entry; empty when it is not known.
    pub id: String,
}

/// A one-line fact and the entry that it comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Item {
    /// The fact.
    pub text: String,
    /// The entry; empty when it is not known.
    pub id: String,
}

/// What a list no longer holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// How many items.
    pub count: usize,
    /// Where the newest of them can be read.
    pub ids: Vec<String>,
}

/// What was done to a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileWork {
    /// The path.
    pub path: String,
    /// Lines of the newest whole write.
    pub lines: Option<usize>,
    /// Edits since then.
    pub edits: usize,
    /// The first line that the newest edit brought.
    pub newest: String,
}

/// A command that failed and was not seen to pass since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Failure {
    /// The command, on one line.
    pub command: String,
    /// Its exit code, if known.
    pub exit: Option<i64>,
    /// Its error lines.
    pub lines: Vec<String>,
    /// The sentence that reported it, where no run of it is recorded.
    pub reported: Option<String>,
    /// The entry of the result.
    pub id: String,
}

/// What the user asked to watch for, and the sentences that speak of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Focus {
    /// The user's words.
    pub words: String,
    /// The sentences, oldest first.
    pub lines: Vec<Item>,
}

/// Everything that a summary says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub first: Option<Request>,
    /// True when `first` is only the first after a summary that named no request.
    pub first_follows_summary: bool,
    /// True when the first request is in a ledger, so that no other is the first.
    pub first_in_ledger: bool,
    /// Sections of which something is in the ledger; not read back.
    pub in_ledger: BTreeSet<Part>,
    /// The goal in the words of a model.
    pub goal: String,
    pub latest: Option<Request>,
    /// What a short latest request answers.
    pub latest_answers: Option<Item>,
    pub between: Vec<Item>,
    pub between_left: LeftOut,
    /// The user's rules; those without an id are another summary's bullets.
    pub rules: Vec<Item>,
    pub rules_left: LeftOut,
    /// Modified files, newest last.
    pub files: Vec<FileWork>,
    pub files_left: usize,
    pub passed: Vec<Item>,
    pub done: Vec<String>,
    pub done_left: usize,
    pub open: Vec<String>,
    pub plan: Option<Item>,
    pub last_steps: Option<Item>,
    pub failures: Vec<Failure>,
    pub blocked: Vec<String>,
    pub decisions: Vec<Item>,
    pub next: Vec<String>,
    pub focus: Option<Focus>,
    /// A summary without sections.
    pub earlier: String,
    pub notes: Vec<String>,
    pub figures: Vec<Item>,
    pub answer: Option<Item>,
    /// True when the summary is extractive.
    pub extractive: bool,
    /// True when somebody spoke; not written.
    pub active: bool,
    /// True when a list of todos was set; not written.
    pub todos_set: bool,
    /// Commands that ended well, on one line each; not written.
    pub succeeded: Vec<String>,
}

/// Adds to a count. An earlier summary, which anybody may have written, says where it starts, so it may be at its end.
pub(super) fn add(count: &mut usize, more: usize) {
    *count = count.saturating_add(more);
}

impl Item {
    /// Returns the fact with its entry in parentheses.
    pub(super) fn line(&self) -> String {
        with_id(&self.text, &self.id)
    }
}

impl LeftOut {
    /// Notes one more item.
    pub(super) fn add(&mut self, id: &str) {
        add(&mut self.count, 1);
        self.name(id);
    }

    /// Notes where an item that is counted can be read.
    pub(super) fn name(&mut self, id: &str) {
        if !id.is_empty() && !self.ids.iter().any(|known| known == id) {
            self.ids.push(id.to_owned());
            let excess = self.ids.len().saturating_sub(NAMED_IDS);
            self.ids.drain(..excess);
        }
    }

    /// Returns how many there were and where the newest can be read.
    pub(super) fn line(&self, what: &str) -> String {
        if self.ids.is_empty() {
            return format!("({} {what})", self.count);
        }
        let more = if self.ids.len() < self.count {
            ", ..."
        } else {
            ""
        };
        format!(
            "({} {what}: recall {}{more})",
            self.count,
            self.ids.join(", ")
        )
    }
}

impl FileWork {
    /// Returns true when nothing but the path is known.
    pub(super) fn is_plain(&self) -> bool {
        self.lines.is_none() && self.edits == 0
    }

    /// Forgets everything but the path.
    pub(super) fn strip(&mut self) {
        self.lines = None;
        self.edits = 0;
        self.newest.clear();
    }

    /// Returns what was done, for example `edited src/a.rs (3 edits; newest: fn main)`.
    pub(super) fn line(&self) -> String {
        let path = &self.path;
        let edits = match self.edits {
            1 => "1 edit".to_owned(),
            edits => format!("{edits} edits"),
        };
        let newest = match self.newest.as_str() {
            "" => String::new(),
            newest => format!("; newest: {newest}"),
        };
        match self.lines {
            None => format!("edited {path} ({edits}{newest})"),
            Some(lines) if self.edits == 0 => format!("wrote {path} ({lines} lines)"),
            Some(lines) => format!("wrote {path} ({lines} lines, {edits}{newest})"),
        }
    }
}
