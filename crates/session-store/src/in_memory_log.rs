//! A session in memory that grows.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

use session_model::{Decoder, LineSource, SessionTree, SourceError, Span};

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
    tree: SessionTree,
    bytes: SharedBytes,
    lines: u64,
}

impl InMemoryLog {
    /// Returns the session that `bytes` spell; every line in them ends in a line feed.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let mut decoder = Decoder::new();
        decoder.feed(&bytes);
        let bytes = SharedBytes(Arc::new(RwLock::new(bytes)));
        let decoded = decoder.finish(Arc::new(bytes.clone()));
        Self {
            tree: decoded.tree,
            bytes,
            lines: decoded.lines,
        }
    }

    /// Returns the tree.
    pub fn tree(&self) -> &SessionTree {
        &self.tree
    }

    /// Returns how many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.with(Vec::len) as u64
    }

    /// Returns all lines.
    pub(crate) fn to_lines(&self) -> Vec<String> {
        self.bytes.with(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.lines().map(str::to_owned).collect()
        })
    }

    /// Writes all lines.
    pub(crate) fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        self.bytes.with(|bytes| to.write_all(bytes))
    }

    /// Adds lines of entries whose ids are new and whose parents are there.
    pub(crate) fn append(&mut self, lines: &[String]) {
        for line in lines {
            let offset = self.len();
            self.bytes.push(line);
            self.lines += 1;
            // The caller chose ids and parents so that this cannot fail.
            let _ = self.tree.append(line.as_bytes(), offset, self.lines);
        }
    }
}
