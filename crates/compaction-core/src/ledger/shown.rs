//! How a fact is shown in the block: in full, cut, in its short form, or inside a message that is shown in full.

use crate::ledger::detail::Detail;
use crate::ledger::fit::{Fitting, Form, MESSAGE_SHARE, WORTH};
use crate::ledger::lines::{bare, framed, listed, one_name, shown_id};
use crate::ledger::{LedgerItem, LedgerKind};
use session_facts::cut_middle;
use session_model::tokens::TokenCount;

impl Fitting<'_> {
    /// Returns whether a message or a pin that is shown in full contains it.
    pub(super) fn is_inside(&self, item: &LedgerItem) -> bool {
        let quotes = [LedgerKind::Rule, LedgerKind::Decision, LedgerKind::Figure];
        let repeats = item.kind.is_message() || quotes.contains(&item.kind);
        let told = self.told.get(&item.entry_id).copied().unwrap_or_default();
        // What is shown of a message sentence by sentence is not repeated.
        if item.kind == LedgerKind::Message && told * 10 >= item.text.len() * 8 {
            return true;
        }
        // Of decisions and figures, a shortened sentence is listed.
        let said = item.text.strip_prefix("Rejected: ").unwrap_or(&item.text);
        let said = said.trim_end_matches('…');
        repeats
            && self.whole.iter().any(|whole| {
                let whole = &self.ledger.items[*whole];
                whole.entry_id == item.entry_id && whole.text.contains(said)
            })
    }

    /// Returns an item as it stands in the block, cut in its middle where it is long and may be cut.
    pub(super) fn shown(&self, item: &LedgerItem, left: TokenCount) -> Option<String> {
        let most = match item.kind {
            LedgerKind::Pin | LedgerKind::FirstMessage | LedgerKind::LatestMessage => left,
            LedgerKind::Message => left.min(self.budget.ledger.scaled(MESSAGE_SHARE, 100)),
            LedgerKind::File if self.detail != Detail::Full => {
                // Many files: that they were changed matters more than how.
                return Some(one_name(self.path(item)));
            }
            _ => {
                return Some(match self.detail {
                    Detail::Full | Detail::Paths => listed(&item.entry_id, &item.text),
                    Detail::Bare => bare(
                        self.ledger
                            .brief
                            .get(&item.text)
                            .map_or(&item.text, |brief| brief),
                    ),
                });
            }
        };
        let since = self.since(item);
        let most = most.saturating_sub(self.counter.text(since));
        self.cut(item, most).map(|shown| shown + since)
    }

    /// Tells more of what is shown, where others left room.
    pub(super) fn tell_further(&mut self) {
        for place in self.chosen.clone() {
            let item = &self.ledger.items[place];
            let Some(further) = self.ledger.further.get(&item.text) else {
                continue;
            };
            let Some(Form::Shown(shown)) = self.forms.get(&place) else {
                continue;
            };
            let longer = match self.detail {
                Detail::Full | Detail::Paths => {
                    listed(&item.entry_id, &format!("{}{further}", item.text))
                }
                Detail::Bare => bare(&format!("{}{further}", self.brief(item))),
            };
            let left = self.room + self.cost(shown);
            let cost = self.cost(&longer);
            if cost <= left {
                self.room = left.saturating_sub(cost);
                self.forms.insert(place, Form::Shown(longer));
            }
        }
    }

    /// Returns a message, cut in its middle where it is long.
    pub(super) fn cut(&self, item: &LedgerItem, most: TokenCount) -> Option<String> {
        // No token is longer than sixteen bytes or so, and none is shorter than one.
        let bytes = u64::try_from(item.text.len()).unwrap_or(u64::MAX);
        if bytes <= most.0.saturating_mul(16) {
            let whole = self.message(item);
            if self.cost(&whole) <= most {
                return Some(whole);
            }
        }
        if most < WORTH {
            return None;
        }
        let mut keep = usize::try_from(most.0.saturating_mul(4)).unwrap_or(usize::MAX);
        while keep > 40 {
            let cut = cut_middle(&item.text, &shown_id(&item.entry_id), keep);
            let cut = framed(&item.entry_id, &cut);
            if self.cost(&cut) <= most {
                return Some(cut);
            }
            keep = keep * 4 / 5;
        }
        None
    }
}
