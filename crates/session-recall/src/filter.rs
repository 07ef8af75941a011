//! Which entries a search looks at: what they are, when they were written, with which tool, about which file.

use serde::Serialize;
use session_facts::file_calls;
use session_model::{
    AgentMessage, Entry, EntryBody, EntryIndex, EntryKind, SUBAGENT, SessionContext, SessionPath,
    SessionTree, Timestamp, ToolCall,
};

use crate::entry_text::{Author, EntryText, call_of};
use crate::terms::fold;

/// Where an entry is for the model.
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
    /// Returns the place in words, unless it is out of the context, as most of what is searched for is.
    pub const fn exception(self) -> Option<&'static str> {
        match self {
            Self::InContext => Some("in context"),
            Self::OutOfContext => None,
            Self::OtherBranch => Some("other branch"),
        }
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What the user wrote, also as the answer to a question of the model.
    User,
    /// What the model wrote.
    Assistant,
    /// A call of a tool.
    Call,
    /// The result of a tool, or a command of the user.
    Result,
    /// A result that is an error.
    Error,
    /// The summary of a compaction or a branch.
    Summary,
    /// What an agent or a program put into the conversation.
    Custom,
}

/// A point of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A time.
    Time(Timestamp),
    /// An entry.
    Entry(EntryIndex),
}

impl Moment {
    /// Returns the point that a text names: a date, a date with its time, the id of an entry of `path`, `compaction` for the
    /// newest one or `compaction 2` for the second.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str, path: Option<&SessionPath<'_>>) -> Result<Self, String> {
        let text = text.trim();
        let dates = [
            text.to_owned(),
            format!("{text}T00:00:00Z"),
            format!("{text}Z"),
        ];
        if let Some(at) = dates.iter().find_map(|text| Timestamp::parse(text)) {
            return Ok(Self::Time(at));
        }
        let Some(path) = path else {
            return Err(format!(
                "{text} is not a time; write 2026-01-31 or 2026-01-31T10:00:00Z"
            ));
        };
        let tree = path.tree();
        if let Some(number) = text.strip_prefix("compaction") {
            let is_compaction = |at: &&EntryIndex| tree.kind(**at) == EntryKind::Compaction;
            let mut all = path.entries().iter().filter(is_compaction);
            let found = match number.trim().trim_start_matches('#') {
                "" => all.next_back(),
                number => number
                    .parse::<usize>()
                    .ok()
                    .and_then(|number| all.nth(number.checked_sub(1)?)),
            };
            let none = || format!("there is no {text} on the path");
            return found.map(|at| Self::Entry(*at)).ok_or_else(none);
        }
        let found = tree.find_by_beginning(text.trim_matches(['[', ']']));
        let found = found.map_err(|_| {
            format!(
                "{text} is neither a time nor the id of one entry; write 2026-01-31, 2026-01-31T10:00:00Z, an id, or compaction 2"
            )
        })?;
        Ok(Self::Entry(found))
    }

    /// Returns whether an entry was written then or later; `None` where that is unknown.
    fn is_reached(self, index: EntryIndex, at: Option<Timestamp>) -> Option<bool> {
        match self {
            Self::Time(time) => at.map(|at| at >= time),
            Self::Entry(entry) => Some(index >= entry),
        }
    }
}

/// What a search is restricted to. It applies before anything is counted or ranked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecallFilters {
    /// Only what is this.
    pub kind: Option<Kind>,
    /// Only calls of this tool and their results.
    pub tool: Option<String>,
    /// Only calls on this file, or on one whose path ends so, and their results; the newest first.
    pub file: Option<String>,
    /// Only what was written then or later.
    pub since: Option<Moment>,
    /// Only what was written before.
    pub before: Option<Moment>,
}

impl RecallFilters {
    /// Returns whether an entry has to be read to know whether it passes.
    pub(super) fn reads(&self) -> bool {
        *self != Self::default()
    }

    /// Returns whether an entry passes; results only where they are looked for `with_results` of calls on a file.
    pub(super) fn pass(
        &self,
        path: &SessionPath<'_>,
        index: EntryIndex,
        entry: &Entry,
        text: &EntryText,
        with_results: bool,
    ) -> bool {
        let kind = self.kind.is_none_or(|kind| match kind {
            Kind::User => text.author == Author::User,
            Kind::Assistant => text.author == Author::Assistant,
            Kind::Call => text.author == Author::Assistant && !text.tools.is_empty(),
            Kind::Result => text.author == Author::Tool,
            Kind::Error => text.is_error,
            Kind::Summary => text.author == Author::Summary,
            Kind::Custom => text.author == Author::Other,
        });
        let tool = self.tool.as_ref().is_none_or(|tool| {
            let mut tools = text.tools.iter();
            tools.any(|name| name.eq_ignore_ascii_case(tool))
        });
        let reached = |moment: Moment| moment.is_reached(index, entry.timestamp);
        let since = self.since.is_none_or(|it| reached(it) == Some(true));
        let before = self.before.is_none_or(|it| reached(it) == Some(false));
        let file = || {
            self.file
                .as_ref()
                .is_none_or(|file| is_on_file(path, index, entry, text, file, with_results))
        };
        kind && tool && since && before && file()
    }
}

/// Returns whether an entry makes a call on a file, or is the result of one that is looked for.
fn is_on_file(
    path: &SessionPath<'_>,
    index: EntryIndex,
    entry: &Entry,
    text: &EntryText,
    file: &str,
    with_results: bool,
) -> bool {
    let file = fold(file.trim_start_matches("./"));
    let ends = |long: &str, short: &str| {
        let before = long.strip_suffix(short);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let is_it = |named: &str| {
        let named = fold(named.trim_start_matches("./"));
        ends(&named, &file) || (file.starts_with('/') && ends(&file, &named))
    };
    let names = |call: &ToolCall| file_calls(call).iter().any(|(_, named)| is_it(named));
    let makes = |message: &AgentMessage| message.tool_calls().any(&names);
    if entry.messages().iter().any(|message| makes(message)) {
        return true;
    }
    let answers = text.answers.as_ref().filter(|_| with_results);
    answers.is_some_and(|id| call_of(path.tree(), index, id).is_some_and(|call| names(&call)))
}

/// Where each entry of the tree of `path` is.
pub(super) fn places(path: &SessionPath<'_>, context: &SessionContext) -> Vec<Place> {
    let mut places = vec![Place::OtherBranch; path.tree().len()];
    for index in path.entries() {
        places[index.as_usize()] = Place::OutOfContext;
    }
    for projected in &context.entries {
        if !projected.messages.is_empty() && !projected.omitted {
            places[projected.index.as_usize()] = Place::InContext;
        }
    }
    places
}

/// Returns the subagent whose branch an entry is on.
pub(super) fn subagent(tree: &SessionTree, places: &[Place], index: EntryIndex) -> Option<String> {
    let above = std::iter::successors(Some(index), |at| tree.parent(*at));
    let mut branch = above.take_while(|at| places[at.as_usize()] == Place::OtherBranch);
    branch.find_map(|at| {
        let is_custom = tree.kind(at) == EntryKind::CustomMessage;
        match is_custom.then(|| tree.entry(at)).and_then(Result::ok)?.body {
            EntryBody::CustomMessage(prompt) => {
                let name = prompt.custom_type.find(SUBAGENT)? + 1;
                Some(prompt.custom_type[name..].to_owned())
            }
            _ => None,
        }
    })
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
