//! What a summary leaves to the ledger beside it.

use std::collections::BTreeSet;

use crate::ledger::{LedgerBlock, LedgerKind};

use super::facts::{Facts, Item};
use super::text::{neutralise, one_line};

/// A section of which something is left to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The requests.
    Goal,
    /// The user's rules.
    Rules,
    /// Changed files.
    Done,
    /// Open todos.
    Doing,
    /// Commands that failed.
    Blocked,
    /// Decisions.
    Decisions,
    /// Next steps.
    Next,
}

/// Stands in a section all of which is in the ledger.
pub(super) const BELOW: &str = "(in the ledger below)";

/// Stands where the first request is in the ledger.
pub(super) const FIRST_BELOW: &str = "First request: in the ledger below.";

impl Facts {
    /// Drops what `ledger` says word for word.
    pub(super) fn leave_to(&mut self, ledger: &LedgerBlock) {
        let of = |kinds: &[LedgerKind]| -> BTreeSet<String> {
            let items = ledger
                .items
                .iter()
                .filter(|item| kinds.contains(&item.kind));
            items.map(|item| bare(&item.text)).collect()
        };
        let ids = |kinds: &[LedgerKind]| -> BTreeSet<String> {
            let items = ledger
                .items
                .iter()
                .filter(|item| kinds.contains(&item.kind));
            items.map(|item| one_line(&item.entry_id, 200)).collect()
        };
        let firsts = ids(&[LedgerKind::FirstMessage]);
        let said = ids(&[
            LedgerKind::FirstMessage,
            LedgerKind::LatestMessage,
            LedgerKind::Message,
        ]);
        let mut left = BTreeSet::new();
        if self
            .first
            .take_if(|first| said.contains(&first.id))
            .is_some()
        {
            left.insert(Part::Goal);
        }
        if self.first.is_none() && !firsts.is_empty() {
            self.first_in_ledger = true;
        }
        if self
            .latest
            .take_if(|latest| said.contains(&latest.id))
            .is_some()
        {
            left.insert(Part::Goal);
        }
        let mut drop = |part, list: &mut Vec<Item>, known: &dyn Fn(&Item) -> bool| {
            let before = list.len();
            list.retain(|item| !known(item));
            if list.len() < before {
                left.insert(part);
            }
        };
        drop(Part::Goal, &mut self.between, &|item| {
            said.contains(&item.id)
        });
        let rules = of(&[LedgerKind::Rule]);
        let kept: Vec<&String> = rules.iter().collect();
        drop(Part::Rules, &mut self.rules, &|item| {
            let text = bare(&item.text);
            // A rule that was changed says so behind its words.
            rules.contains(&text) || kept.iter().any(|rule| rule.starts_with(&text))
        });
        let decisions = of(&[LedgerKind::Decision]);
        drop(Part::Decisions, &mut self.decisions, &|item| {
            decisions.contains(&bare(&item.text))
        });
        let figures = of(&[LedgerKind::Figure]);
        self.figures
            .retain(|item| !figures.contains(&bare(&item.text)));
        let files: BTreeSet<&str> = ledger.files.iter().map(String::as_str).collect();
        let before = self.files.len();
        self.files
            .retain(|file| !files.contains(file.path.as_str()));
        if self.files.len() < before {
            left.insert(Part::Done);
        }
        let failures = ids(&[LedgerKind::Failure]);
        let before = self.failures.len();
        self.failures
            .retain(|failure| !failures.contains(&failure.id));
        if self.failures.len() < before {
            left.insert(Part::Blocked);
        }
        for (part, kind, list) in [
            (Part::Doing, LedgerKind::Todo, &mut self.open),
            (Part::Next, LedgerKind::NextStep, &mut self.next),
        ] {
            let known = of(&[kind, LedgerKind::Todo]);
            let before = list.len();
            list.retain(|text| !known.contains(&bare(text)));
            if list.len() < before {
                left.insert(part);
            }
        }
        self.in_ledger = left;
    }
}

/// Returns a text as both sides spell it.
fn bare(text: &str) -> String {
    neutralise(&text.replace("**", ""))
}
