//! Decisions in what is said: what was chosen or given up, and why.
//!
//! A choice is kept as it was said, with the sentence behind it where that gives the reason.

use std::borrow::Cow;

use super::acts::Act;
use super::text::{Sentence, words};
use crate::phrases::Phrases;

/// The longest sentence that counts, in bytes.
const LONGEST: usize = 1200;
/// The fewest words that say what is chosen or given up.
const LEAST: usize = 3;

/// What opens the reason.
pub(super) static REASONS: Phrases = Phrases::named("choices.reasons");
/// What opens a sentence that gives the reason for the one before it.
static WHY: Phrases = Phrases::named("choices.why");

/// A decision.
#[derive(Debug, Clone)]
pub(super) struct Choice<'a> {
    /// The sentence, as it was said, with the next one where that gives the reason.
    pub(super) sentence: Cow<'a, str>,
    /// What is chosen, or given up.
    pub(super) choice: &'a str,
    /// True for an approach that was given up.
    pub(super) rejects: bool,
    /// True where it takes the place of an earlier choice on the same thing.
    pub(super) changes: bool,
}

/// Returns the decisions among sentences.
pub(super) fn choices(said: &[Sentence]) -> Vec<Choice<'_>> {
    let mut found = Vec::new();
    for (at, sentence) in said.iter().enumerate() {
        let Sentence { text, acts, .. } = sentence;
        // What is chosen rather than something else is chosen.
        let rejects = acts.has(Act::Refusal) && acts.more(Act::Refusal, Act::Choice);
        let chooses = !rejects && acts.has(Act::Choice) && !acts.more(Act::Finding, Act::Choice);
        let asks = text.ends_with(['?', '？', ':', '：']);
        let brief = text.is_ascii() && words(text).len() < LEAST;
        if !(chooses || rejects) || asks || brief || text.len() > LONGEST {
            continue;
        }
        let why = said.get(at + 1).filter(|_| !sentence.bullet);
        let why = why.filter(|why| gives_reason(why));
        let lower = text.to_lowercase();
        let reason = REASONS
            .first_in(&lower)
            .filter(|_| lower.len() == text.len());
        found.push(Choice {
            sentence: match why {
                Some(why) => Cow::Owned(format!("{text} {}", why.text)),
                None => Cow::Borrowed(text),
            },
            choice: match reason.and_then(|at| text.get(..at)) {
                Some(choice) if choice.len() > LEAST => choice,
                _ => text,
            },
            rejects,
            changes: acts.has(Act::Change),
        });
    }
    found
}

fn gives_reason(said: &Sentence) -> bool {
    let text = said.text.as_str();
    !said.bullet
        && text.len() <= LONGEST
        && !text.ends_with(['?', '？'])
        && WHY.opens(&text.to_lowercase())
}
