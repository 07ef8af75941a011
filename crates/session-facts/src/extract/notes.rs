//! The facts of a [`FactIndex`](super::FactIndex), each with the message that it comes from.

use std::collections::BTreeSet;

use super::names::Names;
use super::quantity::Quantity;

/// A message of the user.
#[derive(Debug, Clone)]
pub struct Spoken {
    /// Which message it is.
    pub place: usize,
    /// All of it.
    pub text: String,
    /// True when it only asks the agent to continue.
    pub tiny: bool,
    /// True when it may say something that outlasts the request.
    pub lasting: bool,
    /// What took the place of a figure in it.
    pub changed: Option<Change>,
    /// The question that it answers.
    pub answers: Option<String>,
}

/// A later figure of the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which message gives it.
    pub place: usize,
    /// The new value, where it is known.
    pub value: Option<String>,
}

/// A fact on one line.
#[derive(Debug, Clone)]
pub struct Noted {
    /// Which message says it.
    pub place: usize,
    /// What it says.
    pub text: String,
}

/// The answer that a turn ended with.
#[derive(Debug)]
pub(super) struct AnswerNote {
    /// Which message it is.
    pub(super) place: usize,
    /// What it tells, in its order.
    pub(super) told: Vec<Told>,
    /// True where the user refused it.
    pub(super) refused: bool,
}

/// A sentence of an answer that tells something.
#[derive(Debug)]
pub(super) struct Told {
    /// Its words, on one line.
    pub(super) text: String,
    /// The words that say what it is about.
    pub(super) about: BTreeSet<String>,
    /// The figure in it.
    pub(super) quantity: Option<Quantity>,
    /// What it names, where it tells what fails.
    pub(super) fails: Option<Names>,
}

/// A rule of the user.
#[derive(Debug, Clone)]
pub struct RuleNote {
    /// Which message states it.
    pub place: usize,
    /// Its words.
    pub text: String,
    /// What took the place of a figure in it.
    pub changed: Option<Change>,
    /// The figure in it.
    pub(super) quantity: Option<Quantity>,
}

/// A file that was changed.
#[derive(Debug, Clone)]
pub struct FileNote {
    /// The path in its shortest spelling, on one line.
    pub path: String,
    /// All its spellings and the name that it had before.
    pub names: Vec<String>,
    /// What was done, without the path.
    pub work: String,
    /// The same in a few words.
    pub brief: String,
    /// The message with the newest call.
    pub place: usize,
    /// The messages with all calls that it rests on, results aside.
    pub places: Vec<usize>,
}

/// A command that failed and was not seen to pass since.
#[derive(Debug, Clone)]
pub struct FailureNote {
    /// What failed and how, on one line.
    pub text: String,
    /// The same with less of the output, for where there is little room.
    pub brief: String,
    /// What else its output says of that, for where there is room.
    pub further: String,
    /// The message that called it, where it was a call.
    pub call: Option<usize>,
    /// The message with its output.
    pub place: usize,
}
