//! What an import found, mapped and lost.

use session_model::json::Members;
use std::collections::BTreeMap;

use serde::Serialize;
use session_model::{Diagnostic, Usage};

use crate::format::Format;

/// What an import found, mapped and lost.
#[derive(Debug, Clone, Serialize)]
pub struct ImportReport {
    /// The format that was read.
    pub format: Format,
    /// The version of the program that wrote the session, as its last record names it.
    pub version: Option<String>,
    /// The id of the session.
    pub session_id: String,
    /// The folder that the session worked in; empty where the file does not say.
    pub cwd: String,
    /// The session that it was forked from, or whose subagent it is of.
    #[serde(skip)]
    pub(crate) parent_session: Option<String>,
    /// How many tokens the model of the session takes, where the file says that.
    #[serde(skip)]
    pub(crate) window: Option<u64>,
    /// How many records there are of each type.
    pub records: BTreeMap<String, u64>,
    /// How many entries were written of each type.
    pub entries: BTreeMap<String, u64>,
    /// How many records of each type were not mapped.
    pub skipped: BTreeMap<String, u64>,
    /// What mapped records lost, with how often.
    pub losses: BTreeMap<String, u64>,
    /// How many records were there a second time and were left out.
    pub duplicates: u64,
    /// How many calls have no result in the source, and got one that says so.
    pub interrupted_calls: u64,
    /// The tokens of all answers, each counted once.
    pub usage: Usage,
    /// What could not be read, with lines of the source.
    pub diagnostics: Vec<Diagnostic>,
}

impl ImportReport {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            version: None,
            session_id: String::new(),
            cwd: String::new(),
            parent_session: None,
            window: None,
            records: BTreeMap::new(),
            entries: BTreeMap::new(),
            skipped: BTreeMap::new(),
            losses: BTreeMap::new(),
            duplicates: 0,
            interrupted_calls: 0,
            usage: Usage::default(),
            diagnostics: Vec::new(),
        }
    }

    /// Takes from the head of a record what all records of a session repeat: its id, its folder, the newest version, the
    /// session that it was forked from.
    pub(crate) fn take_head(&mut self, record: &Members<'_>) {
        if self.session_id.is_empty() {
            self.session_id = record.text("sessionId").unwrap_or_default();
        }
        if self.parent_session.is_none() {
            let from = record.object("forkedFrom").unwrap_or_default();
            self.parent_session = from.filled("sessionId");
        }
        if self.cwd.is_empty() {
            self.cwd = record.text("cwd").unwrap_or_default();
        }
        self.version = record.text("version").or(self.version.take());
    }

    /// Adds what the heads of later records said, and how many there were.
    pub(crate) fn add_heads(&mut self, later: Self) {
        for (kind, more) in later.records {
            count_more(&mut self.records, &kind, more);
        }
        for (kind, more) in later.skipped {
            count_more(&mut self.skipped, &kind, more);
        }
        if self.session_id.is_empty() {
            self.session_id = later.session_id;
        }
        if self.cwd.is_empty() {
            self.cwd = later.cwd;
        }
        self.parent_session = self.parent_session.take().or(later.parent_session);
        self.version = later.version.or(self.version.take());
    }

    /// Counts a record that is not mapped.
    pub(crate) fn skip(&mut self, kind: &str) {
        count(&mut self.skipped, kind);
    }

    /// Counts something that a mapped record lost.
    pub(crate) fn lose(&mut self, what: &str) {
        count(&mut self.losses, what);
    }
}

/// The most types that are counted by name; a hostile file could have a new one on each line.
const MOST_TYPES: usize = 256;

/// Counts one more of a type. Names come from the file: they are cut, and of too many the rest is counted together.
pub(crate) fn count(counts: &mut BTreeMap<String, u64>, kind: &str) {
    count_more(counts, kind, 1);
}

/// Counts `more` of a type.
fn count_more(counts: &mut BTreeMap<String, u64>, kind: &str, more: u64) {
    if let Some(known) = counts.get_mut(kind) {
        *known += more;
        return;
    }
    let name: String = kind.chars().take(64).collect();
    let known = counts.contains_key(&name) || counts.len() < MOST_TYPES;
    let name = if known { name } else { "other".to_owned() };
    *counts.entry(name).or_default() += more;
}
