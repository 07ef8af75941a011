//! The ledger of a compaction, as plans, cards and JSON documents show it.

use compaction_core::LedgerBlock;
use serde_json::{Value, json};

use crate::ui::{counted, tokens};

/// Returns the members of a JSON document: its tokens, what it holds and leaves out.
pub fn document(ledger: &LedgerBlock) -> Value {
    json!({
        "tokens": ledger.tokens,
        "budget": ledger.budget,
        "counts": ledger.counts,
        "pins_left_out": ledger.pins_left_out,
    })
}

/// Returns what people are shown of a ledger: the name of each row, and its text.
pub fn rows(ledger: &LedgerBlock) -> impl Iterator<Item = (&'static str, String)> {
    let rows = [("ledger", line(ledger)), ("pins", pins_left_out(ledger))];
    rows.into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
}

/// Returns its tokens and what it holds; none where there is no ledger.
fn line(ledger: &LedgerBlock) -> Option<String> {
    if ledger.text.is_empty() {
        return None;
    }
    let counts = &ledger.counts;
    let requests = counts.requests_whole + counts.requests_cut;
    let parts = [
        (counts.pins, "pin"),
        (requests, "message"),
        (counts.failing, "failing command"),
        (counts.todos, "open todo"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, name)| counted(count, name)).collect();
    let mut line = format!("{} tokens: {}", tokens(ledger.tokens), parts.join(", "));
    if counts.requests_cut > 0 {
        line.push_str(&format!(", {} of them cut", counts.requests_cut));
    }
    if counts.requests_left_out > 0 {
        line.push_str(&format!(
            "; {} without room",
            counted(counts.requests_left_out, "message")
        ));
    }
    Some(line)
}

/// Returns what is said of pins that exceed their budget; none where all fit.
fn pins_left_out(ledger: &LedgerBlock) -> Option<String> {
    let left = ledger.pins_left_out.len();
    (left > 0).then(|| {
        format!(
            "{} over the budget left out; raise compaction.pins.maxTokens or unpin",
            counted(left, "pin")
        )
    })
}
