//! What is to be done next, until it is done: by a report in whatever words, by a command that passed, by a change of the
//! file that it names, or because a newer list no longer has it.

use super::acts::Act;
use super::fact_index::{FactIndex, OfMessage, REPORTED, push_newest, retract};
use super::notes::Noted;
use super::objects::{Objects, Tells};
use super::speech::{self, spaced};
use super::text::{Sentence, words};
use crate::phrases::Phrases;

/// How many steps are remembered.
pub(super) const STEPS: usize = 32;
/// The longest sentence that is read as a report, in bytes.
const LONGEST: usize = 1200;
/// The shortest name of a file that is looked for in steps.
const FILE: usize = 5;

/// Something to be done later.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) noted: Noted,
    about: Objects,
    /// True for an offer, which the next message of the user answers.
    pub(super) asks: bool,
    /// True for an item of a list of an answer.
    listed: bool,
}

impl OfMessage for Step {
    fn place(&self) -> usize {
        self.noted.place
    }
}

impl FactIndex {
    /// Returns what is to be done next, said first first.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Noted> {
        let steps = self.steps.iter().map(|step| &step.noted);
        steps.chain(&self.passing_steps)
    }

    /// Adds a step in place of what was said of it before.
    pub(super) fn add_step(&mut self, noted: Noted, asks: bool, listed: bool) {
        let about = Objects::of(&noted.text);
        let old = |earlier: &Step| earlier.noted.text == noted.text || about.same(&earlier.about);
        retract(&mut self.dependencies, noted.place, &mut self.steps, old);
        let step = Step {
            noted,
            about,
            asks,
            listed,
        };
        push_newest(&mut self.steps, step, STEPS);
    }

    /// Notes the steps that an answer leaves; `ends` when it calls nothing and was not broken off.
    pub(super) fn note_steps(&mut self, place: usize, said: &[Sentence], ends: bool) {
        self.passing_steps.clear();
        let steps = speech::next_steps(said);
        if !ends {
            // What is said between calls is soon done: only the newest of it is still to come.
            let steps = steps.into_iter().filter(|step| !step.asks);
            let text = steps.map(|step| step.text);
            self.passing_steps = text.map(|text| Noted { place, text }).collect();
            return;
        }
        self.list_is_replaced(place, &steps);
        for step in steps {
            let noted = Noted {
                place,
                text: step.text,
            };
            self.add_step(noted, step.asks, step.listed);
        }
    }

    /// Forgets the rest of an earlier list that a newer one takes an item over from: what it leaves out is over.
    fn list_is_replaced(&mut self, place: usize, steps: &[speech::Step]) {
        let newer = steps.iter().filter(|step| step.listed);
        let newer: Vec<Objects> = newer.map(|step| Objects::of(&step.text)).collect();
        let taken_over = self
            .steps
            .iter()
            .filter(|step| step.listed && newer.iter().any(|newer| newer.same(&step.about)));
        let lists: Vec<usize> = taken_over.map(|step| step.noted.place).collect();
        let old = |step: &Step| step.listed && lists.contains(&step.noted.place);
        retract(&mut self.dependencies, place, &mut self.steps, old);
    }

    /// Forgets the steps that an answer reports as done.
    pub(super) fn answer_reports(&mut self, place: usize, said: &[Sentence]) {
        for (order, sentence) in said.iter().take(REPORTED).enumerate() {
            if self.steps.is_empty() {
                return;
            }
            let Some(tells) = reports(sentence) else {
                continue;
            };
            self.report(place, &sentence.text, tells);
            if order == 0 && tells == Tells::Done {
                self.newest_is_done(place, &spaced(&sentence.text));
            }
        }
    }

    /// Forgets the newest step where an answer begins with its verb and does not name what it is about: "Renamed it."
    fn newest_is_done(&mut self, place: usize, lower: &str) {
        static IT: Phrases = Phrases::named("steps.it");
        let first = lower.split([' ', '|']).find(|word| !word.is_empty());
        let verb = Objects::of(first.unwrap_or_default());
        let Some(newest) = self.steps.last().filter(|_| IT.is_in(lower)) else {
            return;
        };
        if verb.is_settled_by(&newest.about, Tells::Done) {
            let newest = newest.noted.text.clone();
            let old = |step: &Step| step.noted.text == newest;
            retract(&mut self.dependencies, place, &mut self.steps, old);
        }
    }

    /// Forgets the steps that the user says are done, or need not be.
    pub(super) fn user_reports(&mut self, place: usize, said: &[Sentence]) {
        for sentence in said.iter().take(REPORTED) {
            if self.steps.is_empty() {
                return;
            }
            if sentence.acts.may(Act::Done) && !sentence.acts.has(Act::Later) {
                self.report(place, &sentence.text, Tells::Done);
            }
        }
    }

    fn report(&mut self, place: usize, text: &str, tells: Tells) {
        let later = Objects::of(text);
        let done =
            |step: &Step| step.noted.place < place && step.about.is_settled_by(&later, tells);
        retract(&mut self.dependencies, place, &mut self.steps, done);
    }

    /// Notes something that was done, and forgets the steps that it was about.
    pub(super) fn is_done(&mut self, done: Noted) {
        self.report(done.place, &done.text, Tells::Done);
        if !self.done.iter().any(|known| known.text == done.text) {
            self.done.push(done);
        }
    }

    /// Forgets the steps that a command which passed did.
    pub(super) fn command_passed(&mut self, place: usize, command: &str) {
        if self.steps.iter().any(|step| step.noted.place < place) {
            let later = Objects::of(command);
            let done = |step: &Step| {
                step.noted.place < place && step.about.is_settled_by(&later, Tells::Deed)
            };
            retract(&mut self.dependencies, place, &mut self.steps, done);
        }
    }

    /// Forgets the steps that name a file which was changed since, or that its name tells of.
    pub(super) fn file_is_changed(&mut self, place: usize, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let named = name.len() >= FILE
            && (name.contains(['.', '_']) || name.starts_with(|c: char| c.is_uppercase()));
        // Its folder tells what it is: `docs/adr/0012-queue.md`.
        let folder = path.len() - name.len();
        let folder = path[..folder].trim_end_matches('/').rfind('/');
        let later = Objects::of(&path[folder.map_or(0, |at| at + 1)..]);
        let done = |step: &Step| {
            step.noted.place < place
                && (named && step.noted.text.contains(name)
                    || step.about.is_settled_by(&later, Tells::Deed))
        };
        retract(&mut self.dependencies, place, &mut self.steps, done);
    }
}

/// Returns how a sentence tells of something; nothing where it plans, asks, or tells what fails.
pub(super) fn reports(sentence: &Sentence) -> Option<Tells> {
    let Sentence { text, acts, .. } = sentence;
    let other = [Act::Now, Act::Later, Act::Offer, Act::Failure];
    if text.len() > LONGEST
        || text.ends_with(['?', '？', ':', '：'])
        || acts.has_any(&other)
        || words(text).is_empty()
    {
        return None;
    }
    Some(match acts.may(Act::Done) || acts.may(Act::Fixed) {
        true => Tells::Done,
        false => Tells::State,
    })
}
