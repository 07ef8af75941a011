//! Lists of sessions: their rows and pages.

use session_model::{AgentMessage, EntryBody, EntryKind, SessionTree, Timestamp};

use crate::file::NEWEST_VERSION;
use crate::locator::Locator;
use crate::queue::Queued;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its location.
    pub locator: Locator,
    /// Its id.
    pub id: String,
    /// The folder that it works in.
    pub cwd: String,
    /// The start time, if the header contains it.
    pub started: Option<Timestamp>,
    /// The time of the last write.
    pub modified: Timestamp,
    /// Its size in bytes.
    pub bytes: u64,
    /// The name that was set near its beginning.
    pub name: Option<String>,
    /// The user's first message.
    pub first_prompt: Option<String>,
    /// A program that is running has it open.
    pub locked: bool,
    /// False when there was no answer yet, so that only a list finds it.
    pub persisted: bool,
    /// The number of messages that wait to be sent.
    pub pending: usize,
}

impl SessionRow {
    /// Returns the row for the header and the entries of a session that no program has open and without waiting
    /// messages; `None` without a header that this program knows.
    pub fn of(
        locator: Locator,
        tree: &SessionTree,
        modified: Timestamp,
        bytes: u64,
    ) -> Option<Self> {
        let header = tree
            .header()
            .filter(|header| header.version <= NEWEST_VERSION)?;
        Some(Self {
            locator,
            id: header.id.clone(),
            cwd: header.cwd.clone(),
            started: Timestamp::parse(&header.timestamp),
            modified,
            bytes,
            name: tree.name(),
            first_prompt: first_prompt(tree),
            locked: false,
            persisted: true,
            pending: 0,
        })
    }

    /// Returns the row with the messages that wait; the first of them is the first prompt where none was sent.
    pub fn with_queue(self, queue: &[Queued]) -> Self {
        Self {
            pending: queue.len(),
            first_prompt: self
                .first_prompt
                .or_else(|| queue.first().map(|queued| queued.text.clone())),
            ..self
        }
    }
}

/// The sessions to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Query<'a> {
    /// Those that work in this folder; `None` is all.
    pub cwd: Option<&'a str>,
    /// Those behind this place, which an earlier page named.
    pub after: Option<&'a str>,
    /// The most rows; with `None` the catalog chooses.
    pub limit: Option<usize>,
}

/// A part of a list, the last written first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The sessions.
    pub rows: Vec<SessionRow>,
    /// The beginning of the next page; `None` when this is the last.
    pub next: Option<String>,
}

/// Returns the requested part of a list; the next page begins after the row with the locator.
pub(crate) fn page_of(mut rows: Vec<SessionRow>, query: Query<'_>) -> Page {
    if let Some(after) = query.after {
        let behind = rows.iter().position(|row| row.locator.to_string() == after);
        rows.drain(..behind.map_or(0, |row| row + 1));
    }
    let limit = query.limit.unwrap_or(rows.len());
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| has_more);
    Page {
        next: last.map(|row| row.locator.to_string()),
        rows,
    }
}

/// Returns the user's first message, if it is text.
pub fn first_prompt(tree: &SessionTree) -> Option<String> {
    let messages = tree
        .indices()
        .filter(|index| tree.kind(*index) == EntryKind::Message);
    let mut bodies = messages.filter_map(|index| Some(tree.entry(index).ok()?.body));
    bodies.find_map(|body| {
        let EntryBody::Message(message) = body else {
            return None;
        };
        let AgentMessage::User(user) = &*message else {
            return None;
        };
        let text = user.words();
        Some(text).filter(|text| !text.trim().is_empty())
    })
}
