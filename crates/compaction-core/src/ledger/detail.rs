//! How much is said of each fact, and in which order kinds get room: by what the budget leaves of it.

use super::fit::{Fitting, ORDER};
use super::lines::{HEADING, listed};
use super::{LedgerItem, LedgerKind, Shares};
use session_model::tokens::TokenCount;

/// Above this share of the budget, in percent, files are listed by their paths alone.
const FILES_IN_FULL: u64 = 25;
/// What a heading of one word takes.
const SHORT_HEADING: TokenCount = TokenCount(4);
/// What a closing line may take.
pub(super) const CLOSING: TokenCount = TokenCount(48);
/// Below this budget there are no facts without their entries.
const LEAST: TokenCount = TokenCount(112);
/// From this budget on entries that did not fit are named even where room is scarce.
pub(super) const CLOSED: TokenCount = TokenCount(1950);

/// How much is said of each fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Files with what was done to them, every fact with its entry.
    Full,
    /// Files by their paths.
    Paths,
    /// No entry ids after facts of one line, and headings of one word.
    Bare,
}

impl Fitting<'_> {
    pub(super) const fn heading(&self) -> TokenCount {
        match self.detail {
            Detail::Full | Detail::Paths => HEADING,
            Detail::Bare => SHORT_HEADING,
        }
    }

    /// Returns what a closing line takes: it says nothing about a fact, so where room is scarce it is left out.
    pub(super) fn closing(&self) -> TokenCount {
        match self.detail {
            Detail::Full | Detail::Paths => CLOSING.min(self.budget.ledger.scaled(1, 8)),
            Detail::Bare if self.budget.ledger >= CLOSED => CLOSING,
            Detail::Bare => TokenCount::ZERO,
        }
    }

    /// Returns the kinds in the order in which they get room. Where it is scarce, no files are named here: the tags at the
    /// end of the summary do that in fewer words.
    pub(super) fn order(&self) -> Vec<(LedgerKind, u64)> {
        let mut order = ORDER.to_vec();
        match (self.shares, self.detail) {
            // What the tags name in its place would take more room than it saves.
            (Shares::NextToLog, _) => order.sort_by_key(|(kind, _)| match kind {
                LedgerKind::File => 1,
                LedgerKind::Decision | LedgerKind::Figure => 2,
                kind => usize::from(kind.is_message()) * 3,
            }),
            (_, Detail::Bare) => {
                order.retain(|(kind, _)| *kind != LedgerKind::File);
                order.sort_by_key(|(kind, _)| kind.is_message());
            }
            (_, Detail::Full | Detail::Paths) => {}
        }
        order
    }

    /// Returns the most that can be said of each fact so that all of them fit.
    pub(super) fn detail(&self) -> Detail {
        let facts = ORDER.into_iter().map(|(kind, _)| kind);
        let facts = facts.filter(|kind| !kind.is_message());
        let (mut files, mut others, mut kinds) = (TokenCount::ZERO, TokenCount::ZERO, 0);
        for kind in facts {
            let places = self.places(kind);
            kinds += u64::from(!places.is_empty());
            let items = places.iter().map(|place| &self.ledger.items[*place]);
            let items = items.filter(|item| !self.is_inside(item));
            let cost = items.map(|item| self.cost(&listed(&item.entry_id, &item.text)));
            let cost: TokenCount = cost.sum();
            match kind {
                LedgerKind::File => files = cost,
                _ => others += cost,
            }
        }
        let headings = TokenCount(HEADING.0 * kinds);
        // A message that is shown in full needs room too.
        let room = self.room.saturating_sub(headings).scaled(4, 5);
        let short = self.places(LedgerKind::File).into_iter();
        let short = short.map(|place| self.cost(self.path(&self.ledger.items[place])));
        let short: TokenCount = short.sum();
        match () {
            () if files <= self.budget.ledger.scaled(FILES_IN_FULL, 100)
                && files + others <= room =>
            {
                Detail::Full
            }
            () if short + others <= room => Detail::Paths,
            // Next to nothing is no place for facts.
            () if self.budget.ledger < LEAST => Detail::Paths,
            () => Detail::Bare,
        }
    }

    pub(super) fn path<'b>(&'b self, item: &'b LedgerItem) -> &'b str {
        self.ledger.paths.get(&item.text).unwrap_or(&item.text)
    }
}
