//! Which entries can match at all, found in the bytes of the session without reading an entry.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use memchr::memmem;
use session_model::{EntryIndex, SessionTree, Span};

use crate::entry_text::FULL_OUTPUT;
use crate::terms::Terms;
use session_model::MARKER_BYTES;

/// How many bytes of a session are looked at in one piece, unless one line is longer.
const BLOCK: u64 = 256 * 1024;

/// What the bytes of an entry's line hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// A term may be in it.
    pub term: bool,
    /// A marker may be in it that excludes the message or the session.
    pub marker: bool,
}

impl Signs {
    /// Returns what one of two pieces holds.
    fn or(self, other: Self) -> Self {
        Self {
            term: self.term || other.term,
            marker: self.marker || other.marker,
        }
    }
}

/// What is told of each entry, and whether there is more to tell; see [`Prefilter::each`].
type Found<'a> = dyn FnMut(EntryIndex, Signs, Option<&[u8]>) -> bool + 'a;

/// Bytes that several lines stand in, and where each does.
type Lines<'a> = (Cow<'a, [u8]>, Vec<Range<usize>>);

/// What is said of lines whose bytes cannot be had, so that each is read.
const EVERYTHING: Signs = Signs {
    term: true,
    marker: true,
};

/// Finds the lines that may hold a term.
#[derive(Debug)]
pub(super) struct Prefilter {
    /// A run of ASCII characters of each term; writers of JSON escape none of these, but see [`ESCAPE`].
    /// `None` where every line may match.
    runs: Option<AhoCorasick>,
    marker: memmem::Finder<'static>,
    /// Outputs that are kept elsewhere are searched, too.
    output: Option<memmem::Finder<'static>>,
    escape: memmem::Finder<'static>,
}

/// How an escape of an ASCII character begins. Few need it for printable ones; a line that has one is read.
const ESCAPE: &[u8] = b"\\u00";

impl Prefilter {
    /// Returns the filter for the terms of a query; without terms every line may match. With outputs, so may every line
    /// that names a file of one.
    pub fn of(terms: &Terms, with_outputs: bool) -> Self {
        let runs: Option<Vec<&str>> = match terms.terms.is_empty() {
            true => None,
            false => terms
                .terms
                .iter()
                .map(|term| longest_run(term.least()))
                .collect(),
        };
        let built = runs.and_then(|runs| {
            let mut builder = AhoCorasick::builder();
            builder.ascii_case_insensitive(true).build(runs).ok()
        });
        Self {
            runs: built,
            marker: memmem::Finder::new(MARKER_BYTES),
            output: with_outputs.then(|| memmem::Finder::new(FULL_OUTPUT)),
            escape: memmem::Finder::new(ESCAPE),
        }
    }

    /// Calls `found` for every entry of `rows` with what its line holds and the line, where it is at hand, in their order, until
    /// it returns false. Returns false then.
    pub fn each(&self, tree: &SessionTree, rows: &[EntryIndex], found: &mut Found<'_>) -> bool {
        let mut from = 0;
        while from < rows.len() {
            let start = tree.span(rows[from]).offset;
            let fits = |row: &EntryIndex| {
                let span = tree.span(*row);
                span.offset >= start && span.end() - start <= BLOCK
            };
            let more = rows[from..].iter().take_while(|row| fits(row)).count();
            let block = &rows[from..from + more.max(1)];
            from += block.len();
            let Some((bytes, lines)) = stored(tree, block) else {
                let mut all = block.iter();
                if !all.all(|index| found(*index, EVERYTHING, None)) {
                    return false;
                }
                continue;
            };
            let all = tree.left_out(&bytes, &lines, &mut |number, more| {
                let line = &bytes[lines[number].clone()];
                let (signs, whole) = match more {
                    None => (self.signs(line), Some(line)),
                    Some(Ok(more)) => (self.signs(line).or(self.signs(more)), None),
                    Some(Err(_)) => (EVERYTHING, None),
                };
                found(block[number], signs, whole)
            });
            if !all {
                return false;
            }
        }
        true
    }

    /// Returns what the bytes of a line hold.
    fn signs(&self, line: &[u8]) -> Signs {
        let has_output = || {
            let output = self.output.as_ref();
            output.is_some_and(|output| output.find(line).is_some())
        };
        Signs {
            term: self
                .runs
                .as_ref()
                .is_none_or(|runs| runs.is_match(line) || self.escapes(line) || has_output()),
            marker: self.marker.find(line).is_some(),
        }
    }

    /// Returns whether a character is escaped that could be part of a term.
    fn escapes(&self, line: &[u8]) -> bool {
        let mut escapes = self.escape.find_iter(line);
        escapes.any(|at| {
            let next = line.get(at + ESCAPE.len());
            next.is_some_and(|digit| (b'2'..=b'7').contains(digit))
        })
    }
}

/// Returns the bytes in which the lines of `block` are stored, and where each stands in them; `None` where they cannot be
/// had together.
fn stored<'t>(tree: &'t SessionTree, block: &[EntryIndex]) -> Option<Lines<'t>> {
    let spans: Vec<Span> = block.iter().map(|row| tree.span(*row)).collect();
    let start = spans.first()?.offset;
    let end = spans.iter().map(|span| span.end()).max()?;
    let len = u32::try_from(end - start).ok()?;
    if !spans.is_sorted_by_key(|span| span.offset) {
        return None;
    }
    let bytes = tree.source_bytes(Span { offset: start, len }).ok()??;
    let place = |span: &Span| (span.offset - start) as usize..(span.end() - start) as usize;
    Some((bytes, spans.iter().map(place).collect()))
}

/// Returns the longest run of printable ASCII characters that need no escape; `None` where there is none.
fn longest_run(text: &str) -> Option<&str> {
    let is_plain = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '/');
    let runs = text.split(|c| !is_plain(c));
    runs.max_by_key(|run| run.len())
        .filter(|run| !run.is_empty())
}
