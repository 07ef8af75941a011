//! What a summary lost, said in the ledger as far as there is room: what the user said first, each on a line of its own,
//! then literals, one line a kind.

use std::collections::BTreeMap;

use super::lines::listed;
use super::{LedgerBlock, LedgerItem, LedgerKind};
use crate::loss::LiteralKind;
use crate::serialize::escape;
use crate::tokens::{TokenCount, TokenCounter};

/// The tags of the block.
const OPENING: &str = "<ledger>";
const CLOSING: &str = "</ledger>";

/// The heading of the lines: an old figure must not be taken for the current one.
const HEADING: &str = "Names from what is left out, in no order (may be out of date since):";

/// What stands above what the user said.
const SAID_HEADING: &str = "Exact words of the user, quoted:";

/// The most that one message of the user takes, in tokens: more is not cheap. A rule may take what there is.
const MESSAGE: TokenCount = TokenCount(96);

/// The most that one literal takes, in tokens: more is not cheap.
const CHEAP: TokenCount = TokenCount(48);

/// What a line takes in addition to its literals, in tokens.
const LINE: TokenCount = TokenCount(4);

/// A literal that is out of context.
#[derive(Debug, Clone)]
pub(crate) struct LostLiteral {
    /// What it is.
    pub kind: LiteralKind,
    /// The words and the entry that they come from.
    pub item: LedgerItem,
}

/// What is added to a block.
#[derive(Default)]
struct Added<'a> {
    said: Vec<&'a LedgerItem>,
    lines: BTreeMap<LiteralKind, Vec<&'a LostLiteral>>,
}

impl LedgerBlock {
    /// Returns the block with as many rules and messages of the user, and then literals, as fit into what its budget
    /// leaves, and into `most`: those that come first go before.
    pub(crate) fn with_lost(
        &self,
        said: &[LedgerItem],
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
        let mut added = Added::default();
        let mut of_messages: Option<TokenCount> = None;
        for item in said.iter().filter(|item| can_be_said(&item.text)) {
            let heading = match added.said.is_empty() {
                true => counter.text(SAID_HEADING) + TokenCount(1),
                false => TokenCount::ZERO,
            };
            let rest = room.saturating_sub(heading);
            let left = match item.kind {
                LedgerKind::Rule => rest,
                // The others want to be said as well.
                _ => rest
                    .min(*of_messages.get_or_insert(room.scaled(1, 2)))
                    .min(MESSAGE),
            };
            // No token is longer than sixteen bytes or so.
            let bytes = u64::try_from(item.text.len()).unwrap_or(u64::MAX);
            if bytes > left.0.saturating_mul(16) {
                continue;
            }
            let cost = counter.text(&listed(&item.entry_id, &item.text)) + TokenCount(1);
            if cost <= left {
                room = room.saturating_sub(cost + heading);
                of_messages = of_messages.map(|left| left.saturating_sub(cost + heading));
                added.said.push(item);
            }
        }
        for literal in literals {
            if !can_be_said(&literal.item.text) {
                continue;
            }
            let cost = counter.text(&written(literal)) + TokenCount(1);
            let line = match added.lines.contains_key(&literal.kind) {
                true => TokenCount::ZERO,
                false => LINE,
            };
            if cost <= CHEAP && cost + line <= room {
                room = room.saturating_sub(cost + line);
                added.lines.entry(literal.kind).or_default().push(literal);
            }
        }
        // What is counted by pieces may be more as a whole.
        let limit = (self.tokens + self.room(counter)).min(self.tokens + most);
        loop {
            if added.said.is_empty() && added.lines.is_empty() {
                return self.clone();
            }
            let text = self.text_with(&added);
            let tokens = counter.text(&text);
            if tokens <= limit {
                let literals = added.lines.into_values().flatten();
                let literals = literals.map(|literal| &literal.item);
                let said = added.said.into_iter().chain(literals).cloned();
                let items = self.items.iter().cloned();
                return Self {
                    text,
                    tokens,
                    items: items.chain(said).collect(),
                    ..self.clone()
                };
            }
            let last = added.said.last();
            if added.lines.is_empty() || last.is_some_and(|item| item.kind != LedgerKind::Rule) {
                added.said.pop();
                continue;
            }
            for line in added.lines.values_mut() {
                line.truncate(line.len() / 2);
            }
            added.lines.retain(|_, line| !line.is_empty());
        }
    }

    /// Returns what the budget leaves; pins have one of their own.
    fn room(&self, counter: &dyn TokenCounter) -> TokenCount {
        let pins = self.items.iter();
        let pins = pins.filter(|item| item.kind == LedgerKind::Pin);
        let pins: TokenCount = pins.map(|item| counter.text(&item.text)).sum();
        (self.budget + pins).saturating_sub(self.tokens)
    }

    fn text_with(&self, lost: &Added<'_>) -> String {
        let mut added = String::new();
        if !lost.said.is_empty() {
            added.push_str(&format!("{SAID_HEADING}\n"));
        }
        for item in &lost.said {
            added.push_str(&format!("{}\n", listed(&item.entry_id, &item.text)));
        }
        if !lost.lines.is_empty() {
            added.push_str(&format!("{HEADING}\n"));
        }
        for (kind, line) in &lost.lines {
            let line = line.iter().map(|literal| written(literal));
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
fn written(literal: &LostLiteral) -> String {
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
