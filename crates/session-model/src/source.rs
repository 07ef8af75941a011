//! Where the bytes of a session come from: spans of lines, and the trait that resolves them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The place of one line in a session: byte offset and length, without the line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte of the line, in bytes from the start of the session.
    pub offset: u64,
    /// Length of the line in bytes, its line ending not counted.
    pub len: u32,
}

impl Span {
    /// Returns the offset just after the last byte of the line.
    pub fn end(self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// Why the bytes of a span could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The span reaches past the end of the source: the session was cut or replaced since it was scanned.
    #[error("bytes {} to {} are no longer there; the session changed while it was open", .span.offset, .span.end())]
    OutOfBounds {
        /// The span that was asked for.
        span: Span,
    },
    /// The [`ReadMeter`] stops reading.
    #[error("reading was stopped")]
    Stopped,
    /// Reading failed.
    #[error("cannot read bytes {} to {}", .span.offset, .span.end())]
    Read {
        /// The span that was asked for.
        span: Span,
        /// What the reader said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Counts what is read of a tree, to show how far long work has come, and stops it: every later read fails.
#[derive(Debug, Default)]
pub struct ReadMeter {
    read: AtomicU64,
    step: Mutex<&'static str>,
    is_stopped: AtomicBool,
}

impl ReadMeter {
    /// Returns how many entries were read; one that was read twice counts twice.
    pub fn count(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Says what is done from now on, and counts from zero.
    pub fn begin(&self, step: &'static str) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = step;
        self.read.store(0, Ordering::Relaxed);
    }

    /// Returns the step, and how far work is that reads `entries` entries once, or again and again.
    pub fn how_far(&self, entries: usize) -> String {
        let (read, all) = (self.count(), entries.max(1) as u64);
        let step = *self.step.lock().unwrap_or_else(PoisonError::into_inner);
        let percent = read % all * 100 / all;
        let read = match (read / all, percent) {
            (0, 0) if !step.is_empty() => return step.to_owned(),
            (0, _) => format!("{percent}% of {entries} entries"),
            (_, 0) => format!("all {entries} entries read"),
            (times, _) => format!("{percent}% of {entries} entries, pass {}", times + 1),
        };
        match step {
            "" => read,
            step => format!("{step}, {read}"),
        }
    }

    /// Makes every later read fail, so that work over the tree ends soon. What comes of it is of no use.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether reading was stopped.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, entries: u64) -> Result<(), SourceError> {
        self.read.fetch_add(entries, Ordering::Relaxed);
        match self.is_stopped() {
            true => Err(SourceError::Stopped),
            false => Ok(()),
        }
    }
}

/// The reads of a source that have failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFailure {
    /// How many there are.
    pub count: u64,
    /// Why the first one failed.
    pub reason: String,
}

/// Takes the number of a line and what it leaves out, if it leaves anything out; returns whether it wants the next.
pub type TakeLeftOut<'a> = dyn FnMut(usize, Option<Result<&[u8], SourceError>>) -> bool + 'a;

/// Gives the bytes of a line on demand, so that a session need not be in memory.
///
/// In memory it is a byte vector; over a file it reads blocks. The tree holds
/// heads and one of these, and asks for a body only when somebody needs it.
pub trait LineSource: Send + Sync {
    /// Returns the bytes of `span`.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the bytes cannot be read.
    fn line(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError>;

    /// Returns the bytes of `span` as they are stored, which may hold several lines. A stored line may stand for a
    /// longer one that [`line`](Self::line) gives.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the bytes cannot be read.
    fn stored(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError> {
        self.line(span)
    }

    /// Gives for each of some lines in stored bytes, in their order, bytes in which the texts stand that the line leaves
    /// out, perhaps written as JSON in another way: what a search looks at before it has the line read. Returns false
    /// once `take` does.
    fn left_out(&self, stored: &[u8], lines: &[Range<usize>], take: &mut TakeLeftOut<'_>) -> bool {
        let _ = stored;
        (0..lines.len()).all(|line| take(line, None))
    }

    /// Returns which reads have failed so far. Who reads may pass over an entry that is damaged; one that could not
    /// be read is another matter, and whoever writes a summary asks here first.
    fn failure(&self) -> Option<SourceFailure> {
        None
    }
}

impl LineSource for Vec<u8> {
    fn line(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError> {
        let range = usize::try_from(span.offset)
            .ok()
            .zip(usize::try_from(span.end()).ok());
        range
            .and_then(|(start, end)| self.get(start..end))
            .map(Cow::Borrowed)
            .ok_or(SourceError::OutOfBounds { span })
    }
}

#[cfg(test)]
mod tests {
    use crate::decode_bytes;

    #[test]
    fn a_meter_says_how_far_work_is_and_stops_it() {
        let text = test_support::session("u:1 a:1 u:1 a:1");
        let mut tree = decode_bytes(text.into_bytes()).tree;
        let before = tree.clone();
        tree.reset_meter();
        let read = |count| {
            let entries = (0..count).map(|place| place % tree.len());
            let entries = entries.filter_map(|place| tree.indices().nth(place));
            entries.for_each(|index| drop(tree.entry(index)));
            tree.meter().how_far(tree.len())
        };
        assert_eq!(read(1), "25% of 4 entries");
        assert_eq!(read(3), "all 4 entries read");
        assert_eq!(read(2), "50% of 4 entries, pass 2");
        tree.meter().begin("counting tokens");
        assert_eq!(tree.meter().how_far(4), "counting tokens");
        assert_eq!(read(2), "counting tokens, 50% of 4 entries");
        let first = tree.indices().next().unwrap();
        tree.meter().stop();
        assert!(tree.entry(first).is_err() && tree.source_failure().is_none());
        assert!(before.entry(first).is_ok());
    }
}
