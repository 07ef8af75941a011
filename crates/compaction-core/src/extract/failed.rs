//! Failures that stand until something settles them.

use std::collections::BTreeSet;

use super::command::Command;
use super::facts::Failure;
use super::figures::subjects;
use super::names::Names;

/// A command that failed, or a reported failure.
pub(super) struct Failed {
    /// How many requests there had been.
    pub(super) requests: usize,
    pub(super) command: Command,
    pub(super) failure: Failure,
    /// What the report is about, for a reported failure.
    pub(super) about: Option<About>,
    /// The messages of its call and of its result.
    pub(super) call: Option<usize>,
    pub(super) result: usize,
    /// What passed since and may have done the same, and which message ran it.
    pub(super) newer: Option<(String, usize)>,
}

/// What a sentence is about.
pub(super) struct About {
    words: BTreeSet<String>,
    names: Names,
}

impl About {
    /// Returns what a sentence is about.
    pub(super) fn of(sentence: &str) -> Self {
        let (words, names) = (subjects(sentence), Names::of(sentence));
        Self { words, names }
    }
}

impl Failed {
    /// Returns the message that it is read from first.
    pub(super) fn place(&self) -> usize {
        self.call.unwrap_or(self.result)
    }

    /// Returns whether it was reported and the message that something is fixed refers to it; `answers` when that is the
    /// answer to the report.
    pub(super) fn is_resolved(&self, resolved: &About, answers: bool) -> bool {
        let Some(known) = &self.about else {
            return false;
        };
        if known.names.differ(&resolved.names) {
            return false;
        }
        let shared = known.words.intersection(&resolved.words).count();
        answers
            || known.names.meet(&resolved.names)
            || (shared > 0 && shared * 2 >= known.words.len().min(resolved.words.len()))
    }
}
