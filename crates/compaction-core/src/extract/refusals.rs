//! What a message rejects: refusals, and what is named as not wanted.

use std::collections::BTreeSet;

use super::choice_words::REASONS;
use super::figures::subjects;
use super::sentence_kinds::reminds;
use super::speech::spaced;
use crate::phrases::Phrases;

/// Returns whether a message of the user begins with a refusal.
pub(super) fn refuses(text: &str) -> bool {
    static FILLERS: Phrases = Phrases::named("refusals.fillers");
    static REFUSALS: Phrases = Phrases::named("refusals.refusals");
    static CJK: Phrases = Phrases::named("refusals.cjk");
    let opening: String = text.trim_start().chars().take(80).collect();
    let opening = spaced(&opening);
    let words = opening.split(' ').filter(|word| !word.is_empty());
    let told: Vec<&str> = words.skip_while(|word| FILLERS.contains(word)).collect();
    let told = format!(" {} ", told.join(" "));
    let only = matches!(told.trim(), "no" | "non" | "stop" | "don't" | "nicht");
    only || REFUSALS.opens(&told) || CJK.opens(text.trim_start())
}

/// Returns whether a message speaks against something in its first sentence, in whatever words; one that begins by
/// agreeing does not.
pub(super) fn objects(first: &str) -> bool {
    static AGREES: Phrases = Phrases::named("sentences.agrees");
    static OBJECTS: Phrases = Phrases::named("refusals.objects");
    static CJK: Phrases = Phrases::named("refusals.objects_cjk");
    let lower = spaced(first);
    let opens = lower.split(' ').find(|word| !word.is_empty());
    let agrees = opens.is_some_and(|word| AGREES.contains(&word));
    !agrees && !reminds(first) && (OBJECTS.is_in(&lower) || CJK.is_in(first))
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
