//! What the answers came to that turns ended with.

use std::collections::BTreeSet;

use super::choices::decides_on;
use super::fact_index::{FactIndex, link, push_newest, retract};
use super::figures::subjects;
use super::notes::{AnswerNote, Noted};
use super::refusals;
use super::speech;
use super::text::Sentence;

/// What stands before an answer that the user refused.
const TURNED_DOWN: &str = "(turned down) ";
/// How many answers are remembered, and the most of the opening of one, in characters.
const ANSWERS: usize = 256;
const OPENING: usize = 400;
impl FactIndex {
    /// Notes the answer that a turn ended with.
    pub(super) fn note_answer(&mut self, place: usize, text: &str, said: &[Sentence]) {
        let outcome = speech::outcome(said);
        // A choice is a decision, which may be retracted.
        let opening = Some(speech::first_paragraph(text, OPENING));
        let answer = AnswerNote {
            place,
            about: subjects(outcome.as_deref().unwrap_or_default()),
            outcome,
            opening: opening.filter(|_| !said.iter().any(|said| decides_on(&said.text))),
            refused: false,
        };
        push_newest(&mut self.answers, answer, ANSWERS);
    }

    /// Returns what the answers came to that turns ended with, oldest first; of the newest its first paragraph.
    pub fn answers(&self) -> impl DoubleEndedIterator<Item = Noted> {
        let newest = self.answers.last().map(|answer| answer.place);
        self.answers.iter().filter_map(move |answer| {
            let place = answer.place;
            let told = match Some(place) == newest {
                true => answer.opening.as_ref().or(answer.outcome.as_ref()),
                false => answer.outcome.as_ref(),
            };
            let mark = if answer.refused { TURNED_DOWN } else { "" };
            let text = format!("{mark}{}", told?);
            Some(Noted { place, text })
        })
    }

    /// Returns the messages of all answers that turns ended with.
    pub fn answer_places(&self) -> impl Iterator<Item = usize> {
        self.answers.iter().map(|answer| answer.place)
    }

    /// Drops what answers came to where something else is chosen later, and marks the one that the user refused.
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
        let old =
            |answer: &AnswerNote| !answer.refused && refusals::is_meant(against, &answer.about);
        let dependencies = &mut self.dependencies;
        retract(dependencies, place, &mut self.answers, old, |answer| {
            answer.place
        });
    }
}
