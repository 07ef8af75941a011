//! Needles: facts planted into sessions of agents, to see how many of them a compaction keeps.
//!
//! ```text
//! seed -> Needles: phrases with names filled in --+
//!                                                 +-- plant -> session lines, needles -> (compaction) -> score
//! example session, or transcript(seed) -----------+
//! ```
//!
//! Everything is pure and depends on the seed alone. The phrases were written from how people talk to agents, not from
//! what the extractive summarizer looks for; a kind has eight of them or more. There are two sets of them: one to work with,
//! and one of 200 of a kind that is only measured. Nothing here depends on the crates under test: a score is taken from texts.

mod blind;
mod canned;
mod draft;
mod names;
mod phrases_said;
mod phrases_tools;
mod phrases_turned;
mod plant;
mod rng;
mod score;
#[cfg(test)]
mod tests;
mod transcript;

use serde::Deserialize;

pub use blind::blind_needles;
pub use canned::{Form, canned_summary};
pub use plant::{Planted, plant};
pub use rng::Rng;
pub use score::{Seen, Verdict, is_among_rules, judge};
pub use transcript::{transcript, turns};

/// In which words facts are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phrasings {
    /// The set that rules may be made with an eye on.
    Known,
    /// The set of others, which no rule is ever made with an eye on: what it shows, users may expect.
    Blind,
}

impl Phrasings {
    /// Both sets.
    pub const ALL: [Self; 2] = [Self::Known, Self::Blind];

    /// Returns the name that tables and arguments use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Blind => "blind",
        }
    }
}

/// What a needle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedleKind {
    /// A rule of the user, to be kept byte for byte.
    Rule,
    /// A pinned message, or a pinned text of its own.
    Pin,
    /// A file that was changed.
    ModifiedFile,
    /// A command that failed and did not pass since.
    OpenError,
    /// What is to be done later.
    NextStep,
    /// A choice and its reason.
    Decision,
    /// A value with its unit, and what it is of.
    Number,
    /// A file that was only read.
    ReadFile,
    /// An open item of a todo list.
    OpenTodo,
    /// A value that another one replaced.
    Superseded,
    /// A command that failed and passed later.
    ResolvedError,
    /// A file whose change failed.
    FailedCall,
    /// A way that was proposed and turned down.
    Rejected,
    /// An item of a todo list that is done.
    FinishedTodo,
    /// What was to be done and then was; in the blind set alone.
    FinishedStep,
    /// What sounds like a rule and is none: a quote, a report, a pasted log; in the blind set alone.
    Distractor,
}

impl NeedleKind {
    /// Every kind, those that should be kept first.
    pub const ALL: [Self; 16] = [
        Self::Rule,
        Self::Pin,
        Self::ModifiedFile,
        Self::OpenError,
        Self::NextStep,
        Self::Decision,
        Self::Number,
        Self::ReadFile,
        Self::OpenTodo,
        Self::Superseded,
        Self::ResolvedError,
        Self::FailedCall,
        Self::Rejected,
        Self::FinishedTodo,
        Self::FinishedStep,
        Self::Distractor,
    ];

    /// Returns true for what should be kept, false for what must not be shown as it no longer is.
    pub const fn should_stay(self) -> bool {
        match self {
            Self::Rule
            | Self::Pin
            | Self::ModifiedFile
            | Self::OpenError
            | Self::NextStep
            | Self::Decision
            | Self::Number
            | Self::ReadFile
            | Self::OpenTodo => true,
            Self::Superseded
            | Self::ResolvedError
            | Self::FailedCall
            | Self::Rejected
            | Self::FinishedTodo
            | Self::FinishedStep
            | Self::Distractor => false,
        }
    }

    /// Returns the name that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rule => "user rules",
            Self::Pin => "pins",
            Self::ModifiedFile => "modified files",
            Self::OpenError => "unresolved errors",
            Self::NextStep => "next steps",
            Self::Decision => "decisions with reasons",
            Self::Number => "numbers with units",
            Self::ReadFile => "read files",
            Self::OpenTodo => "open todos",
            Self::Superseded => "superseded values shown as current",
            Self::ResolvedError => "resolved errors shown as open",
            Self::FailedCall => "failed calls shown as modified files",
            Self::Rejected => "rejected approaches shown as chosen",
            Self::FinishedTodo => "finished todos shown as open",
            Self::FinishedStep => "finished steps shown as next",
            Self::Distractor => "other texts shown as rules",
        }
    }
}

/// A fact that was planted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    /// What it is.
    pub kind: NeedleKind,
    /// The entry that says it (first).
    pub entry_id: String,
    /// The entry with which it is whole: where a value is replaced, or a command passes.
    pub last_entry_id: String,
    /// Where the first of them stands, in percent of the session's bytes.
    pub depth: u8,
    /// The words in which it was said.
    pub said: String,
    /// What makes it up: kept when one line has all of it. Of a negative kind the first is what must not be shown.
    pub literals: Vec<String>,
    /// What holds instead: the newer value.
    pub instead: Option<String>,
}
