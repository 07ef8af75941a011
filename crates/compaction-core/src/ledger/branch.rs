//! The ledger of a branch that is left: what was said and done there, for whoever goes on from a point before it.

use session_model::{AgentMessage, Entry, EntryBody};

use crate::ledger::{Ledger, LedgerBlock, LedgerBudget, LedgerKind};
use crate::prompts;
use session_facts::SourceMessage;
use session_model::tokens::{TokenCount, TokenCounter};

/// What a branch is given, however little was said on it.
const LEAST: TokenCount = TokenCount(256);

impl Ledger {
    /// Returns the facts of the entries of a branch.
    pub(crate) fn of_branch(entries: &[Entry], cwd: &str) -> Self {
        let messages = entries.iter().filter_map(|entry| match &entry.body {
            EntryBody::Message(message) if !matches!(**message, AgentMessage::System(_)) => {
                Some(SourceMessage {
                    entry_id: entry.id.clone(),
                    message: message.clone(),
                })
            }
            _ => None,
        });
        let messages: Vec<SourceMessage> = messages.collect();
        Self::of_messages(&messages, cwd)
    }

    /// Returns the block of a branch within half of the budget of a ledger, and within what was said there (`said`
    /// tokens). Pins hold on every branch, and what was open there is no work here: neither is listed.
    pub(crate) fn branch_block(
        &self,
        (budget, said): (TokenCount, TokenCount),
        counter: &dyn TokenCounter,
    ) -> LedgerBlock {
        let budget = budget.scaled(1, 2).min(said.max(LEAST));
        if budget == TokenCount::ZERO {
            return LedgerBlock::default();
        }
        let mut ledger = self.clone();
        ledger.items.retain_mut(|item| match item.kind {
            LedgerKind::FirstMessage | LedgerKind::LatestMessage => {
                item.kind = LedgerKind::Message;
                true
            }
            kind => [
                LedgerKind::Rule,
                LedgerKind::File,
                LedgerKind::Failure,
                LedgerKind::Decision,
                LedgerKind::Figure,
                LedgerKind::Message,
            ]
            .contains(&kind),
        });
        // No later ledger is read from it.
        ledger.sources.clear();
        let lead = prompts::ledger_lead_branch();
        let longer = counter.text(&lead);
        let longer = longer.saturating_sub(counter.text(&prompts::ledger_lead_brief()));
        let budget = LedgerBudget {
            ledger: budget.saturating_sub(longer),
            pins: TokenCount::ZERO,
        };
        let mut block = ledger.fit(budget, counter).led_by(&lead);
        block.tokens = counter.text(&block.text);
        block
    }
}
