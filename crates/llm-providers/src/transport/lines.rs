//! The lines of a stream of events, one at a time: a reader that gets many in one piece takes time in the square of their
//! number, and looks at no time limit while it reads.

use bytes::{Buf, Bytes, BytesMut};

/// What begins a text in UTF-8, where anything does.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Splits bytes into lines. Comments and empty lines after an empty line are left out, and so is a byte order mark
/// at the beginning, on which the reader of events panics.
#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: BytesMut,
    /// How much of `bytes` is known to hold no end of a line.
    searched: usize,
    begun: bool,
    after_empty: bool,
}

impl Lines {
    /// Adds what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next whole line with its end, or `None` until more has come.
    pub fn next(&mut self) -> Option<Bytes> {
        loop {
            let length = self.next_length()?;
            self.searched = 0;
            let line = self.bytes.split_to(length);
            let line = self.passed_on(line);
            let empty = matches!(&*line, b"\n" | b"\r\n");
            if line.starts_with(b":") {
                continue;
            }
            if !(empty && self.after_empty) {
                self.after_empty = empty;
                return Some(line);
            }
        }
    }

    /// Returns what is left at the end of the stream.
    pub fn rest(&mut self) -> Option<Bytes> {
        let rest = self.bytes.split();
        let rest = self.passed_on(rest);
        (!rest.is_empty()).then_some(rest)
    }

    fn next_length(&mut self) -> Option<usize> {
        let mut unsearched = self.bytes[self.searched..].iter();
        let end = unsearched.position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = end.map(|end| self.searched + end) else {
            self.searched = self.bytes.len();
            return None;
        };
        match (self.bytes[end], self.bytes.get(end + 1)) {
            (b'\r', Some(b'\n')) => Some(end + 2),
            // What comes next may belong to the same end.
            (b'\r', None) => {
                self.searched = end;
                None
            }
            _ => Some(end + 1),
        }
    }

    fn passed_on(&mut self, mut line: BytesMut) -> Bytes {
        // The reader waits for what follows a carriage return, at the end of the stream too.
        if let Some(end @ b'\r') = line.last_mut() {
            *end = b'\n';
        }
        if !self.begun && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        self.begun = true;
        line.freeze()
    }
}
