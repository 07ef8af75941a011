//! Decisions in what is said: what was chosen or given up, and why.
//!
//! A choice counts with its reason, in one sentence or in two that follow each other, and is kept as it was said.

use std::borrow::Cow;

use super::choice_words::{
    AGREES, ASKS, CHANGES, CHOSEN, CLAUSE, DECIDED, DECIDED_ANYWHERE, GOES_ON, GUESSES, PARTS,
    REASONS, REJECTED, WHY,
};
use super::figures::has_figure;
use super::text::Sentence;
use crate::phrases::Phrases;

/// The longest sentence that counts, in bytes.
const LONGEST: usize = 1200;

/// A decision with its reason.
#[derive(Debug, Clone)]
pub(super) struct Choice<'a> {
    /// The sentence, as it was said, with the next one where that gives the reason.
    pub(super) sentence: Cow<'a, str>,
    /// What is chosen, or given up.
    pub(super) choice: String,
    /// True for an approach that was given up.
    pub(super) rejects: bool,
    /// True where it takes the place of an earlier choice on the same thing.
    pub(super) changes: bool,
}

/// Returns the decisions with reasons among sentences.
pub(super) fn choices(said: &[Sentence]) -> Vec<Choice<'_>> {
    let mut found = Vec::new();
    let mut next = said.iter().peekable();
    while let Some(sentence) = next.next() {
        if sentence.text.len() > LONGEST || sentence.text.ends_with(['?', '？', ':']) {
            continue;
        }
        let why = next
            .peek()
            .filter(|next| !next.bullet && next.text.len() <= LONGEST && gives_reason(&next.text));
        if let Some(why) = why
            && let Some(choice) = choice_in_two(&sentence.text, &why.text)
        {
            found.push(choice);
            next.next();
            continue;
        }
        // On a line of a list it is what was changed.
        let lower = format!(" {} ", sentence.text.to_lowercase());
        if !(sentence.bullet && replaces_only(&lower)) {
            found.extend(choice(&sentence.text));
        }
    }
    found
}

fn gives_reason(text: &str) -> bool {
    let lower = text.to_lowercase();
    WHY.opens(&lower) && !text.ends_with(['?', '？'])
}

/// Returns the choice of a sentence whose reason is the next one.
fn choice_in_two<'a>(sentence: &'a str, why: &str) -> Option<Choice<'a>> {
    let plain = plain(sentence);
    let lower = format!(" {} ", plain.to_lowercase());
    let opening = &lower[1..];
    let agreed = AGREES.opens(opening);
    let chosen = decides(&lower) || agreed;
    if !chosen || is_guess(&lower) || rejects(&lower) || turns_down(&lower) {
        return None;
    }
    let whole = format!("{sentence} {why}");
    Some(Choice {
        choice: plain.into_owned(),
        sentence: Cow::Owned(whole),
        rejects: false,
        changes: changes(&lower),
    })
}

/// Returns the choice that one sentence states.
fn choice(sentence: &str) -> Option<Choice<'_>> {
    let plain = plain(sentence);
    let lower = format!(" {} ", plain.to_lowercase());
    if ASKS.is_in(&lower) {
        return None;
    }
    let rejects = rejects(&lower);
    let mut reason = REASONS.first_in(&lower[1..]).map(|at| at + 1);
    let decided = decides(&lower);
    if decided && reason.is_none() {
        reason = clause_after_choice(&lower);
    }
    let chosen = decided && reason.is_some() && !(has_figure(&plain) && replaces_only(&lower));
    if !rejects && !chosen {
        return None;
    }
    // What the reason says of other ways is no guess.
    let end = reason.filter(|_| !rejects).unwrap_or(lower.len());
    let end = match DECIDED.iter().find_map(|mark| lower.find(mark)) {
        Some(mark) => end.max(mark),
        None => end,
    };
    if is_guess(&lower[..end]) || (!rejects && turns_down(&lower)) {
        return None;
    }
    // Positions in the lower-case text hold for the plain one when no letter changed its length.
    let same_length = lower.len() == plain.len() + 2;
    let at = reason
        .filter(|at| same_length && *at > 4 && plain.is_char_boundary(at - 1))
        .map(|at| at - 1);
    let choice = plain[..at.unwrap_or(plain.len())].to_owned();
    Some(Choice {
        sentence: Cow::Borrowed(sentence),
        choice,
        rejects,
        changes: changes(&lower),
    })
}

fn plain(text: &str) -> Cow<'_, str> {
    match text.contains("**") || text.contains('’') {
        true => Cow::Owned(text.replace('’', "'").replace("**", "")),
        false => Cow::Borrowed(text),
    }
}

/// Returns whether a sentence decides on something, with a reason or without.
pub(super) fn decides_on(text: &str) -> bool {
    decides(&format!(" {} ", plain(text).to_lowercase()))
}

fn decides(lower: &str) -> bool {
    DECIDED.is_in(lower) || DECIDED_ANYWHERE.is_in(lower)
}

/// Returns whether a sentence puts one thing in the place of another and says no more: a figure, or what was changed.
fn replaces_only(lower: &str) -> bool {
    const PLACE: &str = " instead of ";
    let mut marks = DECIDED.iter().chain(DECIDED_ANYWHERE.iter());
    let mut reasons = REASONS.iter();
    lower.contains(PLACE)
        && !marks.any(|mark| *mark != PLACE && lower.contains(mark))
        && !reasons.any(|mark| *mark != PLACE && lower.contains(mark))
}

fn rejects(lower: &str) -> bool {
    // What is chosen rather than something else is chosen.
    let chosen = CHOSEN.is_in(lower);
    !chosen
        && REJECTED.iter().any(|(mark, reason)| {
            let at = lower.find(mark);
            at.is_some_and(|at| lower[at..].contains(reason))
        })
}

fn is_guess(lower: &str) -> bool {
    GUESSES.is_in(lower) || ASKS.is_in(lower)
}

/// Returns whether what reads like a choice is a refusal of it.
fn turns_down(lower: &str) -> bool {
    static DOWN: Phrases = Phrases::named("choices.down");
    DOWN.is_in(lower)
}

/// Returns whether a sentence takes back an earlier choice.
pub(super) fn changes_choice(text: &str) -> bool {
    CHANGES.is_in(&format!(" {} ", plain(text).to_lowercase()))
}

fn changes(lower: &str) -> bool {
    CHANGES.is_in(lower) && !lower.contains(" instead of ")
}

/// Returns where a clause begins that follows a choice and can only be its reason.
fn clause_after_choice(lower: &str) -> Option<usize> {
    let marks = DECIDED.iter().chain(DECIDED_ANYWHERE.iter());
    let ends = marks.filter_map(|mark| Some(lower.find(mark)? + mark.trim_end().len()));
    let from = ends.min()?;
    // "it is:" ends with the colon that parts them.
    let from = lower.floor_char_boundary(from.saturating_sub(1));
    let parts = PARTS.iter().flat_map(|part| {
        let found = lower[from..].match_indices(part).take(6);
        found.map(|(at, part)| (from + at, part.len()))
    });
    let clauses = parts.filter(|(at, length)| {
        let clause = &lower[at + length..];
        let words = clause.split_whitespace().take(CLAUSE).count();
        // A choice is named before it.
        let named = lower[..*at].split_whitespace().count() >= 2;
        named && words == CLAUSE && !GOES_ON.opens(clause)
    });
    clauses.map(|(at, _)| at).min()
}
