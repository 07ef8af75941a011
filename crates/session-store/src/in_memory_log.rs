//! A session in memory that grows.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use session_model::{
    Decoded, Decoder, Diagnostic, EntryId, HeaderDraft, Leaf, LineSource, SessionTree, SourceError,
    Span,
};

use crate::error::{Advice, StoreError};
use crate::file::{NEWEST_VERSION, take_in};
use crate::locator::Locator;
use crate::stamp::stamped;
use crate::traits::{Carry, ForkSource};

/// Bytes that a tree reads while their owner adds to them.
#[derive(Debug, Clone, Default)]
struct SharedBytes(Arc<RwLock<Vec<u8>>>);

impl SharedBytes {
    fn with<T>(&self, read: impl FnOnce(&Vec<u8>) -> T) -> T {
        // Nothing that holds the lock can leave half a line behind.
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, line: &str) {
        let mut bytes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
}

impl LineSource for SharedBytes {
    fn line(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError> {
        let line = self.with(|bytes| bytes.line(span).map(Cow::into_owned));
        line.map(Cow::Owned)
    }
}

/// A session whose lines are in memory.
#[derive(Debug)]
pub struct InMemoryLog {
    /// The bytes that are known.
    decoded: Decoded,
    bytes: SharedBytes,
}

impl InMemoryLog {
    /// Returns the session that `bytes` hold.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self::over(SharedBytes(Arc::new(RwLock::new(bytes))))
    }

    fn over(bytes: SharedBytes) -> Self {
        let mut decoder = Decoder::new();
        bytes.with(|bytes| decoder.feed(bytes));
        Self {
            decoded: decoder.finish(Arc::new(bytes.clone())),
            bytes,
        }
    }

    /// Returns a new session that has nothing but a header.
    pub fn of_header(header: &HeaderDraft) -> Self {
        Self::of(format!("{}\n", header.line()).into_bytes())
    }

    /// Returns a new session with the lines of the path to `leaf` of another one, as they are, and the entries that
    /// `carry` makes of the two paths, the source's and the copy's.
    pub fn forked(
        header: &HeaderDraft,
        source: &ForkSource<'_>,
        leaf: Leaf,
        carry: Carry<'_>,
    ) -> Result<Self, StoreError> {
        let tree = source.tree();
        let failed = |reason: String| match source.locator() {
            Some(locator) => StoreError::session(locator.as_path(), reason),
            None => StoreError::usage(reason),
        };
        if tree.version() < NEWEST_VERSION {
            let name = source
                .locator()
                .map_or_else(String::new, Locator::to_string);
            let text = format!("{name} has version {}; migrate it first", tree.version());
            return Err(StoreError::usage(text));
        }
        let path = tree.path(leaf);
        let mut bytes = format!("{}\n", header.line()).into_bytes();
        for index in path.entries() {
            let line = tree.raw_line(*index);
            bytes.extend_from_slice(&line.map_err(|error| failed(error.to_string()))?);
            bytes.push(b'\n');
        }
        let mut copy = Self::of(bytes);
        let copied = copy.tree().path(copy.tree().leaf());
        let ids = copied.entries().iter().map(|index| copy.tree().id(*index));
        if !ids.eq(path.entries().iter().map(|index| tree.id(*index))) {
            let reason =
                "its lines depend on their place in the file and cannot be copied as they are";
            return Err(failed(reason.to_owned()).advising(Advice::Diagnose));
        }
        let carried = carry(&path, &copied);
        let parent = copied
            .entries()
            .last()
            .map(|index| EntryId::new(copy.tree().id(*index)));
        let (lines, _) = stamped(copy.tree(), source.queue(), parent, carried)?;
        let lines = lines.into_iter().map(|line| match source.open() {
            Some(store) => store.filter().line(line),
            None => line,
        });
        copy.append(&lines.collect::<Vec<_>>());
        Ok(copy)
    }

    /// Returns the tree.
    pub fn tree(&self) -> &SessionTree {
        &self.decoded.tree
    }

    /// Returns what was noticed when the bytes were read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.decoded.diagnostics
    }

    /// Returns true if the last line is whole.
    pub fn ends_with_newline(&self) -> bool {
        self.decoded.ends_with_newline
    }

    /// Returns how many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.bytes.with(Vec::len) as u64
    }

    /// Returns all lines.
    pub(crate) fn to_lines(&self) -> Vec<String> {
        self.bytes.with(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.lines().map(str::to_owned).collect()
        })
    }

    /// Returns all bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes.with(Vec::clone)
    }

    /// Returns a log of the same bytes with all that was added to them.
    pub(crate) fn read_again(&self) -> Self {
        Self::over(self.bytes.clone())
    }

    /// Adds lines of entries whose ids are new and whose parents are there.
    pub fn append(&mut self, lines: &[String]) {
        if !self.decoded.ends_with_newline && !lines.is_empty() {
            self.bytes.push("");
        }
        lines.iter().for_each(|line| self.bytes.push(line));
        take_in(&mut self.decoded, lines);
    }
}
