//! Signals in what is said: decisions with their reasons, plans, next steps.

use std::collections::BTreeSet;

use super::facts::Item;
use super::figures::Quantity;
use super::text::{Sentence, ends_of, one_line, sentences};

/// The longest decision and the longest plan, in characters.
const DECISION: usize = 240;
const PLAN: usize = 400;
/// The longest next step, in characters.
const STEP: usize = 200;

/// What tells a decision; held against a sentence in lower case, spaces around it.
const DECIDED: [&str; 22] = [
    " i'll use ",
    " i will use ",
    " we'll use ",
    " let's use ",
    " i'll go with ",
    " going with ",
    " go with ",
    " decided to ",
    " decided on ",
    " decided against ",
    " decision: ",
    " chose ",
    " choosing ",
    " opted ",
    " switching to ",
    " switched to ",
    " switch to ",
    " settled on ",
    " i'm using ",
    " we use ",
    " i used ",
    " instead of ",
];
/// What opens the reason.
const REASONS: [&str; 12] = [
    " because ",
    " since ",
    " so that ",
    " due to ",
    " instead of ",
    " rather than ",
    " to avoid ",
    " in order to ",
    " as it ",
    " given that ",
    " weil ",
    " damit ",
];
/// What tells a rejected approach, and the reason that must come with it.
const REJECTED: [(&str, &str); 15] = [
    (" won't ", " because "),
    (" won't ", " since "),
    (" will not ", " because "),
    (" not use ", " because "),
    (" not using ", " because "),
    (" tried ", " but "),
    (" tried ", " failed"),
    (" reverted ", ""),
    (" reverting ", ""),
    (" i revert ", ""),
    (" i rejected ", ""),
    (" we rejected ", ""),
    (" was rejected ", " because "),
    (" abandoned ", ""),
    (" decided against ", ""),
];
/// What tells a choice, whatever else the sentence rejects.
const CHOSEN: [&str; 7] = [
    " i chose ",
    " i choose ",
    " i'll use ",
    " i will use ",
    " i'm using ",
    " going with ",
    " settled on ",
];
/// What makes a sentence a guess and no decision.
const GUESSES: [&str; 11] = [
    " if ",
    " might ",
    " maybe ",
    " i bet ",
    " probably ",
    " perhaps ",
    " i think ",
    " could ",
    " would ",
    " should ",
    " seems ",
];
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

/// A decision with its reason.
#[derive(Debug, Clone)]
pub(super) struct Choice<'a> {
    /// The sentence, as it was said.
    pub(super) sentence: &'a str,
    /// Ready to be written: what is chosen in bold, then the reason.
    pub(super) written: String,
    /// What is chosen, or given up.
    pub(super) choice: String,
    /// True for an approach that was given up.
    pub(super) rejects: bool,
}

/// Returns the decisions with reasons that an answer states, ready to be written.
pub(super) fn decisions(said: &[Sentence], id: &str) -> Vec<Item> {
    let found = choices(said).into_iter();
    found
        .map(|choice| Item {
            text: choice.written,
            id: id.to_owned(),
        })
        .collect()
}

/// Returns the decisions with reasons among sentences.
pub(super) fn choices(said: &[Sentence]) -> Vec<Choice<'_>> {
    let mut found = Vec::new();
    for sentence in said {
        if sentence.text.ends_with(['?', ':']) {
            continue;
        }
        let mut plain = sentence.text.replace('’', "'");
        if plain.contains("**") {
            plain = plain.replace("**", "");
        }
        let lower = format!(" {} ", plain.to_lowercase());
        // What is chosen rather than something else is chosen.
        let chosen = CHOSEN.iter().any(|mark| lower.contains(mark));
        let rejects = !chosen
            && REJECTED.iter().any(|(mark, reason)| {
                let at = lower.find(mark);
                at.is_some_and(|at| lower[at..].contains(reason))
            });
        let reasons = REASONS.iter().filter_map(|reason| lower.find(reason));
        let reason = reasons.filter(|at| *at > 0).min();
        let decided = reason.is_some() && DECIDED.iter().any(|mark| lower.contains(mark));
        if !(rejects || decided) || GUESSES.iter().any(|mark| lower.contains(mark)) {
            continue;
        }
        // Positions in the lower-case text hold for the plain one when no letter changed its length.
        let same_length = lower.len() == plain.len() + 2;
        let at = reason
            .filter(|at| same_length && plain.is_char_boundary(at - 1) && *at > 4)
            .map(|at| at - 1);
        let mark = if rejects { "rejected: " } else { "" };
        let choice = plain[..at.unwrap_or(plain.len())].to_owned();
        let text = match at {
            Some(at) => format!("**{mark}{choice}**: {}", plain[at..].trim_start()),
            None => format!("**{mark}{plain}**"),
        };
        let mut written = one_line(&text, DECISION);
        if written.matches("**").count() % 2 == 1 {
            written.push_str("**");
        }
        found.push(Choice {
            sentence: &sentence.text,
            written,
            choice,
            rejects,
        });
    }
    found
}

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

/// Returns whether a message of the user begins with a refusal.
pub(super) fn refuses(text: &str) -> bool {
    const REFUSALS: [&str; 16] = [
        " no ",
        " nope ",
        " nah ",
        " don't ",
        " do not ",
        " stop ",
        " revert ",
        " undo ",
        " wrong ",
        " that's wrong ",
        " not that ",
        " rather not ",
        " nein ",
        " non ",
        " nicht ",
        " wait no ",
    ];
    let opening: String = text.trim_start().chars().take(80).collect();
    let opening = spaced(&opening);
    REFUSALS.iter().any(|mark| opening.starts_with(mark))
        || text.trim_start().starts_with(['不', '别'])
}

/// What a rejected thing follows, where it is named.
const AGAINST: [&str; 26] = [
    " instead of ",
    " rather than ",
    " no longer ",
    " away from ",
    " switch from ",
    " switched from ",
    " switching from ",
    " drop ",
    " dropped ",
    " dropping ",
    " reverted ",
    " revert ",
    " rejected ",
    " abandoned ",
    " against ",
    " without ",
    " don't use ",
    " do not use ",
    " don't want ",
    " do not want ",
    " forget ",
    " scrap ",
    " skip ",
    " no ",
    " not ",
    " replace ",
];
/// How many words after it are looked at.
const AGAINST_WORDS: usize = 6;

/// Returns the telling words of what a sentence speaks against.
pub(super) fn turned_down(text: &str) -> BTreeSet<String> {
    // What is longer is no sentence that somebody says.
    if text.len() > 2000 {
        return BTreeSet::new();
    }
    let lower = spaced(text);
    let mut against = BTreeSet::new();
    for mark in AGAINST {
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
            against.extend(Quantity::of(&words.join(" ")).subjects);
        }
    }
    against
}

/// Returns a sentence in lower case, its words between single spaces and its punctuation as bars.
fn spaced(text: &str) -> String {
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
