//! One file searched for lines, block by block.

use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use llm_providers::Redactor;

use crate::context::ToolLimits;
use crate::file::CommitPoint;
use crate::text::without_controls;

/// The longest line that is searched, in bytes.
const LONGEST_LINE: usize = 1024 * 1024;

/// The longest part of a line that is shown, in characters.
const SHOWN_CHARS: usize = 500;

/// Searches files for one pattern.
pub(super) struct Search<'a> {
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    redactor: &'a Redactor,
    width: usize,
    bytes: usize,
    lines: usize,
}

/// A line that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// One that matches.
    Match(u64, String),
    /// A line of context.
    Context(u64, String),
    /// Stands for lines between two that are shown.
    Gap,
}

impl Line {
    /// Returns how it is shown, of a file.
    pub(super) fn shown(&self, path: &str) -> String {
        match self {
            Self::Match(number, text) => format!("{path}:{number}: {text}"),
            Self::Context(number, text) => format!("{path}-{number}- {text}"),
            Self::Gap => "--".to_owned(),
        }
    }

    /// Returns true if it is one that matches.
    pub(super) const fn is_match(&self) -> bool {
        match self {
            Self::Match(..) => true,
            Self::Context(..) | Self::Gap => false,
        }
    }
}

/// The matches in a file.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) lines: Vec<Line>,
    /// There are more lines that match.
    pub(super) more: bool,
    /// The file is no text; what was found in it does not count.
    pub(super) binary: bool,
}

impl<'a> Search<'a> {
    /// Returns a search that shows `context` lines around each match.
    pub(super) fn new(
        matcher: &'a RegexMatcher,
        context: usize,
        limits: &ToolLimits,
        redactor: &'a Redactor,
    ) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LONGEST_LINE))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Self {
            matcher,
            searcher,
            redactor,
            width: limits.line_chars.clamp(1, SHOWN_CHARS),
            bytes: limits.output_bytes,
            lines: limits.output_lines,
        }
    }

    /// Returns the first `room` lines that match. A cancellation is an error.
    pub(super) fn run(
        &mut self,
        file: impl Read,
        room: usize,
        commit: &CommitPoint,
    ) -> io::Result<Hits> {
        let mut found = Finding {
            matcher: self.matcher,
            redactor: self.redactor,
            width: self.width,
            bytes: self.bytes,
            lines: self.lines,
            room,
            hits: Hits::default(),
        };
        let watched = Watched { file, commit };
        self.searcher
            .search_reader(self.matcher, watched, &mut found)?;
        Ok(found.hits)
    }
}

/// A file that ends in an error once the call is cancelled.
struct Watched<'a, R> {
    file: R,
    commit: &'a CommitPoint,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.commit.is_cancelled() {
            true => Err(io::Error::other("cancelled")),
            false => self.file.read(buffer),
        }
    }
}

struct Finding<'a> {
    matcher: &'a RegexMatcher,
    redactor: &'a Redactor,
    width: usize,
    /// The number of bytes that may still be shown, line ends included.
    bytes: usize,
    lines: usize,
    room: usize,
    hits: Hits,
}

impl Finding<'_> {
    fn text(&mut self, line: &[u8], from: usize) -> String {
        let text = cut(line, from, self.width, self.redactor);
        // Its newline counts too, or empty lines would cost nothing.
        self.bytes = self.bytes.saturating_sub(text.len() + 1);
        self.lines = self.lines.saturating_sub(1);
        text
    }

    fn is_full(&self) -> bool {
        self.bytes == 0 || self.lines == 0
    }
}

impl Sink for Finding<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.room == 0 || self.is_full() {
            self.hits.more = true;
            return Ok(false);
        }
        self.room -= 1;
        let place = self.matcher.find(found.bytes()).ok().flatten();
        let text = self.text(found.bytes(), place.map_or(0, |place| place.start()));
        let number = found.line_number().unwrap_or_default();
        self.hits.lines.push(Line::Match(number, text));
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        // The lines before a match that is not shown are not shown either.
        if !self.is_full() {
            let text = self.text(found.bytes(), 0);
            let number = found.line_number().unwrap_or_default();
            self.hits.lines.push(Line::Context(number, text));
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        if !self.is_full() {
            self.lines -= 1;
            self.hits.lines.push(Line::Gap);
        }
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.hits.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Returns at most `width` characters of a line, those around the byte `from`, and no part of a key.
fn cut(line: &[u8], from: usize, width: usize, redactor: &Redactor) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let clean = |text: &str| without_controls(text).unwrap_or_else(|| text.to_owned());
    let total = text.chars().count();
    if total <= width {
        return clean(&text);
    }
    let before = &line[..from.min(line.len())];
    let before = redactor.clean_answer(&String::from_utf8_lossy(before));
    let before = before.chars().count();
    let text = redactor.clean_answer(&text);
    let total = text.chars().count();
    if total <= width {
        return clean(&text);
    }
    let first = before.saturating_sub(width / 4).min(total - width);
    let shown: String = text.chars().skip(first).take(width).collect();
    let left = |characters: usize| match characters {
        0 => String::new(),
        more => format!("[{more} more characters]"),
    };
    let parts = [left(first), clean(&shown), left(total - first - width)];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
