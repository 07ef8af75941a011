//! Bytes that come in: lines with their places, read block by block.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread;

use session_model::json::{Members, records};
use session_model::{Diagnostic, DiagnosticKind, Diagnostics, LineSource, Severity, Span};

use crate::error::ImportError;

/// The longest line, and the longest document, that is read: 256 MiB.
pub(crate) const LONGEST: u64 = 256 * 1024 * 1024;

/// How much is read in one call, in bytes; and how much at a time of what follows of a line that begins in it.
const BLOCK: u64 = 1024 * 1024;
const TAIL: u64 = 32 * 1024;

/// The most threads that read one input, and how many blocks each is ahead.
const THREADS: usize = 4;
const AHEAD: usize = 2;

/// Takes the number of a line, and the line unless it is too long.
type TakeLine<'a> = dyn FnMut(u64, Option<Line<'_>>) -> Result<(), ImportError> + 'a;

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

/// A line that is not blank, or one of several records on it.
pub(crate) struct Line<'a> {
    /// Its number, counted from 1.
    pub number: u64,
    /// How many records stand before it on the line.
    pub part: usize,
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
        mut take: impl FnMut(&Members<'_>, &Line<'_>, &mut Diagnostics) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        self.lines(end, diagnostics, |line, diagnostics| {
            match Members::parse(&line.text()) {
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
        let mut before = 0;
        for from in (0..end).step_by(BLOCK as usize) {
            before += self.block(from, end, longest, &mut |number, found| match found {
                Some(line) => {
                    let number = before + number;
                    if line.part == 1 {
                        diagnostics.push(shared(number));
                    }
                    take(Line { number, ..line }, diagnostics)
                }
                None => {
                    diagnostics.push(oversized(before + number));
                    Ok(())
                }
            })?;
        }
        Ok(())
    }

    /// Folds the lines of each block on several threads, and gives the results with the number of lines before them, in
    /// their order. The numbers of lines are those within their block.
    pub(crate) fn folded<B: Default + Send>(
        &self,
        end: u64,
        diagnostics: &mut Diagnostics,
        fold: impl Fn(&mut B, &Line<'_>) + Sync,
        mut take: impl FnMut(B, u64, &mut Diagnostics) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let end = end.min(self.bytes);
        let fold = &fold;
        let most = thread::available_parallelism().map_or(1, |most| most.get().min(THREADS));
        let stride = most * BLOCK as usize;
        let starts = (0..end).step_by(BLOCK as usize);
        thread::scope(|scope| {
            let workers = starts.clone().take(most).map(|first| {
                let (sender, receiver) = mpsc::sync_channel(AHEAD);
                scope.spawn(move || {
                    for from in (first..end).step_by(stride) {
                        let (mut block, mut odd) = (B::default(), Vec::new());
                        let read = self.block(from, end, LONGEST, &mut |number, found| {
                            match found {
                                Some(line) => {
                                    if line.part == 1 {
                                        odd.push(shared(number));
                                    }
                                    fold(&mut block, &line);
                                }
                                None => odd.push(oversized(number)),
                            }
                            Ok(())
                        });
                        // Nobody receives it after an error.
                        if sender.send(read.map(|lines| (block, odd, lines))).is_err() {
                            return;
                        }
                    }
                });
                receiver
            });
            let workers: Vec<_> = workers.collect();
            let mut before = 0;
            for (worker, _) in (0..workers.len()).cycle().zip(starts) {
                let Ok(read) = workers[worker].recv() else {
                    break;
                };
                let (block, odd, lines) = read?;
                for said in odd {
                    let line = before + said.line.unwrap_or(0);
                    diagnostics.push(said.at_line(line));
                }
                take(block, before, diagnostics)?;
                before += lines;
            }
            Ok(())
        })
    }

    /// Gives every line that is not blank and begins in the block at `from`, with its number in it; `None` for one that
    /// is too long. Returns how many lines begin there.
    fn block(
        &self,
        from: u64,
        end: u64,
        longest: u64,
        take: &mut TakeLine<'_>,
    ) -> Result<u64, ImportError> {
        let read = |from: u64, len: u64| {
            self.source.line(Span {
                offset: from,
                len: len.min(end - from) as u32,
            })
        };
        // The byte before tells whether a line begins with the block.
        let first = from.saturating_sub(1);
        let block = read(first, from - first + BLOCK)?;
        let mut rest: &[u8] = &block;
        if from > 0 {
            let Some(newline) = memchr::memchr(b'\n', rest) else {
                return Ok(0);
            };
            rest = &rest[newline + 1..];
        }
        let mut number = 0;
        let mut give = |start: u64, bytes: &[u8]| {
            number += 1;
            match bytes.len() as u64 > longest {
                true => take(number, None),
                false => {
                    lines_of(bytes, start, number).try_for_each(|line| take(number, Some(line)))
                }
            }
        };
        let after = first + block.len() as u64;
        while let Some(newline) = memchr::memchr(b'\n', rest) {
            give(after - rest.len() as u64, &rest[..newline])?;
            rest = &rest[newline + 1..];
        }
        if !rest.is_empty() {
            let (start, mut at) = (after - rest.len() as u64, after);
            let mut bytes = rest.to_vec();
            while at < end && bytes.len() as u64 <= longest {
                let more = read(at, TAIL)?;
                at += more.len() as u64;
                let newline = memchr::memchr(b'\n', &more);
                bytes.extend_from_slice(&more[..newline.unwrap_or(more.len())]);
                if newline.is_some() {
                    break;
                }
            }
            give(start, &bytes)?;
        }
        Ok(number)
    }
}

/// Returns the records of a line; none of a blank one.
fn lines_of(bytes: &[u8], start: u64, number: u64) -> impl Iterator<Item = Line<'_>> {
    let mark: &[u8] = if start == 0 { b"\xEF\xBB\xBF" } else { b"" };
    let body = bytes.strip_prefix(mark).unwrap_or(bytes);
    let mut offset = start + (bytes.len() - body.len()) as u64;
    let body = body.trim_ascii_end();
    let records = records(body).enumerate();
    let lines = records.map(move |(part, bytes)| {
        let len = bytes.len() as u32;
        let span = Span { offset, len };
        offset += u64::from(len);
        Line {
            number,
            part,
            span,
            bytes,
        }
    });
    lines.filter(|line| !line.bytes.trim_ascii_start().is_empty())
}

/// Returns what is said of a line with several records.
fn shared(line: u64) -> Diagnostic {
    let text = "two records on one line; both are read, but agents may read neither";
    Diagnostic::new(Severity::Warning, DiagnosticKind::SharedLine, text).at_line(line)
}

fn oversized(line: u64) -> Diagnostic {
    let text = "longer than 256 MiB; left out";
    Diagnostic::new(Severity::Error, DiagnosticKind::OversizedLine, text).at_line(line)
}

/// Returns the text of bytes; those that are not UTF-8 become U+FFFD.
pub(crate) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
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
    Ok(match Members::parse(first.trim()) {
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
    fn folded_lines_are_those_that_are_given_one_by_one() {
        let block = super::BLOCK as usize;
        let mut bytes = Vec::new();
        for number in 0..9000_usize {
            bytes.resize(bytes.len() + number * 7919 % 1000, b'x');
            bytes.push(b'\n');
        }
        // Lines that begin or end with a block, and one over several.
        for length in [3 * block, block - 1, block, 5] {
            bytes.resize(bytes.len().next_multiple_of(block) + length, b'y');
            bytes.push(b'\n');
        }
        let (want, _) = lines(bytes.clone(), u64::MAX);
        let mut found = Vec::new();
        let folded = Input::of_bytes(bytes).folded(
            u64::MAX,
            &mut Diagnostics::default(),
            |block: &mut Vec<_>, line| {
                block.push((line.number, line.span.offset, line.bytes.len()));
            },
            |block, before, _| {
                let block = block.into_iter();
                found.extend(block.map(|(number, at, len)| (before + number, at, len)));
                Ok(())
            },
        );
        assert!(folded.is_ok());
        assert_eq!(found, want);
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
