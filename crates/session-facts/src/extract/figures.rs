//! Figures: numbers with units, limits and colours, and which later one replaces which.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::acts::{Act, Acts, Speaker};
use super::text::{Sentence, one_line, words};
use crate::phrases::Phrases;

/// Units that make a number a figure.
const UNITS: &str = "ms s sec secs second seconds min mins minute minutes h hr hrs hour hours day days \
     week weeks month months kb mb gb tb kib mib gib b byte bytes bit bits token tokens \
     px pt em rem fps hz khz mhz ghz k m lines line chars characters retries times \
     requests req rps qps users connections threads cores workers x percent entries rows \
     columns files sekunden minuten stunden tage zeilen zeichen secondes heures jours \
     segundos minutos horas";

/// Returns whether a word in lower case is a unit.
pub fn is_unit(word: &str) -> bool {
    static KNOWN: LazyLock<BTreeSet<&str>> = LazyLock::new(|| UNITS.split_whitespace().collect());
    word.len() <= 12 && KNOWN.contains(word)
}

/// Words next to which any number is a figure.
static KEYS: Phrases = Phrases::named("figures.keys");

/// The longest sentence with a number alone that counts, in bytes, and how many of a message do.
const PLAIN: usize = 300;
const PLAIN_NUMBERS: usize = 24;

/// Characters that are units where words are not parted by spaces.
pub(super) const CJK_UNITS: &str = "秒分時时天个個回件行字次毫ミ个小日円元";

/// Returns true when a sentence gives a number with a unit, a limit, or a colour.
pub(super) fn has_figure(text: &str) -> bool {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return has_colour(text);
    }
    let lower = text.to_lowercase();
    let keyed = words(&lower)
        .iter()
        .any(|word| KEYS.contains(&word.as_str()));
    let bytes = lower.as_bytes();
    let mut at = 0;
    while let Some(start) = bytes[at..]
        .iter()
        .position(u8::is_ascii_digit)
        .map(|found| at + found)
    {
        let run = bytes[start..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'_'));
        let end = start + run.count();
        at = end;
        let before = lower[..start].chars().next_back();
        if before.is_some_and(|before| {
            before.is_ascii_alphanumeric() || matches!(before, '/' | '_' | '-' | '#' | ':' | '.')
        }) {
            continue;
        }
        let rest = &lower[end..];
        let direct: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let spaced = rest.strip_prefix([' ', '-']).unwrap_or_default();
        let spaced: String = spaced
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        let alone = spaced.len() > 1 || matches!(spaced.as_str(), "s" | "h");
        let unit = is_unit(&direct) || (alone && direct.is_empty() && is_unit(&spaced));
        let sign = rest.trim_start().starts_with('%')
            || before.is_some_and(|before| "$€£¥".contains(before));
        let cjk = rest.trim_start().starts_with(|c| CJK_UNITS.contains(c));
        let plain =
            !rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | ':' | '-'));
        if unit || sign || cjk || (keyed && plain) {
            return true;
        }
    }
    has_colour(&lower)
}

/// Returns whether a later number may take the place of one in this text.
pub(super) fn has_number(text: &str) -> bool {
    has_figure(text) || text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns true for `#b5bd68`, or six such digits that stand alone.
fn has_colour(text: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "#_-".contains(c)));
    words.any(|word| {
        let digits = word.strip_prefix('#').unwrap_or(word);
        let hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex && (word.starts_with('#') || digits.bytes().any(|byte| byte.is_ascii_digit()))
    })
}

/// Returns true when a sentence says that something is now otherwise.
pub(super) fn replaces_earlier(text: &str) -> bool {
    Acts::of(text, Speaker::User).may(Act::Change)
}

/// Returns true when a sentence corrects what was said just before, whatever that was about.
pub(super) fn corrects_earlier(text: &str) -> bool {
    Acts::of(text, Speaker::User).has(Act::Change)
}

