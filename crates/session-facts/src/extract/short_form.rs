//! Fewer words for the same fact, and which facts stand by themselves: for where there is little room.
//!
//! What remains of a sentence is one piece of it, as it was said. What opens it without meaning is dropped, and so do
//! clauses around the fact that neither name it nor limit it.

use super::acts::{Act, Acts, Speaker};
use super::choices::REASONS;
use super::fact_index::REJECTED;
use super::figures::has_figure;
use super::objects::is_only_planning;
use super::quantity::Quantity;
use super::text::{one_line, words};
use crate::phrases::Phrases;

/// What is no longer than this stands by itself, in characters.
const SHORT: usize = 110;
/// The most words of a figure that stands by itself.
const WORDS: usize = 14;
/// The most that is left of a fact, in characters: what is longer waits for all that is short.
const LONGEST: usize = 130;
/// Where clauses part.
const PARTS: [&str; 6] = [", ", "; ", ". ", " – ", " — ", " ("];

/// A fact in fewer words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortForm {
    /// The words.
    pub text: String,
    /// Its place among those of its kind: what is surest comes first, with 0.
    pub rank: u8,
}

/// What may open a sentence without meaning.
const OPENERS: &str = "fyi; btw; by the way; note that; please note that; note; keep in mind that; keep in mind; \
     remember that; for the record; with that; so; ok; okay; yes; yeah; yep; right; fine; agreed; alright; hm; hmm; \
     well; also; and; but; oh; thanks; then; ja; gut; übrigens; zur info; und; also gut; au fait; pour info; et; oui; \
     d'accord; por cierto; y; sí; vale";

/// First words of work to be done, which sets no value.
static TASKS: Phrases = Phrases::named("short.tasks");

/// Words of a clause without which a figure would say more than was said.
static LIMITS: Phrases = Phrases::named("short.limits");

/// What opens a remark behind a reason.
static REMARKS: Phrases = Phrases::named("short.remarks");

/// Returns a sentence with a figure in fewer words.
pub fn figure(text: &str) -> ShortForm {
    let bare = without_openers(text);
    let clauses = clauses(bare);
    let has = |clause: &(usize, usize)| has_figure(&bare[clause.0..clause.1]);
    let first = clauses.iter().position(has).unwrap_or(0);
    let last = clauses.iter().rposition(has);
    let (mut first, mut last) = (first, last.unwrap_or(clauses.len().saturating_sub(1)));
    let span = |first: usize, last: usize| match (clauses.get(first), clauses.get(last)) {
        (Some((start, _)), Some((_, end))) => &bare[*start..*end],
        (_, None) | (None, _) => bare,
    };
    while Quantity::of(span(first, last)).names() < 2 && first > 0 {
        first -= 1;
    }
    while Quantity::of(span(first, last)).names() < 2 && last + 1 < clauses.len() {
        last += 1;
    }
    while first > 0 && limits(span(first - 1, first - 1)) {
        first -= 1;
    }
    while last + 1 < clauses.len() && limits(span(last + 1, last + 1)) {
        last += 1;
    }
    let mut text = ended(span(first, last));
    let count = |mark: char| text.matches(mark).count();
    if count('`') % 2 == 1 || count('(') != count(')') {
        // A piece of code or of a remark in parentheses is no clause.
        (first, text) = (0, ended(bare));
    }
    let length = text.chars().count();
    // What was cut, or stands among other numbers, may not be understood alone.
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let plain = first == 0 && text.split_whitespace().count() <= WORDS;
    let alone = plain && !bare.ends_with('…') && digits(text) == digits(bare);
    let rank = match () {
        () if is_task(bare) || length > LONGEST => 2,
        () if length <= SHORT && alone => 0,
        () => 1,
    };
    ShortForm {
        text: text.to_owned(),
        rank,
    }
}

