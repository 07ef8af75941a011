//! What the answers told that turns ended with.

use std::collections::BTreeSet;

use super::fact_index::{FactIndex, FigureNote, link, push_newest};
use super::figures::{has_number, subjects};
use super::names::Names;
use super::notes::{AnswerNote, Noted, Told};
use super::quantity::Quantity;
use super::refusals;
use super::reported_failures::says_fixed;
use super::speech;
use super::text::Sentence;

/// How many answers are remembered.
const ANSWERS: usize = 128;

impl FactIndex {
    /// Notes the answer that a turn ended with.
    pub(super) fn note_answer(&mut self, place: usize, said: &[Sentence]) {
        let told = speech::tellings(said).into_iter().map(|telling| Told {
            about: subjects(&telling.text),
            quantity: has_number(&telling.text).then(|| Quantity::of(&telling.text)),
            fails: telling.fails.then(|| Names::of(&telling.text)),
            text: telling.text,
        });
        let answer = AnswerNote {
            place,
            told: told.collect(),
            refused: false,
        };
        push_newest(&mut self.answers, answer, ANSWERS);
    }

    /// Returns what the answers told that turns ended with, newest first, and whether the user refused it.
    pub fn answers(&self) -> impl DoubleEndedIterator<Item = (Noted, bool)> {
        let answers = self
            .answers
            .iter()
            .rev()
            .filter(|answer| !answer.told.is_empty());
        answers.map(|answer| {
            let told = answer.told.iter().map(|told| told.text.as_str());
            let noted = Noted {
                place: answer.place,
                text: joined(told),
            };
            (noted, answer.refused)
        })
    }

    /// Returns the messages of all answers that turns ended with.
    pub fn answer_places(&self) -> impl Iterator<Item = usize> {
        self.answers.iter().map(|answer| answer.place)
    }

    /// Drops what answers told, and what was found out, where something else is chosen later, and marks the one that the user refused.
    pub(super) fn retract_answers(
        &mut self,
        place: usize,
        against: &[BTreeSet<String>],
        refused: Option<usize>,
    ) {
        let mut answers = self.answers.iter_mut().rev();
        let refused = answers.find(|answer| Some(answer.place) == refused);
        if let Some(refused) = refused {
            refused.refused = true;
            link(&mut self.dependencies, refused.place, place);
        }
        if !against.is_empty() {
            self.retract_told(place, |told| refusals::is_meant(against, &told.about));
        }
    }

    /// Drops what answers told of a figure that has another value since.
    pub(super) fn retract_value(&mut self, newer: &FigureNote, change: bool) {
        self.retract_told(newer.noted.place, |told| {
            let known = told.quantity.as_ref();
            known.is_some_and(|known| newer.quantity.may_replace(known, change))
        });
    }

    /// Drops what answers told of failures that `said` says are no more.
    pub(super) fn retract_resolved(&mut self, place: usize, said: &[Sentence]) {
        let resolved = said.iter().filter(|sentence| says_fixed(sentence));
        let resolved: Vec<Names> = resolved.map(|sentence| Names::of(&sentence.text)).collect();
        if !resolved.is_empty() {
            self.retract_told(place, |told| {
                let fails = told.fails.as_ref();
                fails.is_some_and(|fails| resolved.iter().any(|names| names.meet(fails)))
            });
        }
    }

    fn retract_told(&mut self, place: usize, is_old: impl Fn(&Told) -> bool) {
        let dependencies = &mut self.dependencies;
        for answer in &mut self.answers {
            let refused = answer.refused;
            let before = answer.told.len();
            if answer.place != place {
                answer.told.retain(|told| refused || !is_old(told));
            }
            if answer.told.len() < before {
                link(dependencies, answer.place, place);
            }
        }
        self.causes.retain(|cause| {
            let old = cause.place != place && is_old(&cause.told);
            if old {
                link(dependencies, cause.place, place);
            }
            !old
        });
    }
}

/// Returns sentences as one; those that nothing ends are parted.
fn joined<'a>(told: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for told in told {
        if !text.is_empty() {
            let ends = text.ends_with(['.', ':', '!', '…', '。', '：', '！']);
            text.push_str(if ends { " " } else { "; " });
        }
        text.push_str(told);
    }
    text
}