/// Returns the sentences that state a number which is no figure by itself; it may be a new value of one that was.
pub(super) fn plain_numbers(said: &[Sentence]) -> impl Iterator<Item = &Sentence> {
    let states = |sentence: &&Sentence| {
        let text = sentence.text.as_str();
        text.len() <= PLAIN
            && !text.ends_with(['?', '？'])
            && text.bytes().any(|byte| byte.is_ascii_digit())
            && !has_figure(text)
    };
    said.iter().filter(states).take(PLAIN_NUMBERS)
}

/// Words that say nothing of what a sentence is about.
static FILLERS: Phrases = Phrases::named("figures.fillers");
/// More of them, for what is not a figure.
static MORE_FILLERS: Phrases = Phrases::named("figures.more_fillers");

fn is_filler(word: &str) -> bool {
    static KNOWN: LazyLock<BTreeSet<&str>> = LazyLock::new(|| FILLERS.iter().copied().collect());
    KNOWN.contains(word)
}

fn is_further_filler(word: &str) -> bool {
    static KNOWN: LazyLock<BTreeSet<&str>> =
        LazyLock::new(|| MORE_FILLERS.iter().copied().collect());
    KNOWN.contains(word)
}

/// Returns whether a word in lower case says nothing of what a sentence is about.
pub(super) fn is_filler_of_any_kind(word: &str) -> bool {
    is_filler(word) || is_further_filler(word)
}

/// Returns the beginnings of the words that say what a sentence is about: "timeout" and "timeouts" are one thing.
pub(super) fn subjects(text: &str) -> BTreeSet<String> {
    let telling = telling(text).into_iter();
    let telling = telling.filter(|word| !is_further_filler(word));
    telling.map(|word| word.chars().take(6).collect()).collect()
}

/// Returns the words that say what a sentence is about.
fn telling(text: &str) -> Vec<String> {
    let words = words(text).into_iter();
    let tells = |word: &String| {
        word.chars().count() >= 4
            && word.chars().all(char::is_alphabetic)
            && !is_filler(word)
            && !is_unit(word)
    };
    words.filter(tells).collect()
}

/// Returns a sentence without the code and the remarks in parentheses in it.
fn without_code(text: &str) -> String {
    let mut plain: String = text.split('`').step_by(2).collect();
    while let Some((open, length)) = plain
        .find('(')
        .and_then(|open| Some((open, plain[open..].find(')')?)))
    {
        plain.replace_range(open..=open + length, " ");
    }
    plain
}

/// Returns how many words stand in a text, in letters alone.
fn count_words(text: &str) -> usize {
    let words = text.split_whitespace().filter(|word| {
        let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
        letters.chars().count() > 1 && letters.chars().all(char::is_alphabetic)
    });
    words.count()
}

/// Returns the figures of an answer that are told in a sentence: a name and its value on a line of a list are none.
pub(super) fn answered_figures(said: &[Sentence]) -> impl Iterator<Item = String> {
    let told = |text: &str| {
        let plain = without_code(text);
        let least = if text.ends_with('.') { 3 } else { 5 };
        has_figure(&plain) && (!text.is_ascii() || count_words(&plain) >= least)
    };
    figures(said).into_iter().filter(move |text| told(text))
}

/// Returns the sentences that give figures; a short one with the sentence before it.
pub(super) fn figures(said: &[Sentence]) -> Vec<String> {
    let mut found = Vec::new();
    let mut before: Option<&str> = None;
    for Sentence { text, bullet, .. } in said {
        if text.len() > 2000 || !has_figure(text) {
            before = Some(text.as_str()).filter(|_| !bullet);
            continue;
        }
        let short = text.split_whitespace().count() < 5;
        found.push(match before.take().filter(|_| short) {
            Some(before) => one_line(&format!("{before} {text}"), 200),
            None => one_line(text, 200),
        });
    }
    found
}
