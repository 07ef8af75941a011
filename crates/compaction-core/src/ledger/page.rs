//! From what was chosen to the written block.

use std::collections::BTreeSet;

use super::detail::Detail;
use super::fit::{Fitting, Form, ORDER};
use super::lines::{NAMED, block, named};
use super::{LedgerBlock, LedgerItem, LedgerKind};
use crate::prompts::{self, LedgerParts};
use session_model::tokens::TokenCount;

impl Fitting<'_> {
    /// Returns the block of what was chosen.
    pub(super) fn block(mut self) -> LedgerBlock {
        let limit = self.budget.ledger
            + self.pin_tokens.max(match self.budget.ledger {
                TokenCount::ZERO => self.budget.pins,
                _ => TokenCount::ZERO,
            });
        let mut text = block(&self.parts());
        let mut tokens = self.counter.text(&text);
        // Estimates of pieces add up to about the whole; where they do not, what matters least goes.
        while tokens > limit {
            let mut excess = tokens.saturating_sub(limit);
            let mut gone = false;
            while excess > TokenCount::ZERO
                && let Some(place) = self.chosen.pop()
            {
                let item = &self.ledger.items[place];
                if let Some(told) = self.told.get_mut(&item.entry_id) {
                    *told = told.saturating_sub(item.text.len());
                }
                if let Some(Form::Shown(shown)) = self.forms.remove(&place) {
                    excess = excess.saturating_sub(self.cost(&shown));
                }
                self.whole.retain(|whole| *whole != place);
                gone = true;
            }
            if !gone {
                break;
            }
            self.forget_inside();
            text = block(&self.parts());
            tokens = self.counter.text(&text);
        }
        let says_nothing = self.forms.is_empty() && self.pins_left.is_empty();
        if says_nothing || tokens > limit && self.pin_tokens == TokenCount::ZERO {
            text = String::new();
            tokens = TokenCount::ZERO;
            self.forms.clear();
        }
        let ledger = self.ledger;
        let items = ledger.items.iter().enumerate();
        let shown: Vec<LedgerItem> = items
            .filter(|(place, _)| self.forms.contains_key(place))
            .map(|(_, item)| item.clone())
            .collect();
        let order = self.order();
        let all = order.iter().map(|(kind, _)| self.places(*kind).len());
        let all: usize = all.sum();
        let listed = shown.iter().filter(|item| item.kind != LedgerKind::Pin);
        let listed = listed.count();
        let files = shown.iter().filter(|item| item.kind == LedgerKind::File);
        LedgerBlock {
            tokens,
            text,
            budget: self.budget.ledger,
            pin_tokens: self.pin_tokens,
            files: files
                .filter_map(|item| ledger.names.get(&item.text))
                .flatten()
                .cloned()
                .collect(),
            left_out: all - listed,
            items: shown,
            pins_left_out: self.pins_left,
            // Whatever room there is now: the next ledger is read from them.
            sources: ledger.sources.clone(),
            read_from: ledger.read_from.clone(),
            changed: ledger.changed.clone(),
        }
    }

    /// Forgets what stood in a message that has gone.
    fn forget_inside(&mut self) {
        let forms = std::mem::take(&mut self.forms);
        let items = &self.ledger.items;
        self.forms = forms
            .into_iter()
            .filter(|(place, form)| match form {
                Form::Shown(_) => true,
                Form::Inside => self.is_inside(&items[*place]),
            })
            .collect();
    }

    pub(super) fn parts(&self) -> LedgerParts {
        // Lists read from old to new, but for what is in an order of its own.
        let lines = |kind| {
            let places = self.of_kind.get(&kind).into_iter().flatten();
            let shown = places.filter_map(|place| match self.forms.get(place) {
                Some(Form::Shown(shown)) => Some(shown.as_str()),
                Some(Form::Inside) | None => None,
            });
            let mut shown: Vec<&str> = shown.collect();
            if !matches!(kind, LedgerKind::Todo | LedgerKind::NextStep) {
                shown.reverse();
            }
            shown.join("\n")
        };
        let files = match self.detail {
            Detail::Full => lines(LedgerKind::File),
            Detail::Paths | Detail::Bare => match lines(LedgerKind::File) {
                files if files.is_empty() => files,
                files => format!("- {}", files.replace('\n', ", ")),
            },
        };
        LedgerParts {
            lead: match self.detail {
                Detail::Full | Detail::Paths => prompts::ledger_lead(),
                Detail::Bare => prompts::ledger_lead_brief(),
            },
            brief: self.detail == Detail::Bare,
            pins: lines(LedgerKind::Pin),
            rules: lines(LedgerKind::Rule),
            first: lines(LedgerKind::FirstMessage),
            messages: lines(LedgerKind::Message),
            latest: lines(LedgerKind::LatestMessage),
            files,
            failures: lines(LedgerKind::Failure),
            steps: lines(LedgerKind::NextStep),
            todos: lines(LedgerKind::Todo),
            decisions: lines(LedgerKind::Decision),
            figures: lines(LedgerKind::Figure),
            pins_left: named(self.pins_left.iter()),
            left: self.left(),
        }
    }

    /// Returns the entries of what does not fit, those that matter most first.
    fn left(&self) -> String {
        if self.budget.ledger == TokenCount::ZERO || self.closing() == TokenCount::ZERO {
            return String::new();
        }
        let mut told = BTreeSet::new();
        let mut ids = Vec::new();
        for (kind, _) in ORDER {
            for place in self.of_kind.get(&kind).into_iter().flatten() {
                let id = &self.ledger.items[*place].entry_id;
                if !self.forms.contains_key(place) && told.insert(id) {
                    ids.push(id);
                }
                if ids.len() > NAMED {
                    return named(ids.into_iter());
                }
            }
        }
        named(ids.into_iter())
    }
}
