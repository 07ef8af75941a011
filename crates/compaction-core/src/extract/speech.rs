//! Signals in what is said: plans and next steps.

use super::choices::{choices, decides_on};
use super::names::names_something;
use super::reported_failures;
use super::text::{Sentence, ends_of, one_line, sentences};
use crate::phrases::Phrases;

/// The longest next step, in characters.
const STEP: usize = 200;
/// The longest sentence that is read as a plan for its words, in bytes.
const PLAN: usize = 400;
/// How much of what an answer tells is kept, how long a sentence of it may be, and how many are looked at.
const TOLD: usize = 12;
const TELLING: usize = 300;
const LOOKED_AT: usize = 40;

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

/// What marks later work, anywhere in a sentence.
static LATER: Phrases = Phrases::named("speech.later");
/// The same at the start of a sentence.
static LATER_OPENS: Phrases = Phrases::named("speech.later_opens");
/// The same where words are not parted by spaces.
static LATER_CJK: Phrases = Phrases::named("speech.later_cjk");
/// What opens a promise, and what says that it waits for something.
static PROMISES: Phrases = Phrases::named("speech.promises");
static WAITS: Phrases = Phrases::named("speech.waits");
/// What opens a sentence that announces what comes.
static ANNOUNCES: Phrases = Phrases::named("speech.announces");
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
        let offer = OFFERS.is_in(&lower);
        let later = leaves(&lower) || plans(&text);
        let plain = text.trim_end_matches('*');
        let title = plain.ends_with([':', '：']) || (later && is_title(&text));
        if later && title {
            listed = true;
        } else if listed || (later && !text.ends_with(['?', '？'])) {
            let text = one_line(&text, STEP);
            let (asks, listed) = (false, bullet);
            steps.push(Step { text, asks, listed });
        } else if offer {
            let text = one_line(&format!("Asked the user: {text}"), STEP);
            let (asks, listed) = (true, false);
            steps.push(Step { text, asks, listed });
        }
        if steps.len() == STEPS {
            break;
        }
    }
    steps
}

/// Returns whether a sentence in lower case leaves something for later.
pub(super) fn leaves(lower: &str) -> bool {
    let again = || lower.contains(" once more") || lower.contains(" once again");
    let promised = || PROMISES.opens(lower) && WAITS.is_in(lower) && !again();
    (LATER.is_in(lower) || LATER_OPENS.opens(lower) || LATER_CJK.is_in(lower) || promised())
        && !NOTHING.is_in(lower)
}

/// What says that something comes later, and what says that it is meant to be done.
static ORDER: Phrases = Phrases::named("plans.order");
static INTENDS: Phrases = Phrases::named("plans.intends");
/// The most words of a label that says that what follows is to be done: "Still on my list: ..."
const LABEL: usize = 6;

/// Returns whether a sentence says that something is to be done, and that it comes later: in words of both kinds, or in
/// a label in front.
pub(super) fn plans(text: &str) -> bool {
    if text.len() > PLAN {
        return false;
    }
    let spaced = spaced(text);
    let label = text.split_once([':', '：']).map(|(label, _)| label);
    let label = label.filter(|label| label.split_whitespace().count() <= LABEL);
    let conditional = spaced.starts_with(" if ");
    let labelled = label.is_some_and(|label| ORDER.is_in(&self::spaced(label)));
    (labelled || ORDER.is_in(&spaced) && INTENDS.is_in(&spaced))
        && !conditional
        && !NOTHING.is_in(&spaced)
}

/// Returns the same for a sentence of the user, who asks for more by fewer words.
pub(super) fn asks_for_later(text: &str) -> bool {
    static ORDER_OF_USER: Phrases = Phrases::named("plans.order_of_user");
    let spaced = spaced(text);
    plans(text)
        || (text.len() <= PLAN && ORDER_OF_USER.is_in(&spaced) && INTENDS.is_in(&spaced))
            && !spaced.starts_with(" if ")
}

/// Returns true for a few words that head a list.
fn is_title(text: &str) -> bool {
    !text.contains(':') && text.split_whitespace().count() <= 3 && text.is_ascii()
}

/// Returns whether a sentence of the user says that something is done, or need not be.
pub(super) fn closes(text: &str) -> bool {
    static CLOSED: Phrases = Phrases::named("speech.closed");
    let lower = spaced(text);
    CLOSED.is_in(&lower) || text.contains("完成了")
}

/// Returns whether a sentence is about next steps rather than about what was done.
pub(super) fn is_coming(text: &str) -> bool {
    static MARKS: Phrases = Phrases::named("speech.marks");
    let lower = spaced(text);
    MARKS.is_in(&lower)
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
        let lower = text.to_lowercase();
        let words = text.split_whitespace().count();
        let cheers = words <= 3 && !names_something(text);
        let ends = text.ends_with(['.', '!', ':', '…', '。', '！', '：']);
        // A heading is no sentence.
        let heads = words <= 8 && !ends && said.len() > 1;
        !(!sentence.bullet && (cheers || heads))
            && !text.ends_with(['?', '？'])
            && !ANNOUNCES.opens(&lower)
            && !leaves(&lower)
            && !decides_on(text)
            && choices(std::slice::from_ref(*sentence)).is_empty()
    };
    let mut told: Vec<&Sentence> = said.iter().take(LOOKED_AT).filter(tells).collect();
    if told.is_empty() {
        let asks = |said: &&Sentence| said.text.ends_with(['?', '？']) || decides_on(&said.text);
        let first = said.iter().find(|said| said.text.contains(' '));
        told.extend(first.filter(|said| !asks(said)));
    }
    let told = told.into_iter().take(TOLD).map(|said| Telling {
        text: one_line(&said.text, TELLING),
        fails: reported_failures::tells_failure(&said.text),
    });
    told.collect()
}

/// Returns the question that an answer ends on.
pub(super) fn question(text: &str) -> Option<String> {
    let sentences = sentences(&ends_of(text));
    let last = sentences.iter().rev().take(3);
    let mut asked = last.filter(|sentence| sentence.text.ends_with(['?', '？']));
    asked.next().map(|asked| one_line(&asked.text, 160))
}
