//! Everything that a model can read in some messages, made for looking things up.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::Value;
use session_model::json::RawJson;
use session_model::{AgentMessage, Content};

use crate::files::with_whole_paths;

use super::literals::{Literal, LiteralKind, add_prose, folded};

/// The length of the pieces by which most of what is missing is recognized without a search, in bytes.
const GRAM: usize = 4;
/// How much text is searched in all, in bytes. Beyond that, a text counts as not searched.
const SEARCHED: u64 = 128 * 1024 * 1024;

/// Where something is that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// It can be read.
    Seen,
    /// It cannot.
    Unseen,
    /// It may be there: so much had been searched before that it was not looked for.
    NotSearched,
}

/// What can be read.
#[derive(Debug)]
pub(crate) struct Readable {
    literals: BTreeSet<Literal>,
    text: String,
    grams: Vec<u64>,
    left: Cell<u64>,
}

impl Default for Readable {
    fn default() -> Self {
        Self::searching(SEARCHED)
    }
}

impl Readable {
    /// Returns nothing yet; at most so many bytes will be searched.
    pub(super) fn searching(bytes: u64) -> Self {
        let bytes = bytes.min(SEARCHED);
        Self {
            literals: BTreeSet::new(),
            text: String::new(),
            grams: Vec::new(),
            left: Cell::new(bytes),
        }
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, message: &AgentMessage) {
        each_text(message, &mut |text| self.add_text(text));
    }

    /// Adds the content of a message.
    pub(crate) fn add_content(&mut self, content: &Content) {
        each_text_of(content, &mut |text| self.add_text(text));
    }

    /// Adds a text.
    pub(crate) fn add_text(&mut self, text: &str) {
        let text = with_whole_paths(text);
        add_prose(&text, &mut self.literals);
        self.text.push_str(&folded(&text));
        self.text.push('\n');
    }

    /// Makes what was added ready to be looked up: a file is also known by the end of its path.
    pub(crate) fn finish(&mut self) {
        let mut ends = BTreeSet::new();
        for literal in &self.literals {
            if literal.kind == LiteralKind::Path {
                let places = literal.text.match_indices('/').map(|(at, _)| at + 1);
                ends.extend(places.map(|at| literal.text[at..].to_owned()));
            }
        }
        let kind = LiteralKind::Path;
        self.literals
            .extend(ends.into_iter().map(|text| Literal { kind, text }));
        let words = (self.text.len() / 8).next_power_of_two();
        let mut grams = vec![0; words];
        for gram in self.text.as_bytes().windows(GRAM) {
            let (word, bit) = place_of(gram, words);
            grams[word] |= bit;
        }
        self.grams = grams;
    }

    /// Returns whether the literal can be read.
    pub(crate) fn has(&self, literal: &Literal) -> Visibility {
        if self.literals.contains(literal) || self.has_end_of(literal) {
            return Visibility::Seen;
        }
        match literal.kind {
            LiteralKind::Error | LiteralKind::Command => self.has_text(&literal.text),
            // An odd path is no literal of prose.
            LiteralKind::Path | LiteralKind::Url => self.has_text(&literal.text),
            LiteralKind::Number | LiteralKind::Identifier => Visibility::Unseen,
        }
    }

    /// Returns whether a path can be read as it is seen from a folder above the file: by two names at least.
    fn has_end_of(&self, literal: &Literal) -> bool {
        let is_path = literal.kind == LiteralKind::Path && literal.text.starts_with('/');
        let ends = literal.text.match_indices('/').map(|(at, _)| at + 1);
        let mut ends = ends
            .map(|at| &literal.text[at..])
            .filter(|end| end.contains('/'));
        is_path
            && ends.any(|end| {
                self.literals.contains(&Literal {
                    kind: LiteralKind::Path,
                    text: end.to_owned(),
                })
            })
    }

    /// Returns whether a folded text can be read verbatim.
    pub(crate) fn has_text(&self, folded: &str) -> Visibility {
        let words = self.grams.len();
        let may_be = folded.as_bytes().windows(GRAM).all(|gram| {
            let (word, bit) = place_of(gram, words);
            self.grams.get(word).is_some_and(|found| found & bit != 0)
        });
        if !may_be {
            return Visibility::Unseen;
        }
        let cost = self.text.len() as u64;
        match self.left.get().checked_sub(cost) {
            Some(left) => {
                self.left.set(left);
                match self.text.contains(folded) {
                    true => Visibility::Seen,
                    false => Visibility::Unseen,
                }
            }
            None => Visibility::NotSearched,
        }
    }

    /// Returns how many bytes may still be searched.
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }
}

/// Gives every text of a message, arguments of calls included.
pub(super) fn each_text(message: &AgentMessage, give: &mut dyn FnMut(&str)) {
    match message {
        AgentMessage::CompactionSummary(summary) | AgentMessage::BranchSummary(summary) => {
            give(&summary.summary);
        }
        AgentMessage::BashExecution(run) => {
            give(&run.command);
            give(&run.output);
        }
        AgentMessage::User(_)
        | AgentMessage::Developer(_)
        | AgentMessage::Assistant(_)
        | AgentMessage::ToolResult(_)
        | AgentMessage::Custom(_)
        | AgentMessage::System(_)
        | AgentMessage::Other { .. } => {
            if let Some(content) = message.content() {
                each_text_of(content, give);
            }
        }
    }
}

fn each_text_of(content: &Content, give: &mut dyn FnMut(&str)) {
    for text in content.texts() {
        give(text);
    }
    for call in content.tool_calls() {
        let arguments = call.arguments.as_ref().map(RawJson::to_value);
        each_string(&arguments.unwrap_or_default(), give);
    }
}

fn each_string(value: &Value, give: &mut dyn FnMut(&str)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => give(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, give)),
        Value::Object(members) => members.values().for_each(|item| each_string(item, give)),
    }
}

/// Returns the word and the bit that stand for a piece of text, among a power of two of words.
fn place_of(gram: &[u8], words: usize) -> (usize, u64) {
    let value = gram
        .iter()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let hash = value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
    let bit = 1 << (hash & 63);
    let mask = words.saturating_sub(1) as u64;
    let word = usize::try_from(hash >> 6 & mask).unwrap_or_default();
    (word, bit)
}
