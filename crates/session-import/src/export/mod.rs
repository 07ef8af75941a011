//! Sessions of the family, written as other agents resume them.

mod claude;
mod codex;
mod ids;
mod opencode;
mod pi;
mod steps;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};
use session_model::{Leaf, SessionTree, SourceError, Timestamp};

use crate::report::count;

pub(crate) use ids::uuid;

/// An agent that resumes what [`export`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// pi: a session of version 3 without what only oh-my-pi knows.
    Pi,
    /// Codex: a rollout.
    Codex,
    /// Claude Code: a transcript.
    Claude,
    /// opencode: a document for `opencode import`.
    Opencode,
}

impl Target {
    /// Returns the name for people and programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Opencode => "opencode",
        }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What an export wrote and what it lost.
#[derive(Debug, Clone, Serialize)]
pub struct ExportReport {
    /// The agent that it is for.
    pub target: Target,
    /// The id that the session has there.
    pub session_id: String,
    /// Where the agent looks for the file, below its folder; `None` where a command takes it.
    pub place: Option<String>,
    /// How many records there are of each type.
    pub written: BTreeMap<String, u64>,
    /// What was lost, with how often.
    pub losses: BTreeMap<String, u64>,
}

/// What every export but that for pi begins with.
struct Begin<'a> {
    /// The session and its leaf, which the new ids are made of.
    ids: [&'a str; 2],
    cwd: &'a str,
    at: Option<Timestamp>,
}

impl<'a> Begin<'a> {
    fn of(tree: &'a SessionTree, leaf: Leaf) -> Self {
        let header = tree.header();
        let end = tree.path(leaf).leaf_id().unwrap_or_default();
        Self {
            ids: [header.map_or("", |header| &header.id), end],
            cwd: header.map_or("", |header| &header.cwd),
            at: header.and_then(|header| Timestamp::parse(&header.timestamp)),
        }
    }
}

impl ExportReport {
    fn new(target: Target, session_id: String) -> Self {
        Self {
            target,
            session_id,
            place: None,
            written: BTreeMap::new(),
            losses: BTreeMap::new(),
        }
    }

    fn wrote(&mut self, what: &str) {
        count(&mut self.written, what);
    }

    fn lose(&mut self, what: &str) {
        count(&mut self.losses, what);
    }
}

/// Why a session cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The session could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Writing failed.
    #[error("cannot write the exported session: {0}")]
    Write(#[from] io::Error),
    /// There is nothing to resume.
    #[error("there is no message on this branch")]
    Empty,
}

/// Writes the session, as it stands at `leaf`, so that another agent resumes it with the same context.
///
/// The same session and leaf give the same bytes. For pi, other branches are written too.
///
/// # Errors
///
/// [`ExportError`] when reading or writing fails, or when the branch has no message.
pub fn export(
    target: Target,
    tree: &SessionTree,
    leaf: Leaf,
    out: &mut dyn Write,
) -> Result<ExportReport, ExportError> {
    let mut report = match target {
        Target::Pi => pi::export(tree, leaf, out),
        Target::Codex => codex::export(tree, leaf, out),
        Target::Claude => claude::export(tree, leaf, out),
        Target::Opencode => opencode::export(tree, leaf, out),
    }?;
    for _ in tree.damaged_lines() {
        report.lose("entry that cannot be read");
    }
    Ok(report)
}
