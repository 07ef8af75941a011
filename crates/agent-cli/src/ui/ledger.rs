//! The ledger of a compaction, as plans, cards and JSON documents tell it.

use compaction_core::{LedgerBlock, LedgerKind, TokenCount};
use serde_json::{Value, json};

use crate::ui::{counted, tokens};

/// Returns the members of a JSON document: its tokens, its share of the context after, what it holds and leaves out.
pub fn document(ledger: &LedgerBlock, after: TokenCount) -> Value {
    json!({
        "tokens": ledger.tokens,
        "budget": ledger.budget,
        "percent_of_context": f64::from(tenths(ledger, after)) / 10.0,
        "facts": ledger.counts(),
        "left_out": ledger.left_out,
        "pins_left_out": ledger.pins_left_out,
        "read_from": ledger.read_from,
    })
}

/// Returns what people are shown of a ledger: the name of each row, and its text.
pub fn rows(
    ledger: &LedgerBlock,
    after: TokenCount,
) -> impl Iterator<Item = (&'static str, String)> {
    let rows = [
        ("ledger", line(ledger, after)),
        ("long", read_in_part(ledger)),
        ("pins", pins_left_out(ledger)),
    ];
    rows.into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
}

/// Returns its tokens, its share of the context after, and how many facts of each kind it holds; none where there is
/// no ledger.
fn line(ledger: &LedgerBlock, after: TokenCount) -> Option<String> {
    if ledger.text.is_empty() {
        return None;
    }
    let counts = ledger.counts().into_iter();
    let facts: Vec<String> = counts
        .map(|(kind, count)| counted(count, name(kind)))
        .collect();
    let tenths = tenths(ledger, after);
    let mut line = format!(
        "{} tokens, {}.{}% of the context after: {}",
        tokens(ledger.tokens),
        tenths / 10,
        tenths % 10,
        facts.join(", ")
    );
    if ledger.left_out > 0 {
        line.push_str(&format!("; {} left out", counted(ledger.left_out, "fact")));
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

/// Returns what is said where history was too long to be read whole; none where it was.
fn read_in_part(ledger: &LedgerBlock) -> Option<String> {
    let from = ledger.read_from.as_ref()?;
    Some(format!(
        "of what came before entry {from} only your words were read; recall finds the rest"
    ))
}

/// Returns its share of the context after, in tenths of a percent.
fn tenths(ledger: &LedgerBlock, after: TokenCount) -> u32 {
    let share = ledger.tokens.scaled(1000, after.0);
    u32::try_from(share.0).unwrap_or(u32::MAX)
}

fn name(kind: LedgerKind) -> &'static str {
    match kind {
        LedgerKind::Pin => "pin",
        LedgerKind::FirstMessage => "first message",
        LedgerKind::LatestMessage => "latest message",
        LedgerKind::Rule => "rule",
        LedgerKind::Todo => "todo",
        LedgerKind::File => "file",
        LedgerKind::Failure => "failure",
        LedgerKind::Decision => "decision",
        LedgerKind::Figure => "figure",
        LedgerKind::NextStep => "next step",
        LedgerKind::Message => "message",
        LedgerKind::Answer => "answer",
        LedgerKind::TurnedDown => "refused answer",
        LedgerKind::Cause => "cause",
        LedgerKind::Done => "done",
        LedgerKind::Check => "check",
        LedgerKind::Branch => "branch",
    }
}
