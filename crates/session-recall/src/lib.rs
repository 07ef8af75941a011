//! Recall: finding again what a compaction took out of the context, on any branch, and reading it; besides, the history of
//! each file of a session ([`file_history`]) and what happened when ([`timeline()`]).
//!
//! A search has three steps, so that its caller can use threads: [`RecallSearch::new`], [`RecallSearch::scan`] for each
//! part of the session, and [`RecallSearch::finish`], which ranks what the scans found and fits it into a budget.
//!
//! ```
//! use session_model::TokenCount;
//! use session_model::{ContextRules, build_context, decode_bytes};
//! use session_recall::{Hints, Query, RecallFilters, RecallRequest, RecallSearch};
//!
//! let lines = concat!(
//!     r#"{"type":"session","version":3,"id":"s"}"#, "\n",
//!     r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"The port is 8421."}}"#, "\n",
//! );
//! let session = decode_bytes(lines.into());
//! let path = session.tree.path(session.tree.leaf());
//! let context = build_context(&path, ContextRules::Own);
//! let request = RecallRequest {
//!     query: Query::Words("port"),
//!     filters: RecallFilters::default(),
//!     entries: 5,
//!     tokens: TokenCount(1000),
//!     except: None,
//!     clean: None,
//!     hints: Hints::default(),
//! };
//! let search = RecallSearch::new(&path, &context, &request);
//! let never = || false;
//! let scans = search.parts(1).into_iter().filter_map(|part| search.scan(part, &never));
//! let recall = search.finish(scans.collect(), &never).expect("nobody stops it");
//! assert_eq!(recall.matching, 1);
//! ```
//!
//! **Invariants.** What an author keeps from being searched is neither found nor shown. Nothing here does I/O or reads a
//! clock.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod call_lines;
mod entry_text;
mod excerpt;
mod file_history;
mod filter;
mod merge;
mod near;
mod prefilter;
mod rank;
mod read;
mod search;
mod terms;
mod timeline;

use std::ops::Range;

use serde::Serialize;
use session_model::{EntryId, EntryIndex};

use session_model::TokenCount;

pub use entry_text::QUOTED;
pub use excerpt::Excerpt;
pub use file_history::{FileEvent, FileHistory, file_history};
pub use filter::{Place, RecallFilters, RecallRole};
pub use read::{ReadRequest, RecallRead, RecalledText, recall_read, usual_read_tokens};
pub use search::{RecallSearch, Scan};
pub use session_model::Clean;
pub use timeline::{TimelineEvent, TimelineKind, timeline};

/// What is looked for.
#[derive(Clone, Copy)]
pub enum Query<'a> {
    /// Words, of which rarer ones count more.
    Words(&'a str),
    /// A pattern: returns where it matches in a text.
    Pattern(&'a (dyn Fn(&str) -> Matches + Sync)),
}

/// Where a pattern matches in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    /// The first places.
    pub places: Vec<Range<usize>>,
    /// How many places were counted.
    pub count: usize,
    /// True when there may be more: the text was not looked through to its end.
    pub in_part: bool,
}

/// A search.
#[derive(Clone)]
pub struct RecallRequest<'a> {
    /// What is looked for.
    pub query: Query<'a>,
    /// What the search is restricted to.
    pub filters: RecallFilters,
    /// The most entries that are returned.
    pub entries: usize,
    /// The most tokens of the answer as text.
    pub tokens: TokenCount,
    /// An entry that is not searched: the call that asks.
    pub except: Option<EntryIndex>,
    /// Takes secrets out of texts before they are searched.
    pub clean: Option<Clean<'a>>,
    /// How an answer says what to do next.
    pub hints: Hints<'a>,
}

/// What an answer tells its reader to do, in the words of the tool or the command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints<'a> {
    /// How an entry is read.
    pub read: &'a str,
    /// How entries elsewhere are searched.
    pub anywhere: &'a str,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recalled {
    /// The session that it is in, where several were searched and it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The entry.
    pub entry_id: EntryId,
    /// Who wrote it: a role, or the type of an entry that is no message.
    pub role: String,
    /// The call whose result it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// When it was written, if the session says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Where it stands.
    pub place: Place,
    /// How well it fits; comparable within one search only.
    pub score: f64,
    /// How many places in it match.
    pub matches: usize,
    /// How many older entries say the same: the same text, or the same file read before.
    pub copies: usize,
    /// How long its text is, in characters.
    pub total_chars: usize,
    /// The best places, each with what stands around it.
    pub excerpts: Vec<Excerpt>,
}

/// What a search found, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recall {
    /// The best entries, as many as fit into the budget.
    pub found: Vec<Recalled>,
    /// How many entries match in all.
    pub matching: usize,
    /// How many matching entries stand elsewhere than the search is restricted to.
    pub elsewhere: usize,
    /// How many entries were searched.
    pub searched: usize,
    /// How many could not be read, of those that a search has to read: all, where nothing matches in a short session.
    pub unreadable: usize,
    /// Words of the query that no entry has.
    pub missing: Vec<String>,
    /// Where nothing matches: words of the session that are close to those of the query.
    pub near: Vec<String>,
    /// The session carries a marker that excludes it from searches.
    pub excluded: bool,
    /// True when a text was not looked through to its end: there may be more than was found and counted.
    pub in_part: bool,
    /// Where the search looked, if not everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

#[cfg(test)]
mod tests;
