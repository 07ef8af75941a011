//! Signals in what is said: plans and next steps.

use std::cmp::Reverse;

use super::choice_words::REASONS;
use super::choices::{choices, decides_on};
use super::figures::has_figure;
use super::names::names_something;
use super::phrases::Phrases;
use super::reported_failures;
use super::text::{Sentence, ends_of, one_line, sentences};

/// The longest next step, in characters.
const STEP: usize = 200;
/// How many sentences say what an answer came to, how long each may be, and of how many they are chosen.
const TOLD: usize = 2;
const OUTCOME: usize = 160;
const LOOKED_AT: usize = 40;
/// What the second of them weighs at least.
const TELLING: usize = 3;

/// A step that an answer leaves for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// What is to be done.
    pub(super) text: String,
    /// True when the user is asked whether to do it.
    pub(super) asks: bool,
}

/// What marks later work, anywhere in a sentence.
static LATER: Phrases = Phrases::named("speech.later");
/// The same at the start of a sentence.
static LATER_OPENS: Phrases = Phrases::named("speech.later_opens");
/// The same where words are not parted by spaces.
static LATER_CJK: Phrases = Phrases::named("speech.later_cjk");
/// What opens a promise, and what says that it waits for something.
static PROMISES: Phrases = Phrases::named("speech.promises");
static WAITS: Phrases = Phrases::named("speech.waits");
/// What marks an offer.
static OFFERS: Phrases = Phrases::named("speech.offers");
/// What says that nothing is left.
static NOTHING: Phrases = Phrases::named("speech.nothing");
/// How many steps of one answer count.
const STEPS: usize = 5;

/// Returns the steps that an answer leaves for later.
pub(super) fn next_steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut listed = false;
    for Sentence { text, bullet } in sentences(&ends_of(text)) {
        let lower = text.to_lowercase().replace('’', "'");
        listed &= bullet;
        let offer = OFFERS.iter().any(|mark| lower.contains(mark));
        let later = leaves(&lower);
        let title = text.ends_with([':', '：']) || (later && is_title(&text));
        if later && title {
            listed = true;
        } else if listed || (later && !text.ends_with(['?', '？'])) {
            let text = one_line(&text, STEP);
            steps.push(Step { text, asks: false });
        } else if offer {
            let text = one_line(&format!("Asked the user: {text}"), STEP);
            steps.push(Step { text, asks: true });
        }
        if steps.len() == STEPS {
            break;
        }
    }
    steps
}

/// Returns whether a sentence in lower case leaves something for later.
pub(super) fn leaves(lower: &str) -> bool {
    let opens = |marks: &[&str]| marks.iter().any(|mark| lower.starts_with(mark));
    let has = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    let promised = opens(&PROMISES) && has(&WAITS) && !has(&[" once more", " once again"]);
    (has(&LATER) || opens(&LATER_OPENS) || has(&LATER_CJK) || promised) && !has(&NOTHING)
}

/// Returns true for a few words that head a list.
fn is_title(text: &str) -> bool {
    !text.contains(':') && text.split_whitespace().count() <= 3 && text.is_ascii()
}

/// Returns whether a sentence of the user says that something is done, or need not be.
pub(super) fn closes(text: &str) -> bool {
    static CLOSED: Phrases = Phrases::named("speech.closed");
    let lower = spaced(text);
    CLOSED.iter().any(|mark| lower.contains(mark)) || text.contains("完成了")
}

/// Returns whether a sentence is about next steps rather than about what was done.
pub(super) fn is_coming(text: &str) -> bool {
    static MARKS: Phrases = Phrases::named("speech.marks");
    let lower = spaced(text);
    MARKS.iter().any(|mark| lower.contains(mark))
}

/// Returns a sentence in lower case, its words between single spaces and its punctuation as bars.
pub(super) fn spaced(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'");
    let mut out = String::from(" ");
    for word in lower.split_whitespace() {
        let bare = word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '_')));
        out.push_str(bare);
        out.push(' ');
        if word.ends_with([',', '.', ';', ':', '!', '?', ')']) && !bare.is_empty() {
            out.push_str("| ");
        }
    }
    out
}

/// Returns the sentences that say what an answer came to: the two that tell most and are no question, plan, choice or
/// value, all of which may be out of date.
pub(super) fn outcome(said: &[Sentence]) -> Option<String> {
    let tells = |sentence: &Sentence| {
        let text = sentence.text.as_str();
        text.split_whitespace().count() >= 4
            // A heading is no sentence.
            && text.ends_with(['.', '!', '。', '！', '…'])
            && !leaves(&text.to_lowercase())
            && !is_coming(text)
            && !has_figure(text)
            && !decides_on(text)
            && choices(std::slice::from_ref(sentence)).is_empty()
    };
    let told = said.iter().take(LOOKED_AT).filter(|said| tells(said));
    let mut ranked: Vec<(usize, usize, &str)> = told
        .enumerate()
        .map(|(at, sentence)| (weight(sentence, at), at, sentence.text.as_str()))
        .collect();
    ranked.sort_by_key(|(weight, at, _)| (Reverse(*weight), *at));
    // The second has to tell something of its own.
    let further = ranked.iter().skip(1);
    let further = further.take_while(|(weight, _, _)| *weight >= TELLING);
    let count = 1 + further.count().min(TOLD - 1);
    ranked.truncate(count);
    ranked.sort_by_key(|(_, at, _)| *at);
    let told = ranked.iter().map(|(_, _, text)| one_line(text, OUTCOME));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// Returns how much a sentence tells: that it gives a cause, that something works again, names of code, its place. Cheers
/// tell less.
fn weight(sentence: &Sentence, at: usize) -> usize {
    let lower = format!(" {} ", sentence.text.to_lowercase());
    let cause = REASONS.iter().any(|mark| lower.contains(mark));
    let fixed = reported_failures::mends(&sentence.text);
    let named = names_something(&sentence.text);
    let opens = !sentence.bullet && at < 2;
    let weight = usize::from(cause) * 3
        + usize::from(fixed) * 2
        + usize::from(named) * 3
        + usize::from(opens) * 2;
    weight.saturating_sub(usize::from(sentence.text.ends_with('!')))
}

/// Returns the question that an answer ends on.
pub(super) fn question(text: &str) -> Option<String> {
    let sentences = sentences(&ends_of(text));
    let last = sentences.iter().rev().take(3);
    let mut asked = last.filter(|sentence| sentence.text.ends_with(['?', '？']));
    asked.next().map(|asked| one_line(&asked.text, 160))
}

/// Returns the first paragraph of an answer on one line, with what it announces.
pub(super) fn first_paragraph(text: &str, limit: usize) -> String {
    let text = text.trim_start();
    let mut end = text.find("\n\n").unwrap_or(text.len());
    if text[..end].trim_end().ends_with(':') {
        let rest = text[end..].trim_start();
        let start = text.len() - rest.len();
        end = start + rest.find("\n\n").unwrap_or(rest.len());
    }
    one_line(&text[..end], limit)
}
