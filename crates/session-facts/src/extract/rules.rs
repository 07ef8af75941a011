//! The user's rules: which sentences of a message state one, and how they are quoted.

use super::acts::Act;
use super::text::{Sentence, cut_end, neutralise};
use crate::phrases::Phrases;

/// The longest rule, in characters; what is longer is cut with a marker.
const LONGEST: usize = 400;

/// Headings under which every item of a list is a rule.
static HEADINGS: Phrases = Phrases::named("rules.headings");

/// Returns the rules that the sentences of a user's message state, in their order, as they were said.
pub(super) fn stated(said: &[Sentence]) -> Vec<&str> {
    let mut rules = Vec::new();
    let mut listed = false;
    for Sentence { text, bullet, acts } in said {
        listed &= *bullet;
        let states = acts.has(Act::Rule);
        // What goes on is code or half a sentence.
        if listed || states && !text.ends_with(['{', ';', ',']) {
            rules.push(text.as_str());
        }
        listed |= text.ends_with([':', '：']) && is_heading(text);
    }
    rules
}

/// Returns a rule as a summary quotes it.
pub(super) fn shown_rule(text: &str, id: &str) -> String {
    cut_end(&neutralise(text), id, LONGEST)
}

/// Returns true for a heading under which every item of a list is a rule.
pub(super) fn is_heading(text: &str) -> bool {
    let lower = text.to_lowercase();
    let last = lower
        .trim_end_matches([':', '：', '*', ' '])
        .rsplit([' ', '*'])
        .next();
    last.is_some_and(|last| HEADINGS.contains(&last))
}