/// Returns a decision in fewer words.
pub fn decision(text: &str) -> ShortForm {
    let (mark, said) = match text.strip_prefix(REJECTED) {
        Some(said) => (REJECTED, said),
        None => ("", text),
    };
    let mut bare = without_openers(said);
    if let Some((lead, rest)) = bare.split_once(", ")
        && chooses(rest)
        && !chooses(lead)
    {
        bare = rest;
    }
    let clauses = clauses(bare);
    let mut last = clauses.len().saturating_sub(1);
    let within = |last: usize| clauses.get(last).map_or(bare, |last| &bare[..last.1]);
    let reasoned = |text: &str| {
        let lower = text.to_lowercase();
        text.contains(": ") || REASONS.is_in(&lower)
    };
    while last >= 1
        && clauses
            .get(last)
            .is_some_and(|last| remarks(&bare[last.0..]))
        && (last >= 2 || reasoned(within(last - 1)))
    {
        last -= 1;
    }
    while last >= 2 && within(last).chars().count() > LONGEST {
        last -= 1;
    }
    let kept = ended(within(last));
    let length = kept.chars().count();
    let sure = !mark.is_empty() || chooses(said);
    ShortForm {
        text: format!("{mark}{}", one_line(kept, LONGEST)),
        rank: match (sure, length > LONGEST) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        },
    }
}

fn chooses(text: &str) -> bool {
    Acts::of(text, Speaker::Agent).has(Act::Choice)
}

/// Returns a step that comes later in fewer words.
pub fn step(text: &str) -> ShortForm {
    let mut bare = without_openers(text);
    for mark in [": ", ", "] {
        if let Some((lead, rest)) = bare.split_once(mark)
            && lead.split_whitespace().count() <= 8
            && rest.split_whitespace().count() >= 3
            && is_only_planning(lead)
        {
            bare = rest;
        }
    }
    let text = ended(bare).to_owned();
    ShortForm { text, rank: 0 }
}

/// Returns a sentence without an opening that means nothing.
fn without_openers(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let opened = OPENERS.split(';').map(str::trim).filter_map(|opener| {
            let head = rest.get(..opener.len())?;
            let after = rest.get(opener.len()..)?;
            let parted = after.starts_with([' ', ',', ':']);
            (parted && head.to_lowercase() == opener).then_some(after)
        });
        let Some(after) = opened.min_by_key(|after| after.len()) else {
            return rest;
        };
        let after = after.trim_start_matches([' ', ',', ':']);
        // What is left has to say something.
        if after.split_whitespace().count() < 2 && after.is_ascii() {
            return rest;
        }
        rest = after;
    }
}

/// Returns where the clauses of a sentence begin and end.
fn clauses(text: &str) -> Vec<(usize, usize)> {
    let parts = PARTS.iter().flat_map(|part| text.match_indices(part));
    let mut parts: Vec<(usize, usize)> = parts.map(|(at, part)| (at, part.len())).collect();
    parts.sort_unstable();
    let mut clauses = Vec::new();
    let mut start = 0;
    for (at, length) in parts {
        if at >= start {
            clauses.push((start, at));
            start = at + length;
        }
    }
    clauses.push((start, text.len()));
    clauses
}

fn ended(text: &str) -> &str {
    text.trim_end_matches(['.', ',', ';', ' ', ':'])
}

fn limits(clause: &str) -> bool {
    let own = words(clause);
    own.len() <= 8
        && LIMITS
            .iter()
            .any(|mark| own.iter().any(|word| word == mark))
}

fn remarks(clause: &str) -> bool {
    let lower = clause.to_lowercase().replace('’', "'");
    REMARKS.iter().any(|mark| {
        lower
            .strip_prefix(mark)
            .is_some_and(|rest| rest.starts_with(' '))
    })
}

fn is_task(text: &str) -> bool {
    let mut first = words(text).into_iter();
    let first = first.find(|word| !matches!(word.as_str(), "please" | "now" | "bitte"));
    first.is_some_and(|first| TASKS.iter().any(|task| *task == first))
}

#[cfg(test)]
mod tests;
