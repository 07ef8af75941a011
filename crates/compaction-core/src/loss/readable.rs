//! Everything that a model can read in some messages, made for looking things up.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::Value;
use session_model::json::RawJson;
use session_model::{AgentMessage, Content};

use super::literals::{Literal, LiteralKind, add_prose, folded};

/// The length of the pieces by which most of what is not there is told apart without a search, in bytes.
const GRAM: usize = 4;
/// How much text is searched in all, in bytes. Who asks for more is told that it is not there.
const SEARCHED: u64 = 128 * 1024 * 1024;

/// What can be read.
#[derive(Debug)]
pub(crate) struct Readable {
    literals: BTreeSet<Literal>,
    text: String,
    grams: Vec<u64>,
    left: Cell<u64>,
    in_part: Cell<bool>,
}

impl Default for Readable {
    fn default() -> Self {
        Self::searching(SEARCHED)
    }
}

impl Readable {
    /// Returns nothing yet; at most so many bytes will be searched.
    pub(super) fn searching(bytes: u64) -> Self {
        Self {
            literals: BTreeSet::new(),
            text: String::new(),
            grams: Vec::new(),
            left: Cell::new(bytes),
            in_part: Cell::new(false),
        }
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::CompactionSummary(summary) | AgentMessage::BranchSummary(summary) => {
                self.add_text(&summary.summary);
            }
            AgentMessage::BashExecution(run) => {
                self.add_text(&run.command);
                self.add_text(&run.output);
            }
            AgentMessage::User(_)
            | AgentMessage::Developer(_)
            | AgentMessage::Assistant(_)
            | AgentMessage::ToolResult(_)
            | AgentMessage::Custom(_)
            | AgentMessage::System(_)
            | AgentMessage::Other { .. } => {
                if let Some(content) = message.content() {
                    self.add_content(content);
                }
            }
        }
    }

    /// Adds the content of a message.
    pub(crate) fn add_content(&mut self, content: &Content) {
        for text in content.texts() {
            self.add_text(text);
        }
        for call in content.tool_calls() {
            let arguments = call.arguments.as_ref().map(RawJson::to_value);
            self.add_strings(&arguments.unwrap_or_default());
        }
    }

    /// Adds a text.
    pub(crate) fn add_text(&mut self, text: &str) {
        add_prose(text, &mut self.literals);
        self.text.push_str(&folded(text));
        self.text.push('\n');
    }

    fn add_strings(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.add_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_strings(item)),
            Value::Object(members) => members.values().for_each(|item| self.add_strings(item)),
        }
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
    pub(crate) fn has(&self, literal: &Literal) -> bool {
        self.literals.contains(literal)
            || match literal.kind {
                LiteralKind::Error | LiteralKind::Command => self.has_text(&literal.text),
                // An odd path is no literal of prose.
                LiteralKind::Path | LiteralKind::Url => self.has_text(&literal.text),
                LiteralKind::Number | LiteralKind::Identifier => false,
            }
    }

    /// Returns all of it, white space folded.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a folded text can be read word for word.
    pub(crate) fn has_text(&self, folded: &str) -> bool {
        let words = self.grams.len();
        let may_be = folded.as_bytes().windows(GRAM).all(|gram| {
            let (word, bit) = place_of(gram, words);
            self.grams.get(word).is_some_and(|found| found & bit != 0)
        });
        if !may_be {
            return false;
        }
        let cost = self.text.len() as u64;
        match self.left.get().checked_sub(cost) {
            Some(left) => {
                self.left.set(left);
                self.text.contains(folded)
            }
            None => {
                self.in_part.set(true);
                false
            }
        }
    }

    /// Returns true when more was asked than is searched, so that some of it was not looked for.
    pub(super) fn is_in_part(&self) -> bool {
        self.in_part.get()
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
