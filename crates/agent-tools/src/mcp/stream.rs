//! The streams of a server: its output in lines that have an end, and the newest of its error output.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// The longest line that a server may write, in bytes; each message is one.
pub(super) const LINE_BYTES: usize = 16_000_000;

/// The most that a server may write without answering anything, in bytes.
pub(super) const FLOOD_BYTES: usize = 4 * LINE_BYTES;

/// The kept length of a server's error output, in bytes.
const KEPT: usize = 4096;

/// The kept length of a line that is not a message, in bytes.
const NOISE: usize = 200;

/// Findings in a server's output; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamFindings(Arc<Mutex<Findings>>);

#[derive(Debug, Default)]
struct Findings {
    /// The beginning of the first line that is no message.
    noise: Vec<u8>,
    /// A line was longer than it may be.
    endless: bool,
    /// The number of bytes written since the last answer.
    unanswered: usize,
    /// True if `unanswered` exceeded its limit.
    flooded: bool,
}

impl StreamFindings {
    fn inner(&self) -> MutexGuard<'_, Findings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the beginning of the first line that is no message.
    pub fn noise(&self) -> Option<String> {
        let inner = self.inner();
        let noise = String::from_utf8_lossy(&inner.noise);
        (!noise.trim().is_empty()).then(|| noise.into_owned())
    }

    /// Returns true if a line was longer than it may be.
    pub fn is_endless(&self) -> bool {
        self.inner().endless
    }

    /// Returns true if more was written than may be without an answer.
    pub fn is_flooded(&self) -> bool {
        self.inner().flooded
    }

    /// Something was answered.
    pub fn answered(&self) {
        self.inner().unanswered = 0;
    }

    /// Notes that so much was written; false when it is too much.
    fn wrote(&self, bytes: usize) -> bool {
        let mut inner = self.inner();
        inner.unanswered = inner.unanswered.saturating_add(bytes);
        inner.flooded |= inner.unanswered > FLOOD_BYTES;
        !inner.flooded
    }
}

/// The output of a server. A line without an end is an error, so that it cannot fill the memory.
#[derive(Debug)]
pub(super) struct Lines<R> {
    inner: R,
    findings: StreamFindings,
    /// The length of the current line, in bytes.
    length: usize,
    /// The kind of the current line.
    line: Line,
    /// The line, while it may be a message and none was found that is none.
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Only white space so far.
    Blank,
    /// It may be a message.
    Message,
    /// It is not examined: an earlier line was not a message.
    Any,
    /// The first one that is none.
    Noise,
}

impl<R> Lines<R> {
    pub fn new(inner: R, findings: StreamFindings) -> Self {
        Self {
            inner,
            findings,
            length: 0,
            line: Line::Blank,
            text: Vec::new(),
        }
    }

    fn inspect(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.findings.wrote(bytes.len()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.length += part.len();
            if self.length > LINE_BYTES {
                self.findings.inner().endless = true;
                return Err(io::ErrorKind::InvalidData.into());
            }
            let begins = part.iter().find(|byte| !byte.is_ascii_whitespace());
            if let (Line::Blank, Some(first)) = (self.line, begins) {
                let fresh = self.findings.inner().noise.is_empty();
                self.line = match first {
                    b'{' | b'[' if fresh => Line::Message,
                    _ if fresh => Line::Noise,
                    _ => Line::Any,
                };
            }
            if self.line == Line::Message {
                self.text.extend_from_slice(part);
            }
            if self.line == Line::Noise {
                let mut inner = self.findings.inner();
                let room = NOISE.saturating_sub(inner.noise.len()).min(part.len());
                inner.noise.extend_from_slice(&part[..room]);
            }
            if part.ends_with(b"\n") {
                self.check();
                self.length = 0;
                self.line = Line::Blank;
            }
        }
        Ok(())
    }

