//! The ledger: facts that code keeps next to the prose of a summary, copied from entries and never from a summary.
//!
//! ```text
//! previous details.ledger.sources -> entries by id --+
//!                                                    scan -> Ledger (all facts) -> LedgerBlock (what fits) -> summary
//! entries since ------------------------------------+                                  |-> details.ledger
//! ```
//!
//! **Invariants.** A fact's text comes from its entry, each time anew, so twenty compactions in a row do not change it
//! at all. Only what a user said is called the user's. A block never exceeds its budget, and text in it cannot end it.
//! Facts whose entries stay verbatim in the context are left out, but they count for what is resolved.

mod branch;
mod build;
mod detail;
mod fit;
mod gather;
mod lines;
mod lost;
mod messages;
mod page;
mod pins;
mod shown;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use session_model::EntryId;

use session_model::tokens::TokenCount;

/// The label of a pinned entry.
pub const PIN_LABEL: &str = "pin";

/// The custom type of an entry that pins a text of its own: `{"text": ...}`.
pub const PIN_ENTRY: &str = "agent-cli/pin";

/// The custom type of the message that opens a session which goes on from another.
pub const HANDOFF_MESSAGE: &str = "handoff";

pub use crate::ledger_block::{LedgerBlock, LedgerItem, LedgerKind, prose_of, without_ledger};

pub use build::PathFacts;
pub(crate) use pins::pinned_entries;
pub use pins::{NewPin, Pin, PinError, PinTarget, Pins, carry_pins, pins_of};

/// All facts about what leaves the context, before it is asked which of them fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// The facts, most important first within a kind.
    pub items: Vec<LedgerItem>,
    /// The entries that facts come from, in the order of the path: the next ledger reads them again.
    pub sources: Vec<EntryId>,
    /// The paths that items name.
    paths: BTreeMap<String, String>,
    /// All spellings of the paths that items name.
    names: BTreeMap<String, Vec<String>>,
    /// Items in fewer words.
    brief: BTreeMap<String, String>,
    /// What else is known of items, for where there is room.
    further: BTreeMap<String, String>,
    /// Items that wait until those of their kind that stand by themselves have room.
    ranks: BTreeMap<String, u8>,
    /// What is said behind messages: the question that they answer, and a figure that was changed later.
    remarks: BTreeMap<EntryId, String>,
    /// Messages that may say something which outlasts their request.
    lasting: BTreeSet<EntryId>,
    /// See [`LedgerBlock::read_from`].
    read_from: Option<EntryId>,
    /// What the ledger before listed.
    listed: BTreeSet<(LedgerKind, EntryId)>,
    /// Messages with a figure that was changed later.
    changed: BTreeSet<EntryId>,
    /// The places of the entries that items come from, in the order of the path.
    places: BTreeMap<EntryId, usize>,
}

/// How the room is shared between the kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shares {
    /// Each has its own.
    Each,
    /// What the rules leave is shared.
    RulesFirst,
    /// The same, and of files only the paths are told: a log tells the rest.
    NextToLog,
    /// The rules get all that they need, the others nothing.
    RulesAlone,
}

/// How much a ledger may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerBudget {
    /// Tokens of everything but pins.
    pub ledger: TokenCount,
    /// Tokens of all pins together.
    pub pins: TokenCount,
}
