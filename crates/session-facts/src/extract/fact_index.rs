//! What the ledger keeps of a scan: the scanner's judgements, each with the messages that it rests on.
//!
//! What is said later takes back what was said before: a figure its earlier value, a rejection the choice, a report
//! the step that was to be done. A message whose facts were all taken back rests on nothing, but one that said several
//! things comes with what took some of them back (`dependencies`), so that reading only what an index rests on gives
//! the same index again. That holds as long as no list reaches its bound.

use std::collections::{BTreeMap, BTreeSet};

use super::causes::Cause;
use super::choices;
use super::figures::{answered_figures, has_number, plain_numbers, replaces_earlier, subjects};
use super::names::names_something;
use super::notes::{AnswerNote, Change, FailureNote, FileNote, Noted, RuleNote, Spoken};
use super::objects::Objects;
use super::quantity::Quantity;
use super::refusals;
use super::speech;
use super::steps::Step;
use super::text::{Sentence, one_line};

/// How many decisions and figures of either side are remembered.
pub(super) const DECISIONS: usize = 256;
pub(super) const FIGURES: usize = 256;
const ANSWERED_FIGURES: usize = 64;
/// The longest decision, in characters.
const DECISION: usize = 400;
/// What stands before an approach that was given up.
pub const REJECTED: &str = "Rejected: ";
/// How many sentences of one answer are compared with the steps.
pub(super) const REPORTED: usize = 200;
/// How many figures of one answer count.
const FIGURES_OF_ANSWER: usize = 4;

/// What messages say that a ledger keeps, and which messages that takes.
#[derive(Debug, Default)]
pub struct FactIndex {
    /// Messages of the user, oldest first; those without words are left out.
    pub spoken: Vec<Spoken>,
    /// Rules of the user, oldest first.
    pub rules: Vec<RuleNote>,
    /// Files that were changed, oldest change first.
    pub files: Vec<FileNote>,
    /// Commands that failed, oldest first.
    pub failures: Vec<FailureNote>,
    /// Open todos, what is worked on first.
    pub todos: Vec<Noted>,
    /// The calls that made up the todo list.
    pub todo_calls: Vec<usize>,
    /// Commits, finished todos and ticked boxes, oldest first.
    pub done: Vec<Noted>,
    /// The newest run of each command that checks the work, where it passed, oldest first.
    pub checks: Vec<Noted>,
    /// Summaries of branches that were left.
    pub branches: Vec<Noted>,
    /// The first result that is marked as a failure: it shows that the others did not fail.
    pub marks: Option<usize>,
    /// The newest answer with words.
    pub last_words: Option<usize>,
    /// What the newest answer asks the user at its end, and which message it is.
    pub(super) question: Option<(usize, String)>,
    /// What the newest answer does or proposes, and which message it is.
    pub(super) proposal: Option<(usize, String)>,
    /// For a message, others without which it would be misread.
    pub dependencies: BTreeMap<usize, BTreeSet<usize>>,
    pub(super) answers: Vec<AnswerNote>,
    pub(super) causes: Vec<Cause>,
    /// What was found out last and led to no change yet.
    pub(super) finding: Option<Noted>,
    /// How many requests there were.
    pub(super) requests: usize,
    pub(super) decisions: Vec<Decision>,
    pub(super) user_figures: Vec<FigureNote>,
    pub(super) answered_figures: Vec<FigureNote>,
    pub(super) steps: Vec<Step>,
    pub(super) passing_steps: Vec<Noted>,
    pub(super) known_rules: BTreeSet<String>,
}

/// A choice, or a way that was given up.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) noted: Noted,
    pub(super) chosen: BTreeSet<String>,
    pub(super) rejects: bool,
    /// The figure in it.
    pub(super) quantity: Option<Quantity>,
}

