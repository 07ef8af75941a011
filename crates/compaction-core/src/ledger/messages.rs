//! How many of the user's messages a block shows before anything that was recognized in them.

use super::LedgerKind;
use super::detail::CLOSED;
use super::fit::{Fitting, Form, ORDER};
use super::lines::{HEADING, bare};
use crate::serialize::escape;
use session_model::tokens::TokenCount;

/// The part of the budget, in percent, within which all messages of the user are shown before anything that was recognized
/// in them, and the same where room is scarce.
const MESSAGES: u64 = 82;
const FEW_MESSAGES: u64 = 50;
/// The part of a large budget, in percent, that the newest of them take where not all fit.
const NEWEST_MESSAGES: u64 = 60;
impl Fitting<'_> {
    /// Shows all messages of the user, where they leave room for the rest.
    pub(super) fn take_messages(&mut self) {
        let share = match self.budget.ledger >= CLOSED {
            true => MESSAGES,
            false => FEW_MESSAGES,
        };
        // What is open is said in any case.
        let open = [LedgerKind::Todo, LedgerKind::Failure, LedgerKind::NextStep].into_iter();
        let open = open.flat_map(|kind| self.of_kind.get(&kind).into_iter().flatten());
        let open = open.map(|place| self.cost(&bare(self.brief(&self.ledger.items[*place]))));
        let room = self.room.saturating_sub(open.sum());
        let most = self.budget.ledger.scaled(share, 100).min(room);
        let fits = |cost: TokenCount| cost + TokenCount(3 * HEADING.0) <= most;
        // Before messages are left out, their entries are.
        self.ids = self.budget.ledger < CLOSED || fits(self.cost_of_messages());
        let all_fit = fits(self.cost_of_messages());
        let most = match all_fit {
            true => self.budget.ledger,
            false if self.budget.ledger < CLOSED => return,
            // What was recognized in the older ones stands for them.
            false => self.budget.ledger.scaled(NEWEST_MESSAGES, 100).min(room),
        };
        for (kind, share) in ORDER.into_iter().filter(|(kind, _)| kind.is_message()) {
            let taken: TokenCount = self.used.values().copied().sum();
            let left = most.saturating_sub(taken);
            let own = match all_fit || kind == LedgerKind::Message {
                true => left,
                false => left.min(self.budget.ledger.scaled(share, 100)),
            };
            self.take_kind(kind, own);
        }
        let all = self.messages().filter(|place| match self.forms.get(place) {
            Some(Form::Shown(shown)) => shown.contains(&escape(&self.ledger.items[*place].text)),
            Some(Form::Inside) => true,
            None => false,
        });
        self.whole = all.chain(self.whole.iter().copied()).collect();
    }

    fn cost_of_messages(&self) -> TokenCount {
        let items = self.messages().map(|place| &self.ledger.items[place]);
        let shown = items.map(|item| self.message(item) + self.since(item));
        shown.map(|shown| self.cost(&shown)).sum()
    }

    fn messages(&self) -> impl Iterator<Item = usize> {
        let kinds = self.of_kind.iter().filter(|(kind, _)| kind.is_message());
        kinds.flat_map(|(_, places)| places).copied()
    }
}
