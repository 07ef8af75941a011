//! What the user said and a summary lost, said in the ledger as far as there is room.

use super::lines::listed;
use super::{LedgerBlock, LedgerItem, LedgerKind};
use session_model::tokens::{TokenCount, TokenCounter};

/// The tags of the block.
const OPENING: &str = "<ledger>";
const CLOSING: &str = "</ledger>";

/// What stands above what the user said.
const HEADING: &str = "Exact words of the user, quoted:";

/// The most that one message of the user takes, in tokens: more is not cheap. A rule may take what there is.
const MESSAGE: TokenCount = TokenCount(96);

impl LedgerBlock {
    /// Returns the block with as many rules and messages of the user as fit into what its budget leaves, and into `most`:
    /// those that come first go before.
    pub(crate) fn with_lost(
        &self,
        said: &[LedgerItem],
        most: TokenCount,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut room = self.room(counter).min(most);
        let frame = match self.text.is_empty() {
            true => counter.text(&framed("")),
            false => TokenCount::ZERO,
        };
        room = room.saturating_sub(frame + counter.text(HEADING) + TokenCount(4));
        let mut of_messages = room.scaled(1, 2);
        let mut added: Vec<&LedgerItem> = Vec::new();
        for item in said.iter().filter(|item| can_be_said(&item.text)) {
            let left = match item.kind {
                LedgerKind::Rule => room,
                // The others want to be said as well.
                _ => room.min(of_messages).min(MESSAGE),
            };
            // No token is longer than sixteen bytes or so.
            let bytes = u64::try_from(item.text.len()).unwrap_or(u64::MAX);
            if bytes > left.0.saturating_mul(16) {
                continue;
            }
            let cost = counter.text(&listed(&item.entry_id, &item.text)) + TokenCount(1);
            if cost <= left {
                room = room.saturating_sub(cost);
                if item.kind != LedgerKind::Rule {
                    of_messages = of_messages.saturating_sub(cost);
                }
                added.push(item);
            }
        }
        // What is counted by pieces may be more as a whole.
        let limit = (self.tokens + self.room(counter)).min(self.tokens + most);
        while !added.is_empty() {
            let text = self.text_with(&added);
            let tokens = counter.text(&text);
            if tokens <= limit {
                let items = self.items.iter().chain(added).cloned();
                return Self {
                    text,
                    tokens,
                    items: items.collect(),
                    ..self.clone()
                };
            }
            added.pop();
        }
        self.clone()
    }

    /// Returns what the budget leaves; pins have one of their own.
    fn room(&self, counter: &dyn TokenCounter) -> TokenCount {
        let pins = self.items.iter();
        let pins = pins.filter(|item| item.kind == LedgerKind::Pin);
        let pins: TokenCount = pins.map(|item| counter.text(&item.text)).sum();
        (self.budget + pins).saturating_sub(self.tokens)
    }

    fn text_with(&self, said: &[&LedgerItem]) -> String {
        let mut added = format!("{HEADING}\n");
        for item in said {
            added.push_str(&format!("{}\n", listed(&item.entry_id, &item.text)));
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

/// Returns false for what would break its line or the block.
fn can_be_said(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    !text.contains(char::is_control) && !lower.contains("<ledger") && !lower.contains("</ledger")
}
