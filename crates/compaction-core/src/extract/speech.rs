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

/// What tells wherever it stands that something is left for later.
const LATER: [&str; 40] = [
    "next step",
    "next, ",
    "next i",
    "next up",
    "next on ",
    "remaining",
    "what remains",
    "remains to ",
    "what's left",
    "what is left",
    "that leaves ",
    "which leaves ",
    "leaves one ",
    "left for ",
    "left to do",
    "still need",
    "still to ",
    "still open",
    "still missing",
    "still have to",
    "yet to be done",
    "not done yet",
    "for tomorrow",
    "follow-up",
    "outstanding",
    "to do:",
    "als nächstes",
    "noch offen",
    "noch zu tun",
    "steht noch aus",
    "bleibt noch",
    "fehlt noch",
    "il reste",
    "reste à",
    "prochaine étape",
    "queda por",
    "falta por",
    "pendiente",
    "próximo paso",
    "siguiente paso",
];
/// The same at the start of a sentence.
const LATER_OPENS: [&str; 16] = [
    "next:",
    "todo",
    "later:",
    "later, ",
    "pending:",
    "open:",
    "then:",
    "afterwards",
    "offen:",
    "danach",
    "später",
    "ensuite",
    "luego ",
    "después ",
    "reste :",
    "queda:",
];
/// The same where words are not parted by spaces.
const LATER_CJK: [&str; 8] = [
    "下一步",
    "接下来",
    "还需要",
    "待办",
    "剩下",
    "还剩",
    "次は",
    "残り",
];
/// What opens a promise, and what says that it waits for something.
const PROMISES: [&str; 11] = [
    "i'll ",
    "i will ",
    "i'm going to ",
    "we'll ",
    "we will ",
    "will ",
    "i still ",
    "ich werde ",
    "je vais ",
    "voy a ",
    "haré ",
];
const WAITS: [&str; 14] = [
    " once ",
    " after ",
    " when ",
    " as soon as ",
    " later",
    " tomorrow",
    " afterwards",
    " before ",
    " sobald ",
    " wenn ",
    " danach",
    " dès que ",
    " cuando ",
    " en cuanto ",
];
/// What tells an offer.
const OFFERS: [&str; 5] = [
    "would you like me to",
    "do you want me to",
    "want me to",
    "shall i",
    "should i",
];
/// What says that nothing is left.
const NOTHING: [&str; 12] = [
    "nothing remain",
    "nothing is left",
    "nothing left",
    "nothing else",
    "no remaining",
    "none remaining",
    "no outstanding",
    "no follow-up",
    "no open ",
    "nichts mehr offen",
    "plus rien",
    "nada pendiente",
];
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
    const CLOSED: [&str; 17] = [
        " done ",
        " finished ",
        " merged ",
        " shipped ",
        " already ",
        " not needed ",
        " no longer needed ",
        " never mind ",
        " skip ",
        " drop ",
        " erledigt ",
        " fertig ",
        " fait ",
        " terminé ",
        " hecho ",
        " listo ",
        " terminado ",
    ];
    let lower = spaced(text);
    CLOSED.iter().any(|mark| lower.contains(mark)) || text.contains("完成了")
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
