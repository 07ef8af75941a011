//! The words that tell decisions, reasons, guesses and refusals, in the languages that people speak to agents.

use crate::phrases::Phrases;

/// What marks a choice in a sentence in lower case, spaces around it.
pub(super) static DECIDED: Phrases = Phrases::named("choices.decided");
/// The same in the middle of a word or without spaces.
pub(super) static DECIDED_ANYWHERE: Phrases = Phrases::named("choices.decided_anywhere");
/// What opens the reason.
pub(super) static REASONS: Phrases = Phrases::named("choices.reasons");
/// What parts a choice from a clause that gives its reason in no other words.
pub(super) const PARTS: [&str; 6] = [": ", "; ", ", ", " – ", " — ", " - "];
/// What opens a clause that goes on with the choice and gives no reason.
pub(super) static GOES_ON: Phrases = Phrases::named("choices.goes_on");
/// The fewest words of such a clause.
pub(super) const CLAUSE: usize = 4;
/// What opens a sentence that gives the reason for the one before it.
pub(super) static WHY: Phrases = Phrases::named("choices.why");
/// What opens a message that agrees to something.
pub(super) static AGREES: Phrases = Phrases::named("choices.agrees");
/// What marks a rejected approach, and the reason that must come with it.
pub(super) const REJECTED: [(&str, &str); 15] = [
    (" won't ", " because "),
    (" won't ", " since "),
    (" will not ", " because "),
    (" not use ", " because "),
    (" not using ", " because "),
    (" tried ", " but "),
    (" tried ", " failed"),
    (" reverted ", ""),
    (" reverting ", ""),
    (" i revert ", ""),
    (" i rejected ", ""),
    (" we rejected ", ""),
    (" was rejected ", " because "),
    (" abandoned ", ""),
    (" decided against ", ""),
];
/// What marks a choice, whatever else the sentence rejects.
pub(super) static CHOSEN: Phrases = Phrases::named("choices.chosen");
/// What makes a choice a guess or a proposal and no decision.
pub(super) static GUESSES: Phrases = Phrases::named("choices.guesses");
/// What makes it a proposal wherever it stands.
pub(super) static ASKS: Phrases = Phrases::named("choices.asks");
/// What marks that an earlier choice on the same thing no longer holds.
pub(super) static CHANGES: Phrases = Phrases::named("choices.changes");
