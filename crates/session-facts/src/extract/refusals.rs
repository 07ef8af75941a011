//! What a message rejects: refusals, and what is named as not wanted.

use std::collections::BTreeSet;

use super::acts::Act;
use super::choices::REASONS;
use super::figures::subjects;
use super::speech::spaced;
use super::text::Sentence;
use crate::phrases::Phrases;

/// Returns whether a message of the user begins with a refusal.
pub(super) fn refuses(said: &[Sentence]) -> bool {
    said.first()
        .is_some_and(|first| first.acts.may(Act::Refusal))
}

/// What a rejected thing follows, where it is named.
static AGAINST: Phrases = Phrases::named("refusals.against");
/// How many words after it are looked at.
const AGAINST_WORDS: usize = 6;

/// Returns the significant words of each thing that a sentence rejects.
pub(super) fn turned_down(text: &str) -> Vec<BTreeSet<String>> {
    // Longer text is no sentence of a conversation.
    if text.len() > 2000 {
        return Vec::new();
    }
    let lower = spaced(text);
    let mut against = Vec::new();
    for mark in AGAINST.iter() {
        for (at, _) in lower.match_indices(mark).take(8) {
            let rest = &lower[at + mark.len()..];
            let ends = REASONS
                .iter()
                .chain(&[" but ", " and ", " with ", " by ", " | "]);
            let end = ends.filter_map(|end| rest.find(end)).min();
            let words = rest[..end.unwrap_or(rest.len())]
                .split(' ')
                .take(AGAINST_WORDS);
            let words: Vec<_> = words.collect();
            let telling = subjects(&words.join(" "));
            if !telling.is_empty() {
                against.push(telling);
            }
        }
    }
    against
}

/// Returns whether what is spoken against is what was chosen: half of the words of the shorter of both.
pub(super) fn is_meant(against: &[BTreeSet<String>], chosen: &BTreeSet<String>) -> bool {
    against.iter().any(|words| {
        let shared = words.intersection(chosen).count();
        shared > 0 && shared * 2 >= words.len().min(chosen.len())
    })
}
