//! All text that a model can read in some messages, indexed for searches.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use session_model::json::RawJson;
use session_model::{AgentMessage, Block, Content, EntryId, ImageBlock};

use crate::files::with_whole_paths;

/// The length of the pieces by which most of what is missing is recognized without a search, in bytes.
const GRAM: usize = 4;
/// Texts below this length are looked for as whole lines, in characters.
const SHORT: usize = 16;
/// The limit of searched text in all, in bytes. Beyond that, a text counts as not searched.
const SEARCHED: u64 = 128 * 1024 * 1024;
/// The shortest beginning of an id that names an entry, in bytes.
const ID: usize = 8;

/// Says if an item can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// It can.
    Seen,
    /// It cannot.
    Unseen,
    /// Not known: the limit of searched text was reached before.
    NotSearched,
}

/// The text that can be read.
#[derive(Debug)]
pub(crate) struct Readable {
    text: String,
    /// The summaries in it: what names entries.
    summaries: String,
    /// The lines that are too short to be looked for within others.
    short_lines: BTreeSet<String>,
    images: BTreeSet<Arc<str>>,
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
        Self {
            text: String::new(),
            summaries: String::new(),
            short_lines: BTreeSet::new(),
            images: BTreeSet::new(),
            grams: Vec::new(),
            left: Cell::new(bytes.min(SEARCHED)),
        }
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::CompactionSummary(summary) | AgentMessage::BranchSummary(summary) => {
                self.add_summary(&summary.summary);
            }
            _ => {
                each_text(message, &mut |text| self.add_text(text));
                message
                    .content()
                    .into_iter()
                    .for_each(|content| self.add_images(content));
            }
        }
    }

    fn add_images(&mut self, content: &Content) {
        self.images
            .extend(images_of(content).map(|image| image.data.clone()));
    }

    /// Adds the content of a message.
    pub(crate) fn add_content(&mut self, content: &Content) {
        each_text_of(content, &mut |text| self.add_text(text));
        self.add_images(content);
    }

    /// Adds a summary: its quotes are read without the marks in front of their lines.
    pub(crate) fn add_summary(&mut self, summary: &str) {
        self.summaries.push_str(summary);
        self.summaries.push('\n');
        for line in with_whole_paths(summary).lines() {
            let line = folded(line.strip_prefix("> ").unwrap_or(line));
            self.text.push_str(&line);
            self.text.push(' ');
            self.add_line(line);
        }
        self.text.push('\n');
    }

    fn add_text(&mut self, text: &str) {
        self.text.push_str(&folded(text));
        self.text.push('\n');
        text.lines().for_each(|line| {
            if line.len() < 4 * SHORT {
                self.add_line(folded(line));
            }
        });
    }

    fn add_line(&mut self, line: String) {
        if is_short(&line) {
            self.short_lines.insert(line);
        }
    }

    /// Returns whether each line of a short text is a line of its own: in longer ones `ok` is part of many a word.
    /// `None` for a text that is not short.
    pub(super) fn has_short(&self, text: &str) -> Option<bool> {
        if text.len() > 4 * SHORT || !is_short(&folded(text)) {
            return None;
        }
        let lines = text.lines().map(folded).filter(|line| !line.is_empty());
        Some(
            lines
                .into_iter()
                .all(|line| self.short_lines.contains(&line)),
        )
    }

    /// Returns whether an image can be seen.
    pub(super) fn has_image(&self, image: &ImageBlock) -> bool {
        self.images.contains(&image.data)
    }

    /// Makes what was added ready to be looked up.
    pub(crate) fn finish(&mut self) {
        let words = (self.text.len() / 8).next_power_of_two();
        let mut grams = vec![0; words];
        for gram in self.text.as_bytes().windows(GRAM) {
            let (word, bit) = place_of(gram, words);
            grams[word] |= bit;
        }
        self.grams = grams;
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
        match self.left.get().checked_sub(self.text.len() as u64) {
            Some(left) => {
                self.left.set(left);
                if self.text.contains(folded) {
                    Visibility::Seen
                } else {
                    Visibility::Unseen
                }
            }
            None => Visibility::NotSearched,
        }
    }

    /// Returns true if a summary names an entry, by its id or a beginning of it in brackets.
    pub(crate) fn names(&self, id: &EntryId) -> bool {
        let start = &id[..id.floor_char_boundary(ID)];
        let mut places = self.summaries.match_indices(start);
        let named = places.any(|(at, _)| {
            let rest = &self.summaries[at..];
            let end = rest.find([']', ',', ' ', '\n']).unwrap_or(rest.len());
            id.starts_with(&rest[..end])
        });
        named && start.len() > 1
    }

    /// Returns how many bytes may still be searched.
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }
}

fn is_short(folded: &str) -> bool {
    !folded.is_empty() && folded.chars().count() < SHORT
}

/// Returns the images of a content.
pub(super) fn images_of(content: &Content) -> impl Iterator<Item = &ImageBlock> {
    content.blocks().iter().filter_map(|block| match block {
        Block::Image(image) => Some(image),
        _ => None,
    })
}

/// Returns a text on one line, white space folded.
pub(super) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
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

/// Returns the word and the bit for a piece of text, among a power of two of words.
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
