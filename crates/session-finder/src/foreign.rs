//! Sessions of other programs: recognized where a session is opened, and read as one of the family.

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use session_import::{
    FindSession, Format, ImportError, ImportReport, Input, Origin, ReadLater, detect, import,
    import_without_results, nearest_miss,
};
use session_model::text::clean;
use session_model::{LineSource, Severity, SourceError, SourceFailure, Span, TakeLeftOut};
use session_store::{Advice, SessionFile, StoreError};
use tempfile::SpooledTempFile;

use crate::agents::find_codex;
use crate::bytes::{Bytes, Cancellable, HEAD, IN_MEMORY, IsCancelled, sha256, unpacked_beginning};

/// What is said of a session of another program that was opened.
#[derive(Debug, Clone)]
pub struct ReadAs {
    /// Its format.
    pub format: Format,
    /// What people are told about it.
    pub line: String,
}

/// A session that was converted.
pub struct Converted {
    /// Its lines.
    pub lines: Bytes,
    /// What was found, mapped and lost.
    pub report: ImportReport,
}

/// Converts a session of a known format. Its lines are in memory, or in a file without a name.
///
/// # Errors
/// It cannot be read or kept, has no record of the format, or the user has cancelled.
pub fn convert(
    path: &Path,
    format: Format,
    bytes: Bytes,
    is_cancelled: IsCancelled,
) -> Result<Converted, StoreError> {
    let input = bytes.input(path)?;
    let sha256 = sha256(path, &input)?;
    let shown = path.display().to_string();
    let origin = Origin {
        path: &shown,
        sha256: Some(&sha256),
    };
    let (lines, report) = collect(path, is_cancelled, |find, lines| {
        import(format, &input, &origin, find, lines)
    })?;
    Ok(Converted { lines, report })
}

/// Returns the session of Codex with this id, which another at `path` is based on.
fn base(path: &Path, id: &str, is_cancelled: IsCancelled) -> Option<Input> {
    let path = find_codex(path, id)?;
    let bytes = Bytes::File.unpacked(&path, is_cancelled).ok()?;
    bytes.input(&path).ok()
}

/// Returns the lines that `write` writes, and what it returns.
fn collect<T>(
    path: &Path,
    is_cancelled: IsCancelled,
    write: impl FnOnce(&FindSession<'_>, &mut dyn Write) -> Result<T, ImportError>,
) -> Result<(Bytes, T), StoreError> {
    let kept = Cancellable::new(SpooledTempFile::new(IN_MEMORY), is_cancelled);
    let mut lines = BufWriter::with_capacity(BLOCK, kept);
    let written = write(&|id| base(path, id, is_cancelled), &mut lines);
    if is_cancelled() {
        return Err(StoreError::Cancelled);
    }
    let written = written.map_err(|error| StoreError::session(path, error.to_string()))?;
    let lines = lines.into_inner().map_err(|error| {
        let text = format!("cannot keep the converted session: {}", error.error());
        StoreError::session(path, text)
    })?;
    Ok((Bytes::of_spooled(lines.into_inner()), written))
}

/// Reads a session of a known format.
///
/// # Errors
/// As [`convert`].
pub fn open(
    path: &Path,
    format: Format,
    bytes: Bytes,
    is_cancelled: IsCancelled,
) -> Result<(SessionFile, ReadAs), StoreError> {
    let input = bytes.input(path)?;
    let shown = path.display().to_string();
    let origin = Origin {
        path: &shown,
        sha256: None,
    };
    let (sender, blocks) = mpsc::sync_channel(AHEAD);
    // What is written is read at once, on another thread.
    let (written, read) = thread::scope(|scope| {
        let reader = scope.spawn(|| SessionFile::of_blocks(path, blocks, IN_MEMORY));
        let find = |id: &str| base(path, id, is_cancelled);
        let mut lines = BufWriter::with_capacity(BLOCK, Blocks(sender, is_cancelled));
        let written = import_without_results(format, &input, &origin, &find, &mut lines);
        let written = written.and_then(|written| Ok(lines.flush().map(|()| written)?));
        // What is in it no longer matters after an error.
        drop(lines.into_parts());
        (written, reader.join())
    });
    if is_cancelled() {
        return Err(StoreError::Cancelled);
    }
    let read = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let ((mut report, results), session) = match (written, read) {
        // Nobody took the lines: the reader tells why.
        (Err(ImportError::Write(_)), Err(error)) => return Err(error),
        (Err(error), _) => return Err(StoreError::session(path, error.to_string())),
        (Ok(written), read) => (written, read?),
    };
    let mut session = session.reading_through(|lines| Arc::new(WithResults { lines, results }));
    report.diagnostics.append(&mut session.decoded.diagnostics);
    session.decoded.diagnostics = report.diagnostics.clone();
    let is_whole = report
        .diagnostics
        .iter()
        .all(|said| said.severity == Severity::Note);
    let skipped = match report.skipped.len() {
        0 if is_whole => "every kind of record is mapped".to_owned(),
        0 => "with problems, which agent-cli doctor lists".to_owned(),
        1 => "1 kind of record skipped".to_owned(),
        kinds => format!("{kinds} kinds of record skipped"),
    };
    let line = format!(
        "read as: {} session {}, {skipped}",
        format.name(),
        clean(&report.session_id)
    );
    Ok((session, ReadAs { format, line }))
}

/// How many bytes of converted lines are handed on at a time, and how many times ahead.
const BLOCK: usize = 256 * 1024;
const AHEAD: usize = 4;

/// Hands on what is written, until the user has cancelled.
struct Blocks(mpsc::SyncSender<Vec<u8>>, IsCancelled);

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let is_sent = !(self.1)() && self.0.send(bytes.to_vec()).is_ok();
        match is_sent {
            true => Ok(bytes.len()),
            false => Err(std::io::Error::other("nobody reads the converted session")),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines of a session whose results are read where they stand.
struct WithResults {
    lines: Arc<dyn LineSource>,
    results: ReadLater,
}

impl LineSource for WithResults {
    fn line(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError> {
        let line = self.lines.line(span)?;
        match self.results.line(&line) {
            Some(whole) => whole.map(Cow::Owned),
            None => Ok(line),
        }
    }

    fn stored(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError> {
        self.lines.line(span)
    }

    fn left_out(&self, stored: &[u8], lines: &[Range<usize>], take: &mut TakeLeftOut<'_>) -> bool {
        self.results.left_out(stored, lines, take)
    }

    fn failure(&self) -> Option<SourceFailure> {
        self.lines.failure().or_else(|| self.results.failure())
    }
}

/// Returns why a session of another program is not written to.
pub fn refusal(path: &Path, format: Format) -> StoreError {
    let name = format.name();
    StoreError::Session {
        path: path.to_owned(),
        reason: format!("a {name} session, which is read but never written"),
        advice: Advice::Import(path.to_owned()),
    }
}

/// Fails for the file of a session of another program.
///
/// # Errors
/// It is one, or cannot be read.
pub fn refuse(path: &Path) -> Result<(), StoreError> {
    if !path.is_file() {
        return Ok(());
    }
    let head = unpacked_beginning(Bytes::File.beginning(path)?, HEAD);
    match detect(&head) {
        Some(format) => Err(refusal(path, format)),
        None => Ok(()),
    }
}

/// Returns what a file that is no session resembles, as the end of a message.
pub fn resemblance(head: &[u8]) -> String {
    nearest_miss(head).map_or_else(String::new, |(format, reason)| {
        format!("; it resembles {}, but {reason}", format.name())
    })
}
