//! How facts are written in a block: on a line of a list, or in a frame that nothing in them can end.

use session_model::EntryId;

use crate::prompts::{self, LedgerParts};
use crate::serialize::escape;
use session_model::tokens::{TokenCount, TokenCounter};

/// What a heading takes.
pub(super) const HEADING: TokenCount = TokenCount(12);
/// How many entries a line names.
pub(super) const NAMED: usize = 10;
/// The longest id that is shown.
const ID: usize = 64;

/// Returns the block, with the blank line in front.
pub(super) fn block(parts: &LedgerParts) -> String {
    format!("\n\n{}", prompts::ledger(parts))
}

/// Returns the first ids of a list.
pub(super) fn named<'a>(ids: impl Iterator<Item = &'a EntryId>) -> String {
    let mut ids: Vec<String> = ids.take(NAMED + 1).map(shown_id).collect();
    if let Some(more) = ids.get_mut(NAMED) {
        "...".clone_into(more);
    }
    ids.join(", ")
}

/// Returns an id as far as it can be shown without meaning something else.
pub(super) fn shown_id(id: &EntryId) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    id.chars().filter(plain).take(ID).collect()
}

/// Returns a fact on a line of a list, with its entry.
pub(super) fn listed(id: &EntryId, text: &str) -> String {
    format!("{} [{}]", bare(text), shown_id(id))
}

/// Returns a fact on a line of a list.
pub(super) fn bare(text: &str) -> String {
    format!("- {}", one_name(text))
}

/// Returns a name as it stands among others on a line.
pub(super) fn one_name(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    escape(&line)
}

/// Returns a message: on a line of a list where it is one line, else in a frame.
pub(super) fn message(id: &EntryId, text: &str) -> String {
    match text.contains(char::is_control) {
        true => framed(id, text),
        false => listed(id, text),
    }
}

/// Returns a text in a frame of its own. Its first line is treated like the others.
pub(super) fn framed(id: &EntryId, text: &str) -> String {
    let text = escape(&format!("\n{text}"));
    format!(
        "<ledger-text id=\"{}\">{text}\n</ledger-text>",
        shown_id(id)
    )
}

/// The most tokens that an id of this program takes.
const ID_TOKENS: TokenCount = TokenCount(12);

/// Returns what a pin takes in a block; the id of a pin that is yet to be stored is empty.
pub(super) fn pin_cost(id: &EntryId, text: &str, counter: &dyn TokenCounter) -> TokenCount {
    let nameless = counter.text(&message(&EntryId::new(""), text)) + ID_TOKENS;
    counter.text(&message(id, text)).max(nameless) + TokenCount(1)
}

/// Returns what stands around all pins, the frame of a block with nothing else in it included.
pub(super) fn around_pins(counter: &dyn TokenCounter) -> TokenCount {
    let frame = block(&LedgerParts {
        lead: prompts::ledger_lead(),
        ..LedgerParts::default()
    });
    counter.text(&frame) + HEADING
}