    /// Records a line that looked like a message and cannot be parsed: a caller that waits for it as an answer would
    /// wait in vain.
    fn check(&mut self) {
        let text = std::mem::take(&mut self.text);
        if self.line == Line::Message && serde_json::from_slice::<serde_json::Value>(&text).is_err()
        {
            self.findings.inner().noise = text[..text.len().min(NOISE)].to_vec();
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        Poll::Ready(self.inspect(&buffer.filled()[before..]))
    }
}

/// The newest of the error output of a server; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<VecDeque<u8>>>);

impl StderrTail {
    /// Reads until every process has closed the pipe.
    pub async fn read(self, mut pipe: impl AsyncRead + Unpin) {
        let mut block = vec![0; KEPT];
        while let Ok(count @ 1..) = pipe.read(&mut block).await {
            self.keep(&block[..count]);
            // A process that writes without end must not keep other tasks from running.
            tokio::task::yield_now().await;
        }
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let old = kept.len().saturating_sub(KEPT);
        kept.drain(..old);
    }

    /// Returns the last lines, at most `lines` of them, without empty ones.
    pub fn last(&self, lines: usize) -> Option<String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(kept.make_contiguous()).into_owned();
        let lines_read: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let from = lines_read.len().saturating_sub(lines);
        (!lines_read.is_empty()).then(|| lines_read[from..].join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::{FLOOD_BYTES, KEPT, LINE_BYTES, Lines, StderrTail, StreamFindings};

    fn inspect(blocks: &[&[u8]]) -> (StreamFindings, bool) {
        let findings = StreamFindings::default();
        let mut lines = Lines::new((), findings.clone());
        let read = blocks.iter().try_for_each(|block| lines.inspect(block));
        (findings, read.is_ok())
    }

    #[test]
    fn the_first_line_that_is_no_message_is_kept_across_reads() {
        let (findings, good) = inspect(&[b"{\"a\":1}\n  Lis", b"tening\nagain\n{}\n"]);
        assert!(good);
        assert_eq!(findings.noise().as_deref(), Some("  Listening\n"));
        let (findings, _) = inspect(&[b"{\"a\":1}\n", b"\n[1]\n"]);
        assert_eq!(findings.noise(), None);
    }

    #[test]
    fn a_message_that_cannot_be_read_is_kept_across_reads() {
        let (findings, good) = inspect(&[b"{\"a\":1}\n{\"b\":", b"\"\xff\"}\n{\"c\n"]);
        assert!(good);
        assert_eq!(findings.noise().as_deref(), Some("{\"b\":\"\u{fffd}\"}\n"));
        let deep = [vec![b'['; 999], vec![b']'; 999], b"\n".to_vec()].concat();
        assert!(inspect(&[&deep]).0.noise().is_some());
    }

    #[test]
    fn who_writes_without_end_and_answers_nothing_is_noticed() {
        let block = [vec![b' '; LINE_BYTES - 1], b"\n".to_vec()].concat();
        let blocks = [&block[..]; FLOOD_BYTES / LINE_BYTES];
        let (findings, good) = inspect(&blocks);
        assert!(good && !findings.is_flooded());
        let mut lines = Lines::new((), findings.clone());
        assert!(lines.inspect(b"\n").is_err() && findings.is_flooded());
        let (findings, _) = inspect(&blocks);
        findings.answered();
        assert!(Lines::new((), findings).inspect(b"\n").is_ok());
    }

    #[test]
    fn a_line_without_an_end_is_an_error_and_many_lines_are_none() {
        let block = vec![b'{'; LINE_BYTES / 4];
        let (findings, good) = inspect(&[&block, &block, &block, &block, b"{"]);
        assert!(!good && findings.is_endless());
        let (findings, good) = inspect(&[&block, &block, &block, b"\n", &block, &block, b"{"]);
        assert!(good && !findings.is_endless());
    }

    #[test]
    fn only_the_newest_complaints_are_kept() {
        let stderr_tail = StderrTail::default();
        stderr_tail.keep(b"first\n");
        stderr_tail.keep(&vec![b'x'; KEPT - 12]);
        stderr_tail.keep(b"\n\nnewest\r\n");
        assert_eq!(stderr_tail.last(1).as_deref(), Some("newest"));
        let all = stderr_tail.last(100).unwrap();
        assert!(!all.contains("first") && all.ends_with("\nnewest"), "{all}");
        assert_eq!(StderrTail::default().last(3), None);
    }
}
