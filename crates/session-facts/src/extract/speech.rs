//! What is said of work to come, and what answers tell.

use super::acts::Act;
use super::names::names_something;
use super::text::{Sentence, one_line};

/// The longest next step, in characters.
const STEP: usize = 200;
/// How much of what an answer tells is kept, how long a sentence of it may be, and how many are looked at.
const TOLD: usize = 12;
const TELLING: usize = 300;
const LOOKED_AT: usize = 40;
/// The longest proposal, in characters.
const PROPOSAL: usize = 160;
/// How many steps of one answer count.
const STEPS: usize = 5;

/// A step that an answer leaves for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// What is to be done.
    pub(super) text: String,
    /// True when the user is asked whether to do it.
    pub(super) asks: bool,
    /// True for an item of a list.
    pub(super) listed: bool,
}

/// Returns the steps that an answer leaves for later.
pub(super) fn next_steps(said: &[Sentence]) -> Vec<Step> {
    let steps = said.iter().filter_map(|sentence| {
        let Sentence { text, acts, bullet } = sentence;
        let asks = acts.has(Act::Offer);
        let later = acts.has(Act::Later) && !text.ends_with(['?', '？', ':', '：']);
        (asks || later).then(|| Step {
            text: match asks {
                true => one_line(&format!("Asked the user: {text}"), STEP),
                false => one_line(text, STEP),
            },
            asks,
            listed: *bullet,
        })
    });
    steps.take(STEPS).collect()
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

/// A sentence, or a line of a list, in which an answer tells something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Telling {
    /// Its words, on one line.
    pub(super) text: String,
    /// True where it tells what fails.
    pub(super) fails: bool,
}

/// Returns what an answer tells, in its order, from its beginning: how it opens says what it came to. Cheers, questions, plans
/// and choices are none of it.
pub(super) fn tellings(said: &[Sentence]) -> Vec<Telling> {
    let tells = |sentence: &&Sentence| {
        let text = sentence.text.as_str();
        let words = text.split_whitespace().count();
        let cheers = words <= 3 && !names_something(text);
        let ends = text.ends_with(['.', '!', ':', '…', '。', '！', '：']);
        // A heading is no sentence.
        let heads = words <= 8 && !ends && said.len() > 1;
        !(!sentence.bullet && (cheers || heads))
            && !text.ends_with(['?', '？'])
            && !sentence
                .acts
                .has_any(&[Act::Now, Act::Later, Act::Offer, Act::Choice])
    };
    let mut told: Vec<&Sentence> = said.iter().take(LOOKED_AT).filter(tells).collect();
    if told.is_empty() {
        let asks =
            |said: &&Sentence| said.text.ends_with(['?', '？']) || said.acts.has(Act::Choice);
        let first = said.iter().find(|said| said.text.contains(' '));
        told.extend(first.filter(|said| !asks(said)));
    }
    let told = told.into_iter().take(TOLD).map(|said| Telling {
        text: one_line(&said.text, TELLING),
        fails: said.acts.has(Act::Failure),
    });
    told.collect()
}

/// Returns the last sentence in which an answer does something or proposes it; else its last sentence.
pub(super) fn proposal(said: &[Sentence]) -> Option<String> {
    let acts = [Act::Choice, Act::Offer, Act::Now, Act::Later];
    let proposes = |said: &&Sentence| acts.into_iter().any(|act| said.acts.may(act));
    let tells = |said: &&Sentence| !said.text.ends_with(['?', '？']);
    // "Shall I?" names nothing.
    let told = said.iter().filter(tells).rfind(proposes);
    let proposal = told.or(said.iter().rfind(proposes)).or(said.last())?;
    Some(one_line(&proposal.text, PROPOSAL))
}

/// Returns the question that an answer ends on.
pub(super) fn question(said: &[Sentence]) -> Option<String> {
    let last = said.iter().rev().take(3);
    let mut asked = last.filter(|sentence| sentence.text.ends_with(['?', '？']));
    asked.next().map(|asked| one_line(&asked.text, 160))
}
