//! The part of a ledger that a summary carries, and how it is taken out of a summary again.

mod strip;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use session_model::EntryId;

use crate::prompts;
use session_model::tokens::TokenCount;

pub use strip::{prose_of, without_ledger};

/// What a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerKind {
    /// What a user pinned.
    Pin,
    /// The first message of the user.
    FirstMessage,
    /// The latest message of the user.
    LatestMessage,
    /// A rule of the user.
    Rule,
    /// An open item of the todo list.
    Todo,
    /// A file that was changed, with what was done and the hash of its content.
    File,
    /// A command that failed and was not seen to pass since.
    Failure,
    /// A decision and its reason.
    Decision,
    /// A number that matters, with its unit.
    Figure,
    /// What is to be done next.
    NextStep,
    /// A message of the user between the first and the latest.
    Message,
    /// What an answer told that a turn ended with, as one line.
    Answer,
    /// What such an answer told that the user turned down.
    TurnedDown,
    /// What was found out before a file was changed: a cause, how something works.
    Cause,
    /// Something that was done: a commit, a finished todo.
    Done,
    /// The newest run of a command that checks the work, where it passed.
    Check,
    /// What came of a branch that was left.
    Branch,
}

impl LedgerKind {
    /// Returns true for a message of the user that is shown as such.
    pub(crate) const fn is_message(self) -> bool {
        matches!(
            self,
            Self::FirstMessage | Self::LatestMessage | Self::Message
        )
    }
}

/// A fact and the entry that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerItem {
    /// What it is.
    pub kind: LedgerKind,
    /// The entry; empty where it is not known.
    #[serde(rename = "entryId")]
    pub entry_id: EntryId,
    /// The fact.
    pub text: String,
}

/// The part of a ledger that a summary carries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LedgerBlock {
    /// The delimited block, with the blank line in front; empty for none.
    pub text: String,
    /// Its tokens.
    pub tokens: TokenCount,
    /// The most that it may take, pins aside.
    pub budget: TokenCount,
    /// The facts in it.
    pub items: Vec<LedgerItem>,
    /// Facts that did not fit; their entries are named in the block as far as that fits.
    pub left_out: usize,
    /// Ids of pinned entries that exceed the budget for pins.
    pub pins_left_out: Vec<EntryId>,
    /// Tokens of the pins in it.
    pub pin_tokens: TokenCount,
    /// The paths of the files that it lists, in all spellings that are known, on one line each.
    pub files: Vec<String>,
    /// The messages that the facts rest on.
    pub sources: Vec<EntryId>,
    /// Where history was too long to be read whole for a first ledger, the oldest entry that was: of those before it
    /// only the user's words were read.
    pub read_from: Option<EntryId>,
    /// Messages with a figure that was changed later.
    pub(crate) changed: BTreeSet<EntryId>,
}

impl LedgerBlock {
    /// Returns true when nothing is known, neither facts nor sources.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.sources.is_empty()
    }

    /// Returns how many facts of each kind it holds.
    pub fn counts(&self) -> BTreeMap<LedgerKind, usize> {
        let mut counts = BTreeMap::new();
        for item in &self.items {
            *counts.entry(item.kind).or_default() += 1;
        }
        counts
    }

    /// Returns the same for another session, whose recall does not find these entries.
    pub(crate) fn handed_off(self) -> Self {
        self.led_by(&prompts::ledger_lead_handoff())
    }

    /// Returns it with another first line.
    pub(crate) fn led_by(mut self, lead: &str) -> Self {
        for own in [prompts::ledger_lead(), prompts::ledger_lead_brief()] {
            self.text = self.text.replacen(&own, lead, 1);
        }
        self
    }

    /// Returns the typed copy that the details of an entry keep.
    pub fn details(&self) -> serde_json::Value {
        serde_json::json!({
            "budget": self.budget,
            "tokens": self.tokens,
            "items": self.items,
            "leftOut": self.left_out,
            "pinsLeftOut": self.pins_left_out,
            "sources": self.sources,
        })
    }
}
