//! Reads requests: bounded lines of the input, read concurrently with all other work.

use std::io::{BufRead, Read};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::parse::LONGEST;

/// The number of lines that wait before the reader waits, too.
const WAITING: usize = 16;

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Its bytes, without the line break.
    Whole(Vec<u8>),
    /// It was longer than a line may be.
    TooLong,
    /// It could not be read; nothing comes after it.
    Unreadable(String),
}

/// Returns the lines of an input, read on a thread of its own: a read cannot be cancelled, and the caller does not wait
/// for it.
pub fn lines_of(mut input: impl BufRead + Send + 'static) -> Receiver<Line> {
    let (sender, lines) = channel(WAITING);
    std::thread::spawn(move || read_lines(&mut input, &sender));
    lines
}

fn read_lines(input: &mut impl BufRead, sender: &Sender<Line>) {
    loop {
        let line = match next_line(input) {
            Ok(None) => return,
            Ok(Some(line)) => line,
            Err(error) => Line::Unreadable(error.to_string()),
        };
        let is_last = matches!(line, Line::Unreadable(_));
        if sender.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}

/// Returns the next line; `None` at the end. The rest of a line that is too long is skipped.
pub(crate) fn next_line(input: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(1);
    input.by_ref().take(limit).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
    } else if line.len() > LONGEST {
        skip_line(input)?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(Line::Whole(line)))
}

fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let block = match input.fill_buf() {
            Ok(block) => block,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if block.is_empty() {
            return Ok(());
        }
        let end = block.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(block.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}