impl Decision {
    pub(super) fn new(noted: Noted, chosen: BTreeSet<String>, rejects: bool) -> Self {
        let quantity = has_number(&noted.text).then(|| Quantity::of(&noted.text));
        Self {
            noted,
            chosen,
            rejects,
            quantity,
        }
    }
}

/// A sentence with a figure.
#[derive(Debug)]
pub(super) struct FigureNote {
    pub(super) noted: Noted,
    pub(super) quantity: Quantity,
}

impl FigureNote {
    pub(super) fn new(place: usize, text: String) -> Self {
        let quantity = Quantity::of(&text);
        let noted = Noted { place, text };
        Self { noted, quantity }
    }
}

impl FactIndex {
    /// Returns the decisions, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Noted> {
        self.decisions.iter().map(|decision| &decision.noted)
    }

    /// Returns the figures that the user gave, oldest first.
    pub fn user_figures(&self) -> impl DoubleEndedIterator<Item = &Noted> {
        self.user_figures.iter().map(|figure| &figure.noted)
    }

    /// Returns the figures that answers gave, oldest first.
    pub fn answered_figures(&self) -> impl DoubleEndedIterator<Item = &Noted> {
        self.answered_figures.iter().map(|figure| &figure.noted)
    }

    /// Returns the messages with a figure that was changed, each with the last of the changes that followed each other.
    pub fn changed(&self) -> BTreeMap<usize, &Change> {
        let mut last: BTreeMap<usize, &Change> = BTreeMap::new();
        for spoken in self.spoken.iter().rev() {
            if let Some(change) = &spoken.changed {
                let later = last.get(&change.place).copied();
                last.insert(spoken.place, later.unwrap_or(change));
            }
        }
        last
    }

    /// Notes what an answer says; `ends` when it calls nothing and was not broken off.
    pub(super) fn assistant(&mut self, place: usize, said: &[Sentence], ends: bool) {
        self.last_words = Some(place);
        self.question = speech::question(said).map(|asked| (place, asked));
        self.proposal = speech::proposal(said).map(|proposal| (place, proposal));
        self.answer_reports(place, said);
        self.note_decisions(place, said, ends);
        self.note_steps(place, said, ends);
        if !ends {
            self.may_be_a_cause(place, said);
            return;
        }
        self.retract_resolved(place, said);
        self.note_answer(place, said);
        for sentence in plain_numbers(said) {
            self.answer_gives(&FigureNote::new(place, sentence.text.clone()));
        }
        for figure in answered_figures(said).take(FIGURES_OF_ANSWER) {
            let newer = FigureNote::new(place, figure);
            self.answer_gives(&newer);
            push_newest(&mut self.answered_figures, newer, ANSWERED_FIGURES);
        }
    }

    /// A value that an answer gives takes back what answers said of the same thing.
    fn answer_gives(&mut self, newer: &FigureNote) {
        let (place, change) = (newer.noted.place, replaces_earlier(&newer.noted.text));
        self.retract_value(newer, change);
        let old = |earlier: &FigureNote| may_replace(newer, change, earlier);
        let dependencies = &mut self.dependencies;
        retract(dependencies, place, &mut self.answered_figures, old);
    }

    /// Notes that reading `place` needs `other`.
    pub(super) fn link(&mut self, place: usize, other: usize) {
        link(&mut self.dependencies, place, other);
    }

    /// Notes what is chosen, and where it `refuses` what is given up: of what is said between calls that is only what was tried.
    pub(super) fn note_decisions(&mut self, place: usize, said: &[Sentence], refuses: bool) {
        let choices = choices::choices(said).into_iter();
        for choice in choices.filter(|choice| refuses || !choice.rejects) {
            let rejects = choice.rejects;
            let chosen = subjects(choice.choice);
            let against = match rejects {
                true => vec![chosen.clone()],
                false => refusals::turned_down(&choice.sentence),
            };
            if rejects {
                self.retract_answers(place, &against, None);
            }
            let text = match rejects {
                true => format!("{REJECTED}{}", self.rejection(place, &choice.sentence)),
                false => one_line(&choice.sentence, DECISION),
            };
            let old = |earlier: &Decision| {
                earlier.noted.text == text
                    || (!earlier.rejects
                        && (refusals::is_meant(&against, &earlier.chosen)
                            || (choice.changes && same_matter(&chosen, &earlier.chosen))))
            };
            retract(&mut self.dependencies, place, &mut self.decisions, old);
            let noted = Noted { place, text };
            let decision = Decision::new(noted, chosen, rejects);
            push_newest(&mut self.decisions, decision, DECISIONS);
        }
    }
}

