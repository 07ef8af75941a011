//! Literals that a summary lost, said in the ledger: one line a kind, as far as there is room.

use std::collections::BTreeMap;

use super::{LedgerBlock, LedgerItem, LedgerKind};
use crate::loss::LiteralKind;
use crate::serialize::escape;
use crate::tokens::{TokenCount, TokenCounter};

/// The tags of the block.
const OPENING: &str = "<ledger>";
const CLOSING: &str = "</ledger>";

/// What stands above the lines: nobody is to take an old figure for the one in force.
const HEADING: &str = "Names from what is left out, in no order (may be out of date since):";

/// The most that one literal takes, in tokens: more is not cheap.
const CHEAP: TokenCount = TokenCount(48);

/// What a line takes beside its literals, in tokens.
const LINE: TokenCount = TokenCount(4);

/// A literal that is out of sight.
#[derive(Debug, Clone)]
pub(crate) struct LostLiteral {
    /// What it is.
    pub kind: LiteralKind,
    /// The words and the entry that they come from.
    pub item: LedgerItem,
}

impl LedgerBlock {
    /// Returns the block with as many of the literals as fit into what its budget leaves, and into `most`: those that
    /// come first go before.
    pub(crate) fn with_literals(
        &self,
        literals: &[LostLiteral],
        most: TokenCount,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut room = self.room(counter).min(most);
        let frame = match self.text.is_empty() {
            true => counter.text(&framed("")),
            false => counter.text(HEADING),
        };
        room = room.saturating_sub(frame + LINE);
        let mut lines: BTreeMap<LiteralKind, Vec<&LostLiteral>> = BTreeMap::new();
        for literal in literals {
            if !can_be_said(&literal.item.text) {
                continue;
            }
            let cost = counter.text(&spelt(literal)) + TokenCount(1);
            let line = match lines.contains_key(&literal.kind) {
                true => TokenCount::ZERO,
                false => LINE,
            };
            if cost <= CHEAP && cost + line <= room {
                room = room.saturating_sub(cost + line);
                lines.entry(literal.kind).or_default().push(literal);
            }
        }
        // What is counted by pieces may be more as a whole.
        let limit = (self.tokens + self.room(counter)).min(self.tokens + most);
        loop {
            let said: usize = lines.values().map(Vec::len).sum();
            if said == 0 {
                return self.clone();
            }
            let text = self.text_with(&lines);
            let tokens = counter.text(&text);
            if tokens <= limit {
                let said = lines.into_values().flatten();
                let items = self.items.iter().cloned();
                return Self {
                    text,
                    tokens,
                    items: items
                        .chain(said.map(|literal| literal.item.clone()))
                        .collect(),
                    ..self.clone()
                };
            }
            for line in lines.values_mut() {
                line.truncate(line.len() / 2);
            }
            lines.retain(|_, line| !line.is_empty());
        }
    }

    /// Returns what the budget leaves; pins have one of their own.
    fn room(&self, counter: &dyn TokenCounter) -> TokenCount {
        let pins = self.items.iter();
        let pins = pins.filter(|item| item.kind == LedgerKind::Pin);
        let pins: TokenCount = pins.map(|item| counter.text(&item.text)).sum();
        (self.budget + pins).saturating_sub(self.tokens)
    }

    fn text_with(&self, lines: &BTreeMap<LiteralKind, Vec<&LostLiteral>>) -> String {
        let mut added = format!("{HEADING}\n");
        for (kind, line) in lines {
            let line = line.iter().map(|literal| spelt(literal));
            let line = line.collect::<Vec<_>>().join(", ");
            added.push_str(&format!("- {}: {line}\n", plural(*kind)));
        }
        match self.text.rfind(CLOSING) {
            Some(at) => format!("{}{added}{}", &self.text[..at], &self.text[at..]),
            None => format!("{}{}", self.text, framed(&added)),
        }
    }
}

fn framed(lines: &str) -> String {
    format!("\n\n{OPENING}\n{lines}{CLOSING}")
}

/// Returns a literal as it stands in its line.
fn spelt(literal: &LostLiteral) -> String {
    let text = escape(&literal.item.text);
    match literal.kind {
        // They hold commas and spaces of their own.
        LiteralKind::Error | LiteralKind::Command => format!("`{text}`"),
        LiteralKind::Path | LiteralKind::Number | LiteralKind::Identifier | LiteralKind::Url => {
            text
        }
    }
}

/// Returns false for what would break its line or the block.
fn can_be_said(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    !text.contains(char::is_control) && !lower.contains("<ledger") && !lower.contains("</ledger")
}

const fn plural(kind: LiteralKind) -> &'static str {
    match kind {
        LiteralKind::Path => "paths",
        LiteralKind::Error => "errors seen",
        LiteralKind::Number => "figures",
        LiteralKind::Identifier => "names",
        LiteralKind::Url => "addresses",
        LiteralKind::Command => "commands run",
    }
}
