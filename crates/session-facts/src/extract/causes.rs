//! What an agent found out before it changed a file: why something failed, how something works.
//!
//! Position tells more than words: of what is said between calls, the last sentence before a change that states
//! something is what the change rests on. Guesses that nothing followed from are none of it.

use super::acts::Act;
use super::fact_index::{FactIndex, link, push_newest};
use super::figures::{has_figure, subjects};
use super::names::names_something;
use super::notes::{Noted, Told};
use super::quantity::Quantity;
use super::text::{Sentence, bounded, one_line};

/// How many are remembered, how long one may be in characters, and how many sentences of a message are looked at.
const CAUSES: usize = 96;
const CAUSE: usize = 300;
const LOOKED_AT: usize = 24;
/// The least that a sentence has to say.
const LEAST: usize = 4;
/// The most of the line that a failed command printed, and of the command, in characters.
const PRINTED: usize = 90;
const COMMAND: usize = 40;

/// A finding that a change was made for.
#[derive(Debug)]
pub(super) struct Cause {
    pub(super) place: usize,
    /// What it says, and what was changed.
    pub(super) text: String,
    /// What it says, to be held against what is said later.
    pub(super) told: Told,
    /// The request that it belongs to.
    pub(super) request: usize,
}

/// A command that failed before.
#[derive(Debug)]
pub(super) struct Before {
    /// The command, on one line.
    pub(super) command: String,
    /// What it printed about that.
    pub(super) printed: String,
    /// The messages of its call and of its output.
    pub(super) places: [usize; 2],
}

impl FactIndex {
    /// Notes what is said between calls.
    pub(super) fn may_be_a_cause(&mut self, place: usize, said: &[Sentence]) {
        if let Some(text) = finding(said) {
            self.finding = Some(Noted { place, text });
        }
    }

    /// Notes that the message at `place` changes a file, and what had failed before: what was said last is why.
    pub(super) fn changes_a_file(&mut self, place: usize, path: &str, before: Option<Before>) {
        let Some(finding) = self.finding.take() else {
            return;
        };
        link(&mut self.dependencies, finding.place, place);
        let mut text = String::new();
        if let Some(before) = before {
            for other in before.places {
                link(&mut self.dependencies, finding.place, other);
            }
            let command = bounded(&before.command, COMMAND);
            let printed = bounded(before.printed.trim(), PRINTED);
            text = format!("`{command}` failed ({printed}): ");
        }
        text.push_str(&finding.text);
        let name = path.rsplit('/').next().unwrap_or(path);
        if !text.contains(name) {
            text.push_str(&format!(" [then changed: {}]", one_line(name, 80)));
        }
        let cause = Cause {
            place: finding.place,
            text,
            told: Told {
                about: subjects(&finding.text),
                quantity: has_figure(&finding.text).then(|| Quantity::of(&finding.text)),
                fails: None,
                text: finding.text,
            },
            request: self.requests,
        };
        push_newest(&mut self.causes, cause, CAUSES);
    }

    /// Notes that the user asks for something else: what was said before is no reason of what comes.
    pub(super) fn starts_a_request(&mut self, refused: bool) {
        if refused {
            // What was done for it is undone.
            let request = self.requests;
            self.causes.retain(|cause| cause.request != request);
        }
        self.finding = None;
        self.requests += 1;
    }

    /// Returns what was found out, newest first.
    pub fn causes(&self) -> impl Iterator<Item = Noted> {
        self.causes.iter().rev().map(|cause| Noted {
            place: cause.place,
            text: cause.text.clone(),
        })
    }
}

/// Returns the sentence that says most of what was found out, with those around it that state something too.
fn finding(said: &[Sentence]) -> Option<String> {
    let weighed = said.iter().take(LOOKED_AT).map(weight);
    let weighed: Vec<usize> = weighed.collect();
    let most = weighed.iter().copied().max()?;
    let at = weighed.iter().rposition(|weight| *weight == most)?;
    if most < LEAST {
        return None;
    }
    let mut text = said[at].text.clone();
    let fits = |text: &str, other: &Sentence| text.len() + other.text.len() < CAUSE;
    // What it follows from stands before it.
    for before in (0..at).rev() {
        if weighed[before] == 0 || !fits(&text, &said[before]) {
            break;
        }
        text = format!("{} {text}", said[before].text);
    }
    if let Some(next) = said.get(at + 1).filter(|next| fits(&text, next))
        && weighed.get(at + 1).is_some_and(|weight| *weight >= LEAST)
    {
        text = format!("{text} {}", next.text);
    }
    Some(one_line(&text, CAUSE))
}

/// Returns how much a sentence says of how something is: that it is a finding, and names of code.
fn weight(sentence: &Sentence) -> usize {
    let Sentence { text, acts, .. } = sentence;
    let states = text.split_whitespace().count() >= 5
        && text.len() <= 1000
        && !text.ends_with(['?', '？', ':', '：'])
        && !acts.has_any(&[Act::Now, Act::Later, Act::Offer, Act::Choice]);
    if !states {
        return 0;
    }
    usize::from(acts.has_any(&[Act::Finding, Act::Failure])) * 6
        + usize::from(names_something(text)) * 2
        + usize::from(text.contains('`')) * 2
}
