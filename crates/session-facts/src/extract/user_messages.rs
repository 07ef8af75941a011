//! What the user says to a record: rules, figures, wishes, choices, and what they take back.

use std::collections::BTreeSet;

use super::acts::{Act, Acts};
use super::fact_index::{
    Decision, FIGURES, FactIndex, FigureNote, REPORTED, may_replace, push_newest, replaces, retract,
};
use super::figures::{
    corrects_earlier, figures, has_number, plain_numbers, replaces_earlier, subjects,
};
use super::notes::{Change, Noted, RuleNote, Spoken};
use super::objects::Objects;
use super::refusals;
use super::steps::Step;
use super::text::{Sentence, one_line, words};

/// Below this many characters a message is shown with the question before it.
const ANSWER: usize = 40;
/// The longest sentence that changes a choice, in bytes.
const LONGEST: usize = 600;
/// The fewest words of a step.
const LEAST: usize = 3;
/// How many sentences of a message answer the one before.
const ANSWERING: usize = 4;
/// The most words of an objection that does not say what it is about.
const BRIEF: usize = 10;

/// Returns whether a sentence may say something that outlasts the request.
fn may_last(acts: Acts) -> bool {
    let lasting = [
        Act::Rule,
        Act::Later,
        Act::Choice,
        Act::Refusal,
        Act::Change,
    ];
    lasting.into_iter().any(|act| acts.may(act))
}

impl FactIndex {
    /// Notes what the user says; `rules` are among `said`.
    pub(super) fn user(
        &mut self,
        place: usize,
        text: &str,
        tiny: bool,
        said: &[Sentence],
        rules: &[&str],
    ) {
        self.steps_are_answered(place);
        self.turned_down(place, said);
        self.objected(place, said);
        self.changed_choices(place, said);
        self.starts_a_request(refusals::refuses(said));
        self.user_reports(place, said);
        // A rule is listed as a rule.
        let stated: BTreeSet<&str> = rules.iter().copied().collect();
        let others = said
            .iter()
            .filter(|sentence| !stated.contains(sentence.text.as_str()));
        let others: Vec<Sentence> = others.cloned().collect();
        self.note_decisions(place, &others, true);
        for rule in rules.iter().copied() {
            if self.is_new_rule(place, rule) {
                let figure = has_number(rule).then(|| FigureNote::new(place, rule.to_owned()));
                if let Some(figure) = &figure {
                    self.user_gives(figure);
                }
                self.rules.push(RuleNote {
                    place,
                    text: rule.to_owned(),
                    changed: None,
                    quantity: figure.map(|figure| figure.quantity),
                });
            }
        }
        let of_rule = |text: &str| {
            let mut rules = rules.iter();
            stated.contains(text)
                || rules
                    .any(|rule| rule.contains(text.trim_end_matches('…')) || text.contains(*rule))
        };
        for sentence in plain_numbers(said) {
            self.user_gives(&FigureNote::new(place, sentence.text.clone()));
        }
        for figure in figures(said) {
            if of_rule(&figure) {
                continue;
            }
            let newer = FigureNote::new(place, figure);
            self.user_gives(&newer);
            push_newest(&mut self.user_figures, newer, FIGURES);
        }
        self.asks_for_later(place, &others);
        let asked = self.question.take();
        if !text.trim().is_empty() {
            let asked = asked.filter(|_| text.chars().count() < ANSWER && !text.starts_with('/'));
            if let Some((asking, _)) = &asked {
                self.link(place, *asking);
            }
            self.spoken.push(Spoken {
                place,
                text: text.to_owned(),
                tiny,
                lasting: said.iter().any(|sentence| may_last(sentence.acts)),
                changed: None,
                answers: asked.map(|(_, question)| question),
            });
        }
    }

    /// Returns whether a message says a rule for the first time. One that was said before holds from now on again, so
    /// what was noted of it is dropped.
    fn is_new_rule(&mut self, place: usize, text: &str) -> bool {
        if self.known_rules.insert(text.to_owned()) {
            return true;
        }
        let mut rules = self.rules.iter();
        let Some(at) = rules.rposition(|rule| rule.text == text) else {
            return true;
        };
        if self.rules[at].place == place {
            return false;
        }
        let earlier = self.rules.remove(at);
        self.link(earlier.place, place);
        true
    }

    /// Notes what the user wants done later.
    fn asks_for_later(&mut self, place: usize, said: &[Sentence]) {
        for Sentence { text, acts, .. } in said {
            let says = !text.is_ascii() || words(text).len() >= LEAST;
            let asks = text.ends_with(['?', '？', ':', '：']);
            if acts.has(Act::Later) && says && !asks {
                let text = one_line(text, LONGEST);
                self.add_step(Noted { place, text }, false, false);
            }
        }
    }