impl FactIndex {
    /// Returns a refusal, behind what it refuses where its own words do not name that.
    fn rejection(&mut self, place: usize, sentence: &str) -> String {
        let proposal = self.proposal.as_ref().filter(|(at, _)| *at < place);
        let proposal = proposal.filter(|(_, proposal)| {
            let named = Objects::of(sentence);
            !(names_something(sentence) || named.touches(&Objects::of(proposal)))
        });
        match proposal.cloned() {
            Some((answer, proposal)) => {
                self.link(place, answer);
                let proposal = proposal.trim_end_matches(['.', ':', '。', '：']);
                one_line(&format!("{proposal} – {sentence}"), DECISION)
            }
            None => one_line(sentence, DECISION),
        }
    }
}

/// Returns whether a choice that changes something is about what an earlier one is about.
fn same_matter(newer: &BTreeSet<String>, earlier: &BTreeSet<String>) -> bool {
    let shared = newer.intersection(earlier).count();
    shared > 0 && shared * 2 >= newer.len().min(earlier.len())
}

/// Returns whether a figure takes the place of an earlier one. What one message says side by side holds side by side,
/// unless it speaks of a change.
pub(super) fn replaces(newer: &FigureNote, change: bool, earlier: &FigureNote) -> bool {
    earlier.noted.text == newer.noted.text
        || ((change || earlier.noted.place != newer.noted.place)
            && newer.quantity.replaces(&earlier.quantity, change))
}

/// Returns whether a figure may take the place of an earlier one, so that it is better not shown as what holds.
pub(super) fn may_replace(newer: &FigureNote, change: bool, earlier: &FigureNote) -> bool {
    replaces(newer, change, earlier)
        || (earlier.noted.place != newer.noted.place
            && newer.quantity.may_replace(&earlier.quantity, change))
}

pub(super) fn link(
    dependencies: &mut BTreeMap<usize, BTreeSet<usize>>,
    place: usize,
    other: usize,
) {
    if place != other {
        dependencies.entry(place).or_default().insert(other);
    }
}

/// What a message said.
pub(super) trait OfMessage {
    /// Returns which message it is.
    fn place(&self) -> usize;
}

impl OfMessage for Decision {
    fn place(&self) -> usize {
        self.noted.place
    }
}

impl OfMessage for FigureNote {
    fn place(&self) -> usize {
        self.noted.place
    }
}

/// Drops from `list` what is `old` by what `place` says, and notes so.
pub(super) fn retract<T: OfMessage>(
    dependencies: &mut BTreeMap<usize, BTreeSet<usize>>,
    place: usize,
    list: &mut Vec<T>,
    old: impl Fn(&T) -> bool,
) {
    list.retain(|item| {
        let gone = old(item);
        if gone {
            link(dependencies, item.place(), place);
        }
        !gone
    });
}

/// Adds an item to a list of at most so many. A list is held to its bound with every item: one message may say
/// thousands of things, and each is compared with the whole list.
pub(super) fn push_newest<T>(list: &mut Vec<T>, item: T, most: usize) {
    list.push(item);
    keep_newest(list, most);
}

pub(super) fn keep_newest<T>(list: &mut Vec<T>, most: usize) {
    let excess = list.len().saturating_sub(most);
    list.drain(..excess);
}
