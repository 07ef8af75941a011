//! Bytes that come in: lines with their places, read block by block.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use session_model::{Diagnostic, DiagnosticKind, Diagnostics, LineSource, Severity, Span};

use crate::error::ImportError;
use crate::json::Object;

/// The longest line, and the longest document, that is read: 256 MiB.
pub(crate) const LONGEST: u64 = 256 * 1024 * 1024;

/// How much is read in one call, in bytes.
const BLOCK: u64 = 1024 * 1024;

/// The bytes of a session, which can be read at any place.
#[derive(Clone)]
pub struct Input {
    /// Gives the bytes.
    pub source: Arc<dyn LineSource>,
    /// How many there are.
    pub bytes: u64,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// One line that is not blank.
pub(crate) struct Line<'a> {
    /// Its number, counted from 1.
    pub number: u64,
    pub span: Span,
    pub bytes: &'a [u8],
}

impl<'a> Line<'a> {
    /// Returns its text; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self) -> Cow<'a, str> {
        text_of(self.bytes)
    }
}

impl Input {
    /// Returns an input of bytes in memory.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.len() as u64,
            source: Arc::new(bytes),
        }
    }

    /// Returns the text at `span`; bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn text(&self, span: Span) -> Result<Cow<'_, str>, ImportError> {
        Ok(match self.source.line(span)? {
            Cow::Borrowed(bytes) => text_of(bytes),
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
        })
    }

    /// Returns an input that is one document of UTF-8, and its text.
    pub(crate) fn document(&self) -> Result<(Self, String), ImportError> {
        if self.bytes > LONGEST {
            return Err(ImportError::TooLarge {
                bytes: self.bytes,
                most: LONGEST,
            });
        }
        let whole = Span {
            offset: 0,
            len: self.bytes as u32,
        };
        let text = self.text(whole)?.into_owned();
        // After repair the places of values are those in the repaired text.
        let input = match text.len() as u64 == self.bytes {
            true => self.clone(),
            false => Self::of_bytes(text.clone().into_bytes()),
        };
        Ok((input, text))
    }

    /// Gives every line that is not blank, up to the byte `end`. Lines that are too long are reported and passed over.
    pub(crate) fn lines(
        &self,
        end: u64,
        diagnostics: &mut Diagnostics,
        take: impl FnMut(Line<'_>, &mut Diagnostics) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        self.lines_within(LONGEST, end, diagnostics, take)
    }

    /// Gives every line that is a JSON object, up to the byte `end`; others are reported.
    pub(crate) fn records(
        &self,
        end: u64,
        diagnostics: &mut Diagnostics,
        mut take: impl FnMut(&Object<'_>, &Line<'_>, &mut Diagnostics) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        self.lines(end, diagnostics, |line, diagnostics| {
            match Object::parse(&line.text()) {
                Some(record) => take(&record, &line, diagnostics),
                None => {
                    diagnostics.push(damaged(line.number));
                    Ok(())
                }
            }
        })
    }

    /// Gives lines as [`lines`](Self::lines) does, of at most `longest` bytes.
    fn lines_within(
        &self,
        longest: u64,
        end: u64,
        diagnostics: &mut Diagnostics,
        mut take: impl FnMut(Line<'_>, &mut Diagnostics) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let end = end.min(self.bytes);
        let mut carry: Vec<u8> = Vec::new();
        let (mut start, mut number, mut at) = (0, 0, 0);
        let mut oversized = false;
        while at < end {
            let len = BLOCK.min(end - at);
            let block = self.source.line(Span {
                offset: at,
                len: len as u32,
            })?;
            let mut rest: &[u8] = &block;
            while !rest.is_empty() {
                let found = memchr::memchr(b'\n', rest);
                let piece = &rest[..found.unwrap_or(rest.len())];
                oversized |= carry.len() as u64 + piece.len() as u64 > longest;
                let whole = carry.is_empty() && found.is_some() && !oversized;
                if oversized {
                    carry = Vec::new();
                } else if !whole {
                    carry.extend_from_slice(piece);
                }
                rest = &rest[found.map_or(rest.len(), |at| at + 1)..];
                if found.is_none() {
                    break;
                }
                number += 1;
                let bytes = if whole { piece } else { &carry };
                give(bytes, start, number, oversized, diagnostics, &mut take)?;
                start = at + (block.len() - rest.len()) as u64;
                carry.clear();
                oversized = false;
            }
            at += len;
        }
        if oversized || !carry.is_empty() {
            give(&carry, start, number + 1, oversized, diagnostics, &mut take)?;
        }
        Ok(())
    }
}

fn give(
    bytes: &[u8],
    start: u64,
    number: u64,
    oversized: bool,
    diagnostics: &mut Diagnostics,
    take: &mut impl FnMut(Line<'_>, &mut Diagnostics) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    if oversized {
        let text = "longer than 256 MiB; left out";
        let said = Diagnostic::new(Severity::Error, DiagnosticKind::OversizedLine, text);
        diagnostics.push(said.at_line(number));
        return Ok(());
    }
    let mark: &[u8] = if start == 0 { b"\xEF\xBB\xBF" } else { b"" };
    let skipped = if bytes.starts_with(mark) {
        mark.len()
    } else {
        0
    };
    let body = bytes[skipped..].trim_ascii_end();
    if body.trim_ascii_start().is_empty() {
        return Ok(());
    }
    let line = Line {
        number,
        span: Span {
            offset: start + skipped as u64,
            len: body.len() as u32,
        },
        bytes: body,
    };
    take(line, diagnostics)
}

/// Returns the text of bytes; those that are not UTF-8 become U+FFFD.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    // Much faster on the bytes that nearly all files have.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Returns whether a file has a record on each line.
pub(crate) fn is_lines(input: &Input) -> Result<bool, ImportError> {
    let head = Span {
        offset: 0,
        len: input.bytes.min(64 * 1024) as u32,
    };
    let head = input.text(head)?;
    let head = head.trim_start_matches('\u{feff}').trim();
    let (first, more) = head.split_once('\n').unwrap_or((head, ""));
    Ok(match Object::parse(first.trim()) {
        Some(first) => first.raw("messages").is_none(),
        // A damaged line, unless the document is indented.
        None => first.trim() != "{" && !more.is_empty(),
    })
}

/// Returns what is said of a line that is no JSON object.
pub(crate) fn damaged(number: u64) -> Diagnostic {
    let text = "not readable as a JSON object; left out";
    Diagnostic::new(Severity::Error, DiagnosticKind::DamagedLine, text).at_line(number)
}

/// Returns what is said of a document that does not end as it should.
pub(crate) fn cut_off() -> Diagnostic {
    let text = "the document is cut off or damaged; what stands before that is here";
    Diagnostic::new(Severity::Error, DiagnosticKind::TornTail, text)
}

/// Returns the place of `part`, a slice of `text`, which stands at `offset`.
pub(crate) fn place_of(part: &str, text: &str, offset: u64) -> Span {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    Span {
        offset: offset + start as u64,
        len: part.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use session_model::{DiagnosticKind, Diagnostics};

    use super::Input;

    /// Number, offset and length of lines; and what was reported of which line.
    type Found = (Vec<(u64, u64, usize)>, Vec<(DiagnosticKind, u64)>);

    fn lines(bytes: Vec<u8>, longest: u64) -> Found {
        let input = Input::of_bytes(bytes);
        let mut diagnostics = Diagnostics::default();
        let mut found = Vec::new();
        let read = input.lines_within(longest, u64::MAX, &mut diagnostics, |line, _| {
            let again = input.text(line.span)?;
            assert_eq!(again, line.text());
            found.push((line.number, line.span.offset, line.bytes.len()));
            Ok(())
        });
        assert!(read.is_ok());
        let said = diagnostics.into_vec().into_iter();
        let said = said.map(|said| (said.kind, said.line.unwrap_or(0)));
        (found, said.collect())
    }

    #[test]
    fn lines_have_their_places() {
        let (found, said) = lines(b"\xEF\xBB\xBF{}\r\n\n [1] \nlast".to_vec(), 99);
        assert_eq!(found, [(1, 3, 2), (3, 8, 4), (4, 14, 4)]);
        assert!(said.is_empty());
    }

    #[test]
    fn lines_that_span_blocks_are_whole_and_longer_ones_are_left_out() {
        let block = super::BLOCK as usize;
        for length in [block - 1, block, block + 1, 3 * block] {
            let mut bytes = vec![b'x'; length];
            bytes.extend(b"\nshort\n");
            let short = (2, length as u64 + 1, 5);
            let (found, said) = lines(bytes.clone(), u64::MAX);
            assert_eq!((found, said.len()), (vec![(1, 0, length), short], 0));
            let (found, said) = lines(bytes.clone(), 1000);
            assert_eq!(found, [short]);
            assert_eq!(said, [(DiagnosticKind::OversizedLine, 1)]);
            bytes.truncate(length);
            assert_eq!(lines(bytes, 1000).1, [(DiagnosticKind::OversizedLine, 1)]);
        }
    }
}