    /// A figure of the user, be it in a rule, takes back what was said of the same thing.
    fn user_gives(&mut self, newer: &FigureNote) {
        let (place, text) = (newer.noted.place, &newer.noted.text);
        let change = replaces_earlier(text);
        self.retract_value(newer, change);
        let corrected = corrects_earlier(text)
            .then(|| self.corrected(newer))
            .flatten();
        let old = |earlier: &FigureNote| {
            may_replace(newer, change, earlier) || corrected.as_ref() == Some(&earlier.noted.text)
        };
        let mut gone = Vec::new();
        self.user_figures.retain(|earlier| {
            let is_old = old(earlier);
            if is_old {
                // What is in doubt is no longer told, but no remark says so.
                let sure = replaces(newer, change, earlier)
                    || corrected.as_ref() == Some(&earlier.noted.text);
                let other = earlier.noted.text != *text && sure;
                let value = other.then(|| newer.quantity.value_since(&earlier.quantity));
                gone.push((earlier.noted.place, value));
            }
            !is_old
        });
        for (earlier, value) in gone.into_iter().filter(|(earlier, _)| *earlier != place) {
            self.link(earlier, place);
            let spoken = &mut self.spoken;
            if let Some(value) = value
                && let Ok(at) = spoken.binary_search_by_key(&earlier, |spoken| spoken.place)
            {
                spoken[at].changed = Some(Change { place, value });
            }
        }
        let answered = &mut self.answered_figures;
        retract(&mut self.dependencies, place, answered, old);
        let old = |earlier: &Decision| {
            let known = earlier.quantity.as_ref();
            earlier.noted.place != place
                && known.is_some_and(|known| newer.quantity.may_replace(known, change))
        };
        let dependencies = &mut self.dependencies;
        retract(dependencies, place, &mut self.decisions, old);
        for rule in self.rules.iter_mut().rev().take(FIGURES) {
            if let Some(known) = &rule.quantity
                && rule.changed.is_none()
                && rule.place != place
                && rule.text != *text
                && newer.quantity.replaces(known, change)
            {
                let value = newer.quantity.value_since(known);
                rule.changed = Some(Change { place, value });
            }
        }
    }

    /// Forgets the choices of the answer before, where the user speaks against something, in few words or naming it, or says
    /// what shall be in its place.
    fn objected(&mut self, place: usize, said: &[Sentence]) {
        let Some(answer) = self.last_words else {
            return;
        };
        let said = said.iter().take(ANSWERING);
        let said = said.filter(|sentence| sentence.text.len() <= LONGEST);
        let against = said.filter_map(|Sentence { text, acts, .. }| {
            let refuses = acts.may(Act::Refusal);
            let other = acts.may(Act::Change) || acts.has_any(&[Act::Choice, Act::Rule]);
            // "take that out again, the file lives on NFS"
            let clause = text.split([',', ':', ';', '，', '：']).next();
            let brief = refuses && clause.is_some_and(|clause| words(clause).len() <= BRIEF);
            (refuses || other).then(|| (brief, Objects::of(text)))
        });
        let against: Vec<(bool, Objects)> = against.collect();
        if against.is_empty() {
            return;
        }
        self.link(place, answer);
        let old = |earlier: &Decision| {
            let known = Objects::of(&earlier.noted.text);
            let meant = |(brief, named): &(bool, Objects)| *brief || known.touches(named);
            earlier.noted.place == answer && !earlier.rejects && against.iter().any(meant)
        };
        retract(&mut self.dependencies, place, &mut self.decisions, old);
    }

    /// Returns the figure said last that a correction without words of its own is about.
    fn corrected(&self, newer: &FigureNote) -> Option<String> {
        let figures = self.user_figures.iter().chain(&self.answered_figures);
        let corrected = figures.filter(|earlier| {
            earlier.noted.place < newer.noted.place && newer.quantity.corrects(&earlier.quantity)
        });
        let last = corrected.max_by_key(|earlier| earlier.noted.place)?;
        Some(last.noted.text.clone())
    }

    /// Forgets the choices that the user changes: those on the same matter.
    fn changed_choices(&mut self, place: usize, said: &[Sentence]) {
        for sentence in said.iter().take(REPORTED) {
            let text = sentence.text.as_str();
            if text.len() > LONGEST || !sentence.acts.may(Act::Change) {
                continue;
            }
            let matter = subjects(text);
            let old = |earlier: &Decision| {
                let shared = matter.intersection(&earlier.chosen).count();
                earlier.noted.place != place
                    && !earlier.rejects
                    && shared > 0
                    && shared * 3 >= matter.len().min(earlier.chosen.len())
            };
            retract(&mut self.dependencies, place, &mut self.decisions, old);
        }
    }

    /// Forgets the choices that the user turns down: those that are named, and at a plain refusal those of the answer
    /// before it.
    fn turned_down(&mut self, place: usize, said: &[Sentence]) {
        let mut against = Vec::new();
        for sentence in said.iter().take(REPORTED) {
            against.extend(refusals::turned_down(&sentence.text));
        }
        against.truncate(REPORTED);
        let refused = refusals::refuses(said).then_some(self.last_words).flatten();
        if let Some(refused) = refused {
            // Without it, the refusal would be one of what was said before.
            self.link(place, refused);
        }
        if against.is_empty() && refused.is_none() {
            return;
        }
        self.retract_answers(place, &against, refused);
        let old = |earlier: &Decision| {
            !earlier.rejects
                && (refused == Some(earlier.noted.place)
                    || refusals::is_meant(&against, &earlier.chosen))
        };
        retract(&mut self.dependencies, place, &mut self.decisions, old);
    }

    fn steps_are_answered(&mut self, place: usize) {
        self.passing_steps.clear();
        let asks = |step: &Step| step.asks;
        retract(&mut self.dependencies, place, &mut self.steps, asks);
    }
}
