//! Recall: finding again what a compaction took out of the context, on any branch, and reading it; besides, the history of
//! each file of a session ([`file_history`]).
//!
//! A search has three steps, so that its caller can use threads: [`RecallSearch::new`], [`RecallSearch::scan`] for each
//! part of the session, and [`RecallSearch::finish`], which ranks what the scans found and fits it into a budget.
//!
//! ```
//! use session_model::{ContextRules, TokenCount, build_context, decode_bytes};
//! use session_recall::{Access, Query, RecallFilters, RecallRequest, RecallSearch};
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
//!     access: Access::default(),
//!     hint: "",
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
mod entry_text;
mod excerpt;
mod file_history;
mod filter;
mod following;
mod merge;
mod near;
mod prefilter;
mod rank;
mod read;
mod search;
mod shown;
mod terms;

use std::ops::Range;

use serde::Serialize;
use session_model::{EntryId, EntryIndex, SessionTree, TokenCount};

pub use answer::Printed;
pub use entry_text::{Access, QUOTED, ReadOutput};
pub use excerpt::Excerpt;
pub use file_history::{FileEvent, FileHistory, file_history};
pub use filter::{Kind, Moment, Place, RecallFilters};
pub use following::Following;
pub use read::{
    ReadRequest, RecallRead, RecalledText, Wanted, recall_read, usual_read_tokens, wanted,
};
pub use search::{RecallSearch, Scan};
pub use session_model::Clean;

/// What is looked for.
#[derive(Clone, Copy)]
pub enum Query<'a> {
    /// Everything that passes the filters, the newest first.
    All,
    /// Words, of which rarer ones count more; what is quoted must be there.
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
    /// How texts are read.
    pub access: Access<'a>,
    /// How an entry is read, in the words of the tool or the command.
    pub hint: &'a str,
}

/// The session that an entry is in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InSession {
    /// The agent that wrote it.
    pub agent: String,
    /// Its id.
    pub id: String,
    /// Its name, or the first prompt.
    pub title: String,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recalled {
    /// The session that it is in, where several were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<InSession>,
    /// The entry.
    pub entry_id: EntryId,
    /// A beginning of the id that names no other entry.
    #[serde(skip)]
    pub short_id: String,
    /// Who wrote it: a role, or the type of an entry that is no message.
    pub role: String,
    /// The call whose result it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// When it was written, if the session says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Where it is.
    pub place: Place,
    /// The subagent that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// How well it fits; comparable within one search only.
    pub score: f64,
    /// How many places in it match.
    pub matches: usize,
    /// Older entries that say the same, the newest first: the same text, or the same file read before.
    pub copies: Vec<EntryId>,
    /// How long its text is, in characters.
    pub total_chars: usize,
    /// The best places, each with what is around it.
    pub excerpts: Vec<Excerpt>,
    /// What came of it: the result of a call, the answer to a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followed_by: Option<Following>,
}

/// What a search found, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recall {
    /// The best entries, as many as fit into the budget.
    pub found: Vec<Recalled>,
    /// How many entries match in all.
    pub matching: usize,
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
    /// How what was found is ordered, where that is not by how well it fits.
    #[serde(skip)]
    order: &'static str,
}

/// Returns the texts of a session that searches look through.
pub fn searched_texts(tree: &SessionTree) -> impl Iterator<Item = String> {
    let rows = tree
        .indices()
        .filter(|index| filter::speaks(tree.kind(*index)));
    let texts = rows.filter_map(|index| {
        let (_, text) = entry_text::read_text(tree, index, Access::default()).ok()?;
        text.filter(|text| !text.is_own).map(|text| text.text)
    });
    texts.filter(|text| !text.trim().is_empty())
}

/// Returns what a query looks for: texts in lower case, one of which is in each text that is found, and whether all that
/// is found has it.
pub fn wanted_texts(query: &str) -> Vec<(String, bool)> {
    let terms = terms::Terms::of(query).terms.into_iter();
    let wanted = terms.map(|term| match term.is_required {
        true => (term.text, true),
        false => (term.least().to_owned(), false),
    });
    wanted.collect()
}

#[cfg(test)]
mod tests;
