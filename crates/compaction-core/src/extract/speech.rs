//! Signals in what is said: plans and next steps.

use super::text::{Sentence, ends_of, one_line, sentences};

/// The longest plan, in characters.
const PLAN: usize = 400;
/// The longest next step, in characters.
const STEP: usize = 200;

/// What opens a sentence that says what comes.
const COMING: [&str; 16] = [
    "i'll ",
    "i will ",
    "i'm going to ",
    "next",
    "let me ",
    "let's ",
    "now i",
    "now let",
    "then i",
    "first, i",
    "my plan",
    "the plan",
    "plan:",
    "remaining",
    "ich werde ",
    "als nächstes",
];
/// What tells that a list says what comes.
const LISTS: [&str; 13] = [
    "next",
    "plan",
    "steps",
    "todo",
    "to do",
    "remaining",
    "i'll",
    "i will",
    "going to",
    "need to",
    "left to",
    "still",
    "nächste",
];

/// Returns what an answer says will come: the list under such a sentence, else the sentences.
pub(super) fn plan(text: &str) -> Option<String> {
    let steps = coming(text);
    (!steps.is_empty()).then(|| one_line(&steps.join(" "), PLAN))
}

/// A step that an answer leaves for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// What is to be done.
    pub(super) text: String,
    /// True when the user is asked whether to do it.
    pub(super) asks: bool,
}

/// Returns the steps that an answer leaves for later.
pub(super) fn next_steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut listed = false;
    for Sentence { text, bullet } in sentences(&ends_of(text)) {
        let lower = text.to_lowercase().replace('’', "'");
        listed &= bullet;
        let later = [
            "next step",
            "next, ",
            "next i",
            "next up",
            "remaining",
            "still need",
            "still to do",
            "left to do",
            "todo",
            "to do:",
            "als nächstes",
        ];
        let later = later.iter().any(|mark| lower.contains(mark));
        let offer = [
            "would you like me to",
            "do you want me to",
            "want me to",
            "shall i",
            "should i",
        ];
        let offer = offer.iter().any(|mark| lower.contains(mark));
        let title = text.ends_with(':') || (later && text.split_whitespace().count() <= 3);
        if later && title {
            listed = true;
        } else if listed || later {
            let text = one_line(&text, STEP);
            steps.push(Step { text, asks: false });
        } else if offer {
            let text = one_line(&format!("Asked the user: {text}"), STEP);
            steps.push(Step { text, asks: true });
        }
        if steps.len() == 5 {
            break;
        }
    }
    steps
}

/// Returns whether a sentence speaks of what comes rather than of what was done.
pub(super) fn is_coming(text: &str) -> bool {
    const MARKS: [&str; 14] = [
        " next ",
        " todo ",
        " remaining ",
        " remains ",
        " still ",
        " will ",
        " i'll ",
        " going to ",
        " need to ",
        " needs to ",
        " should ",
        " later ",
        " left to ",
        " let me ",
    ];
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

fn coming(text: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut listed = false;
    for Sentence { text, bullet } in sentences(&ends_of(text)) {
        let lower = text.to_lowercase().replace('’', "'");
        listed &= bullet;
        let title = text.ends_with(':');
        let opens = COMING.iter().any(|mark| lower.starts_with(mark));
        if listed || (opens && !title && text.split_whitespace().count() > 4) {
            steps.push(text.clone());
        }
        listed |= title && LISTS.iter().any(|mark| lower.contains(mark));
        if steps.len() == 8 {
            break;
        }
    }
    steps
}

/// Returns what an answer ends on, for a short request that follows it: its last question, or its last sentence.
pub(super) fn last_word(text: &str) -> Option<String> {
    let sentences = sentences(&ends_of(text));
    let question = sentences
        .iter()
        .rev()
        .take(6)
        .find(|sentence| sentence.text.ends_with(['?', '？']));
    let last = question.or(sentences.last())?;
    Some(one_line(&last.text, 240))
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
