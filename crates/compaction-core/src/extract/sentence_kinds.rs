//! What a sentence of the user is, where it is no rule: something to be done later, a choice, or worth a note.
//!
//! Rules are found by `rules`, figures by `figures`. What remains is kept as a note when it names something that can
//! be looked up or sets a limit; questions are not.

use std::collections::BTreeSet;

use super::names::names_something;
use super::speech;
use super::text::{Sentence, is_cjk, one_line, words};
use crate::phrases::Phrases;

/// The longest sentence that is noted, in characters.
const LONGEST: usize = 400;

/// What a sentence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saying {
    /// Something to be done later.
    Step,
    /// A choice.
    Choice,
}

/// A sentence and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentenceKinds {
    /// What it is.
    pub(super) saying: Saying,
    /// The sentence on one line; a choice with its reason.
    pub(super) text: String,
    /// The part that says what is chosen.
    pub(super) choice: String,
}

/// Words that ask not to forget something, wherever they stand: they make no rule, as what they ask for ends.
static REMINDERS: Phrases = Phrases::named("sentences.reminders");

/// Words that speak of later work, wherever they stand.
static LATER: Phrases = Phrases::named("sentences.later");

/// The same at the beginning of a sentence only: elsewhere they tell a story.
static AFTERWARDS: Phrases = Phrases::named("sentences.afterwards");

/// Words that tell a choice, at the beginning of a clause.
static CHOICES: Phrases = Phrases::named("sentences.choices");

/// Words that agree.
static AGREES: Phrases = Phrases::named("sentences.agrees");

/// Words that open a reason.
static REASONS: Phrases = Phrases::named("sentences.reasons");

/// Words that tell what happened.
static TOLD: Phrases = Phrases::named("sentences.told");

/// Returns whether a sentence asks not to forget something.
pub(super) fn reminds(sentence: &str) -> bool {
    let spaced = spaced(sentence);
    has(&spaced, &REMINDERS)
}

/// Returns whether a clause of a sentence begins with a choice.
pub(super) fn is_choice(sentence: &str) -> bool {
    chooses(&spaced(sentence))
}

/// Returns whether words put something off.
pub(super) fn is_later(words: &str) -> bool {
    let spaced = spaced(words);
    has(&spaced, &REMINDERS)
        || has(&spaced, &LATER)
        || starts(&spaced, &AFTERWARDS)
        || speech::leaves(&words.to_lowercase())
}

/// Returns what the sentences are, those that nothing is known of left out. `rules` are among `said`.
pub(super) fn sayings(said: &[Sentence], rules: &[&str]) -> Vec<SentenceKinds> {
    let mut found = Vec::new();
    let rules: BTreeSet<&str> = rules.iter().copied().collect();
    for (at, sentence) in said.iter().enumerate() {
        let text = sentence.text.as_str();
        let asks = text
            .trim_end_matches(['"', ')', ' '])
            .ends_with(['?', '？']);
        if rules.contains(text) || asks || text.ends_with([':', '：', '{', ';']) {
            continue;
        }
        let spaced = spaced(text);
        let comes = has(&spaced, &REMINDERS)
            || has(&spaced, &LATER)
            || ((starts(&spaced, &AFTERWARDS) || speech::asks_for_later(text))
                && !has(&spaced, &TOLD));
        let next = said
            .get(at + 1)
            .filter(|next| !rules.contains(next.text.as_str()));
        let reason = next.filter(|next| has(&self::spaced(&next.text), &REASONS));
        let agreed = starts(&spaced, &AGREES) && (reason.is_some() || has(&spaced, &REASONS));
        let saying = match () {
            () if comes => Saying::Step,
            () if chooses(&spaced) || agreed && names_something(text) => Saying::Choice,
            () => continue,
        };
        let choice = text.split([',', ':', ';', '，', '：']).find(|part| {
            let own = words(part);
            !(own.is_empty() || own.len() == 1 && AGREES.contains(&own[0].as_str()))
        });
        let whole = match (saying, reason) {
            (Saying::Choice, Some(reason)) => format!("{text} {}", reason.text),
            (Saying::Choice | Saying::Step, _) => text.to_owned(),
        };
        if words(&whole).len() < 3 && whole.is_ascii() {
            continue;
        }
        found.push(SentenceKinds {
            saying,
            text: one_line(&whole, LONGEST),
            choice: choice.unwrap_or(text).to_owned(),
        });
    }
    found
}

/// Returns whether a clause of the sentence begins with a choice.
fn chooses(spaced: &str) -> bool {
    let clauses = spaced.split(['|', '\u{3001}']);
    let mut clauses = clauses.map(|clause| {
        let mut clause = clause.trim_start();
        // "ok then let's", "and we take"
        loop {
            let (word, rest) = clause.split_once(' ').unwrap_or((clause, ""));
            let opens = AGREES.iter().copied().chain([
                "then", "and", "so", "dann", "und", "alors", "et", "entonces", "y",
            ]);
            if rest.trim().is_empty() || !opens.into_iter().any(|known| known == word) {
                return format!(" {clause}");
            }
            clause = rest.trim_start();
        }
    });
    clauses.any(|clause| starts(&clause, &CHOICES))
}

/// Returns whether the words of a list stand in a text; where words are not parted by spaces, anywhere.
fn has(spaced: &str, list: &Phrases) -> bool {
    list.is_in(spaced)
        && list
            .iter()
            .any(|mark| match mark.is_ascii() || !mark.starts_with(is_cjk) {
                true => spaced.match_indices(mark).any(|(at, _)| {
                    let open = mark.ends_with('\'') || spaced[at + mark.len()..].starts_with(' ');
                    spaced[..at].ends_with(' ') && open
                }),
                false => spaced.contains(mark),
            })
}

/// Returns whether a text begins with words of a list.
fn starts(spaced: &str, list: &[&str]) -> bool {
    let bare = spaced.trim_start_matches([' ', '|']);
    list.iter().any(|mark| {
        let rest = bare.strip_prefix(mark);
        rest.is_some_and(|rest| {
            mark.starts_with(is_cjk) || rest.is_empty() || rest.starts_with(' ')
        })
    })
}

/// Returns a sentence in lower case, words between single spaces, a bar where punctuation parts it.
fn spaced(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'");
    let mut out = String::from(" ");
    for word in lower.split_whitespace() {
        let bare =
            word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '_' | '/')));
        let ends = word.ends_with([',', '.', ';', ':', '!', ')', '，', '：']);
        if word.starts_with(['(', '–', '—']) {
            out.push_str("| ");
        }
        if !bare.is_empty() {
            out.push_str(&bare.replace(['，', '：'], " | "));
            out.push(' ');
        }
        if ends {
            out.push_str("| ");
        }
    }
    out
}
