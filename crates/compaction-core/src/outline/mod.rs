//! The outline of a conversation: messages of the user and the agent, quoted and shortened, and the effects of each
//! turn's calls.
//!
//! With answers it is the extractive summary; without them it is the ledger, placed next to the prose of a model.
//!
//! ```text
//! path, context -> gather -> messages -> turns -> pieces with weights -> allot(budget) -> written text
//! ```
//!
//! **Invariants.** A line after `>` is byte for byte a line, or a part of a line, of the entry that the heading above
//! it names. No rule depends on the meaning of a text. A larger budget shows everything that a smaller one shows. The
//! same entries and budget give the same text, and it never exceeds the budget.

mod allot;
mod earlier;
mod gather;
mod turns;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use session_facts::SourceMessage;
use session_model::tokens::TokenCount;
use session_model::{EntryId, SessionContext, SessionPath};

use crate::pins::{Pin, pins_of};

pub(crate) use write::{Form, OutlineBudget};
pub use write::{OutlineCounts, OutlineText};

/// The custom type of the message that opens a session which continues another.
pub const HANDOFF_MESSAGE: &str = "handoff";

/// The contents of a conversation for an outline of it.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    /// The pieces that may be shown, in the order of the conversation.
    pieces: Vec<Piece>,
    /// The user's pins that are out of context, the newest first.
    pins: Vec<Pin>,
    /// The first request of the user.
    first_request: Option<String>,
    /// Beginnings of ids that name one entry each, by the id.
    short_ids: BTreeMap<EntryId, String>,
    /// The paths that calls changed, the last one at the end.
    changed: Vec<String>,
}

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// The summary of an earlier compaction by another writer.
    EarlierSummary,
    /// The document that the session continues from.
    Handoff,
    /// The summary of a branch that was left.
    Branch,
    /// A message of the user.
    Request,
    /// The last answer of a turn.
    Answer,
    /// An answer before that.
    OtherAnswer,
    /// The effects of a turn's calls.
    Work,
    /// A command whose last run failed.
    Failing,
    /// An open todo.
    Todo,
}

/// Something that may be shown.
#[derive(Debug, Clone)]
struct Piece {
    kind: PieceKind,
    /// The entry that it comes from.
    entry_id: EntryId,
    body: Body,
    /// Tokens of all of it.
    tokens: u64,
    /// Its claim to room: of two pieces that are too long, the one of twice the weight gets twice the room.
    weight: f64,
}

/// The content of a piece.
#[derive(Debug, Clone)]
enum Body {
    /// Words that may be cut in the middle.
    Quote(String),
    /// Items of which the first ones may be shown, each with its tokens.
    Items(Vec<(String, u64)>),
    /// A line that is there or not.
    Line(String),
}

impl Outline {
    /// Returns the outline of `path` without what is verbatim in a context whose kept range begins at the index
    /// `first_kept` of `context.entries` (its length for none).
    pub fn of(path: &SessionPath<'_>, context: &SessionContext, first_kept: usize) -> Self {
        Self::of_public(path, context, first_kept, &|_| true)
    }

    /// Returns the same of those messages alone for which `is_public` returns true.
    pub(crate) fn of_public(
        path: &SessionPath<'_>,
        context: &SessionContext,
        first_kept: usize,
        is_public: &dyn Fn(&SourceMessage) -> bool,
    ) -> Self {
        let in_context = gather::in_context(context, first_kept);
        let mut messages = gather::gather(path, context);
        messages.retain(is_public);
        let folder = path
            .tree()
            .header()
            .map_or("", |header| header.cwd.as_str());
        let mut outline = turns::outline(&messages, folder, &|id| !in_context.contains(id));
        if let Some((entry_id, text)) = earlier::newest_foreign(path, context) {
            outline
                .pieces
                .insert(0, turns::earlier_summary(entry_id, text));
        }
        let pins = pins_of(path).into_iter().rev();
        outline.pins = pins
            .filter(|pin| !in_context.contains(&pin.entry_id))
            .collect();
        let ids = outline.pieces.iter().map(|piece| &piece.entry_id);
        let ids = ids.chain(outline.pins.iter().map(|pin| &pin.entry_id));
        let short = path.tree().short_ids(ids.map(EntryId::as_str));
        let short = short
            .into_iter()
            .map(|(id, short)| (EntryId::new(id), short.to_owned()));
        outline.short_ids = short.collect();
        outline
    }

    /// Returns the outline of pins alone, the oldest first.
    pub(crate) fn of_pins(pins: Vec<Pin>) -> Self {
        Self {
            pins: pins.into_iter().rev().collect(),
            ..Self::default()
        }
    }

    /// Returns the outline of messages, oldest first; only entries for which `is_shown` returns true are shown. The others
    /// still count for what a later run settles.
    pub(crate) fn of_messages(
        messages: &[SourceMessage],
        is_shown: &dyn Fn(&EntryId) -> bool,
    ) -> Self {
        turns::outline(messages, "", is_shown)
    }

    /// Returns the first request of the user.
    pub(crate) fn first_request(&self) -> Option<&str> {
        self.first_request.as_deref()
    }

    /// Returns the files that calls changed, the one that was changed last at the end.
    pub(crate) fn changed_files(&self) -> &[String] {
        &self.changed
    }

    /// Returns the texts of the newest request.
    pub(crate) fn newest_request(&self) -> Option<&str> {
        let mut requests = self
            .pieces
            .iter()
            .rev()
            .filter(|piece| piece.kind == PieceKind::Request);
        match &requests.next()?.body {
            Body::Quote(text) => Some(text),
            Body::Items(_) | Body::Line(_) => None,
        }
    }

    /// Returns the commands whose last run failed.
    pub(crate) fn failing_commands(&self) -> impl Iterator<Item = &str> {
        let failing = self
            .pieces
            .iter()
            .filter(|piece| piece.kind == PieceKind::Failing);
        failing.filter_map(|piece| match &piece.body {
            Body::Line(line) => Some(line.as_str()),
            Body::Quote(_) | Body::Items(_) => None,
        })
    }
}

/// Returns the tokens of the words of a text; of a very long one, an estimate from its beginning.
fn words_tokens(text: &str) -> u64 {
    /// The length of a text that is counted, in bytes.
    const COUNTED: usize = 64 * 1024;
    let counter = crate::rules::Profile::Own.counter();
    let head = &text[..text.floor_char_boundary(COUNTED)];
    let TokenCount(counted) = counter.text(head);
    let lines = text.lines().count() as u64;
    TokenCount(counted)
        .scaled(text.len() as u64, head.len() as u64)
        .0
        + lines
}
