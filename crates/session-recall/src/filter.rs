//! Which entries a search looks at: where they stand, who wrote them, when, with which tool, about which file.

use serde::Serialize;
use session_model::{Entry, EntryIndex, EntryKind, SessionContext, SessionPath, Timestamp};

use crate::entry_text::{Author, EntryText, call_of};
use crate::terms::fold;
use session_facts::file_calls;

/// Where an entry stands for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The model sees it.
    InContext,
    /// It is on the path, but a compaction or an edit took it out of the context.
    OutOfContext,
    /// It is on another branch.
    OtherBranch,
}

impl Place {
    /// Returns the place in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InContext => "in context",
            Self::OutOfContext => "out of context",
            Self::OtherBranch => "other branch",
        }
    }
}

/// Who wrote what is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecallRole {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool, or a command of the user.
    Tool,
    /// The summary of a compaction or a branch.
    Summary,
}

/// What a search is restricted to. It applies before anything is counted or ranked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecallFilters {
    /// Only what stands there.
    pub place: Option<Place>,
    /// Only what this role wrote.
    pub role: Option<RecallRole>,
    /// Only calls of this tool and their results.
    pub tool: Option<String>,
    /// Only what names this file, and results of calls that do.
    pub path: Option<String>,
    /// Only the branch of this entry: from the root to it, and what follows it.
    pub branch: Option<EntryIndex>,
    /// Only what was written then or later.
    pub since: Option<Timestamp>,
    /// Only what was written before.
    pub before: Option<Timestamp>,
}

impl RecallFilters {
    /// Returns whether an entry has to be read to know whether it passes.
    pub(super) fn reads(&self) -> bool {
        let words = self.tool.is_some() || self.path.is_some() || self.role.is_some();
        words || self.since.is_some() || self.before.is_some()
    }

    /// Returns whether an entry passes, its place and branch aside.
    pub(super) fn pass(
        &self,
        path: &SessionPath<'_>,
        index: EntryIndex,
        entry: &Entry,
        text: &EntryText,
    ) -> bool {
        let role = self.role.is_none_or(|role| {
            text.author
                == match role {
                    RecallRole::User => Author::User,
                    RecallRole::Assistant => Author::Assistant,
                    RecallRole::Tool => Author::Tool,
                    RecallRole::Summary => Author::Summary,
                }
        });
        let tool = self.tool.as_ref().is_none_or(|tool| {
            let mut tools = text.tools.iter();
            tools.any(|name| name.eq_ignore_ascii_case(tool))
        });
        let at = entry.timestamp;
        let since = self
            .since
            .is_none_or(|since| at.is_some_and(|at| at >= since));
        let before = self
            .before
            .is_none_or(|before| at.is_some_and(|at| at < before));
        let file = || {
            self.path
                .as_ref()
                .is_none_or(|file| names_file(path, index, text, file))
        };
        role && tool && since && before && file()
    }
}

/// Returns whether an entry names a file, or is the result of a call that does.
fn names_file(path: &SessionPath<'_>, index: EntryIndex, text: &EntryText, file: &str) -> bool {
    let file = fold(file.trim_start_matches("./"));
    if fold(&text.text).contains(&file) {
        return true;
    }
    let call = text
        .answers
        .as_ref()
        .and_then(|id| call_of(path.tree(), index, id));
    let named = call.map_or_else(Vec::new, |call| file_calls(&call));
    named.iter().any(|(_, named)| fold(named).contains(&file))
}

/// Where the entries of a tree stand, and which are on the branch that is searched.
#[derive(Debug)]
pub(super) struct Places {
    places: Vec<Place>,
    branch: Option<Vec<bool>>,
}

impl Places {
    pub fn of(
        path: &SessionPath<'_>,
        context: &SessionContext,
        branch: Option<EntryIndex>,
    ) -> Self {
        let tree = path.tree();
        let mut places = vec![Place::OtherBranch; tree.len()];
        for index in path.entries() {
            places[index.as_usize()] = Place::OutOfContext;
        }
        for projected in &context.entries {
            if !projected.messages.is_empty() && !projected.omitted {
                places[projected.index.as_usize()] = Place::InContext;
            }
        }
        let branch = branch.map(|end| {
            let mut on = vec![false; tree.len()];
            on[end.as_usize()] = true;
            for index in tree.parents_first() {
                let parent = tree.parent(index);
                on[index.as_usize()] |= parent.is_some_and(|parent| on[parent.as_usize()]);
            }
            for at in std::iter::successors(Some(end), |at| tree.parent(*at)) {
                on[at.as_usize()] = true;
            }
            on
        });
        Self { places, branch }
    }

    pub fn place(&self, index: EntryIndex) -> Place {
        self.places[index.as_usize()]
    }

    pub fn is_on_branch(&self, index: EntryIndex) -> bool {
        self.branch.as_ref().is_none_or(|on| on[index.as_usize()])
    }
}

/// Returns whether entries of this kind say something.
pub(super) fn speaks(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Message
            | EntryKind::Compaction
            | EntryKind::BranchSummary
            | EntryKind::CustomMessage
    )
}
