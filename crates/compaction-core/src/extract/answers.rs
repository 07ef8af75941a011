//! What the answers told that turns ended with.

use std::collections::BTreeSet;

use super::fact_index::{FactIndex, FigureNote, link, push_newest};
use super::figures::{has_figure, subjects};
use super::names::{Names, looked_up};
use super::notes::{Answer, AnswerKind, AnswerNote, Told};
use super::quantity::Quantity;
use super::refusals;
use super::reported_failures::mends;
use super::speech;
use super::text::Sentence;

/// How many answers are remembered.
const ANSWERS: usize = 128;

impl FactIndex {
    /// Notes the answer that a turn ended with.
    pub(super) fn note_answer(&mut self, place: usize, said: &[Sentence]) {
        // How an answer opens that tells nothing is told as long as it is the newest.
        for answer in &mut self.answers {
            answer.told.retain(|_| !answer.opens);
        }
        let mut told = speech::tellings(said);
        let opens = told.is_empty();
        if opens {
            told.extend(speech::opening(said));
        }
        let told = told.into_iter().map(|telling| Told {
            about: subjects(&telling.text),
            quantity: has_figure(&telling.text).then(|| Quantity::of(&telling.text)),
            fails: telling.fails.then(|| Names::of(&telling.text)),
            text: telling.text,
        });
        let answer = AnswerNote {
            place,
            told: told.collect(),
            opens,
            refused: false,
        };
        push_newest(&mut self.answers, answer, ANSWERS);
    }

    /// Returns what the answers told that turns ended with, newest first. What a newer one names is not news in an
    /// older one: of that only the first sentence is told, and what was told before not at all.
    pub fn answers(&self) -> Vec<Answer> {
        let mut known: BTreeSet<&str> = BTreeSet::new();
        let answers = self.answers.iter().rev().filter_map(|answer| {
            let told = answer.told.iter().filter_map(|told| {
                let mut names = looked_up(&told.text).peekable();
                let names_nothing = names.peek().is_none();
                let news = names.filter(|name| known.insert(name)).count() > 0;
                let kind = match () {
                    () if answer.refused => AnswerKind::TurnedDown,
                    () if told.fails.is_some() => AnswerKind::Failing,
                    () => AnswerKind::Outcome,
                };
                (news || names_nothing).then(|| (kind, told.text.clone()))
            });
            let mut told: Vec<(AnswerKind, String)> = told.collect();
            if answer.refused {
                told.truncate(1);
            }
            (!told.is_empty()).then_some(Answer {
                place: answer.place,
                sentences: told,
            })
        });
        answers.collect()
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
            known.is_some_and(|known| newer.quantity.replaces(known, change))
        });
    }

    /// Drops what answers told of failures that `said` says are no more.
    pub(super) fn retract_resolved(&mut self, place: usize, said: &[Sentence]) {
        let resolved = said.iter().filter(|sentence| mends(&sentence.text));
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
