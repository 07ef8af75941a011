//! The ledger: the outline without answers, in a block next to the prose of a model.
//!
//! It is made from the entries at each compaction and never from a summary, so twenty compactions in a row do not
//! change a word of it.

use serde_json::{Value, json};
use session_model::EntryId;
use session_model::tokens::{TokenCount, TokenCounter};

use crate::outline::{Form, Outline, OutlineBudget, OutlineCounts};
use crate::pins::Pin;
use crate::prompts;

/// Who reads a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerReader {
    /// The model that continues the session.
    Session,
    /// The model that continues in a new session, which cannot look up ids of this one.
    NextSession,
    /// The model that continues on another branch.
    OtherBranch,
}

/// The ledger of a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerBlock {
    /// The delimited block, with the blank line in front; empty for none.
    pub text: String,
    /// Its tokens.
    pub tokens: TokenCount,
    /// The limit of its size, without pins.
    pub budget: TokenCount,
    /// The shown part of each kind.
    pub counts: OutlineCounts,
    /// The pinned entries in it.
    pub pinned: Vec<EntryId>,
    /// Pinned entries that exceed the budget for pins.
    pub pins_left_out: Vec<EntryId>,
    /// Tokens of the pins in it.
    pub pin_tokens: TokenCount,
}

impl LedgerBlock {
    /// Returns true when there is none.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the typed copy that the details of an entry keep.
    pub fn details(&self) -> Value {
        json!({
            "budget": self.budget,
            "tokens": self.tokens,
            "counts": self.counts,
            "pinsLeftOut": self.pins_left_out,
        })
    }
}

/// Returns the block that follows a summary with pins that were set while it was written.
pub fn ledger_of_pins(
    pins: Vec<Pin>,
    reader: LedgerReader,
    counter: &dyn TokenCounter,
) -> LedgerBlock {
    let budget = OutlineBudget {
        tokens: TokenCount::ZERO,
        pins: TokenCount(u64::MAX),
    };
    Outline::of_pins(pins).ledger(reader, budget, counter)
}

impl Outline {
    /// Returns the ledger within a budget.
    pub(crate) fn ledger(
        &self,
        reader: LedgerReader,
        budget: OutlineBudget,
        counter: &dyn TokenCounter,
    ) -> LedgerBlock {
        let lead = match reader {
            LedgerReader::Session => prompts::ledger_lead(),
            LedgerReader::NextSession => prompts::ledger_lead_handoff(),
            LedgerReader::OtherBranch => prompts::ledger_lead_branch(),
        };
        let form = Form {
            with_answers: false,
            with_ids: reader != LedgerReader::NextSession,
        };
        let frame = counter.text(&prompts::ledger(&lead, ""));
        let inner = OutlineBudget {
            tokens: budget.tokens.saturating_sub(frame),
            ..budget
        };
        let outline = self.write(form, inner, counter);
        let text = match outline.text.is_empty() {
            true => String::new(),
            false => prompts::ledger(&lead, &outline.text),
        };
        LedgerBlock {
            tokens: counter.text(&text),
            text,
            budget: budget.tokens,
            counts: outline.counts,
            pinned: outline.pinned,
            pins_left_out: outline.pins_left_out,
            pin_tokens: outline.pin_tokens,
        }
    }
}
