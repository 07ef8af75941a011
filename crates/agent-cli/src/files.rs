//! Opening and writing session files for commands: with progress on a terminal, and cancelled by Ctrl-C.

use std::ops::Deref;
use std::path::Path;

use session_import::detect;
use session_store::{
    Advice, Contents, NewFile, OpenSession, ReadObserver, SessionFile, StoreError, SyncPolicy,
    replace_session,
};

use crate::cancel;
use crate::error::Error;
use crate::read_report::ReadReport;
use crate::stores::{self, session_path};
use crate::ui::progress;
use session_finder::{Bytes, ReadAs};

/// Shows how far reading is, and stops it once the user has cancelled.
pub struct Watching;

impl ReadObserver for Watching {
    fn begin(&mut self, total: u64) {
        progress::begin_bytes(total);
    }

    fn read(&mut self, bytes: usize) -> Result<(), StoreError> {
        progress::add_bytes(bytes);
        match cancel::is_cancelled() {
            true => Err(StoreError::Cancelled),
            false => Ok(()),
        }
    }
}

/// A session that was opened for reading.
#[derive(Debug)]
pub struct ReadSession {
    file: SessionFile,
    read_as: Option<ReadAs>,
}

impl ReadSession {
    /// Returns what is said of the session, where another program wrote it.
    pub fn read_as(&self) -> Option<&ReadAs> {
        self.read_as.as_ref()
    }

    /// Returns what a command reports of the session when it has read all that it reads.
    pub fn report(&self) -> ReadReport {
        let diagnostics = &self.file.decoded.diagnostics;
        ReadReport::of(self.tree(), diagnostics, &self.file.path, self.read_as())
    }

    /// Returns the file, without what is said of it.
    pub fn into_file(self) -> SessionFile {
        self.file
    }
}

impl Deref for ReadSession {
    type Target = SessionFile;

    fn deref(&self) -> &SessionFile {
        &self.file
    }
}

/// Opens a session for reading: a path, `-` for standard input, the address of a session in a store, or a name that
/// [`session_path`] knows. One of another program is converted.
pub fn open_session(path: &Path) -> Result<ReadSession, Error> {
    let path = &*session_path(path)?;
    if let Some(file) = stores::read(path, &mut Watching)? {
        progress::begin_entries(file.tree());
        let read_as = None;
        return Ok(ReadSession { file, read_as });
    }
    open_bytes(path, read_bytes(path)?)
}

/// Opens a session whose bytes are known, as [`open_session`] does.
pub fn open_bytes(path: &Path, bytes: Bytes) -> Result<ReadSession, Error> {
    let head = bytes.beginning(path)?;
    if let Some(format) = detect(&head) {
        let (file, read_as) = session_finder::open(path, format, bytes, cancel::is_cancelled)?;
        progress::begin_entries(file.tree());
        let read_as = Some(read_as);
        return Ok(ReadSession { file, read_as });
    }
    let file = bytes.session(path, &mut Watching);
    let file = file.map_err(|error| explained(error, &head))?;
    progress::begin_entries(file.tree());
    Ok(ReadSession {
        file,
        read_as: None,
    })
}

/// Returns the bytes of standard input (`-`), of a pipe, of a compressed file, of a session in a store, or of a session
/// that is not one file; those of another file stay there.
pub fn read_bytes(path: &Path) -> Result<Bytes, Error> {
    if let Some(session) = stores::read(path, &mut Watching)? {
        let bytes = session.contents()?.read();
        let bytes = bytes.map_err(|error| Error::io("read", path, error))?;
        return Ok(Bytes::Memory(bytes));
    }
    if let Some(bytes) = session_finder::read_document(path)? {
        return Ok(Bytes::Memory(bytes));
    }
    let read = SessionFile::read_pipe(path, &mut Watching)?;
    let bytes = read.map_or(Bytes::File, Bytes::Memory);
    Ok(bytes.unpacked(path, cancel::is_cancelled)?)
}

/// Opens a session for writing: a path, or the address of a session in a store. One of another program is refused.
pub fn open_writer(path: &Path) -> Result<OpenSession, Error> {
    session_finder::refuse(path)?;
    let opened = stores::open(path, SyncPolicy::Always, &mut Watching)?;
    let opened = opened.map_err(|error| {
        let head = Bytes::File.beginning(path).unwrap_or_default();
        explained(error, &head)
    })?;
    progress::begin_entries(opened.tree());
    Ok(opened)
}

/// Returns an error, with what the file resembles where it is no session.
fn explained(error: StoreError, head: &[u8]) -> Error {
    let is_unknown = matches!(
        error,
        StoreError::Session {
            advice: Advice::TryFormats,
            ..
        }
    );
    match Error::from(error) {
        Error::Session { path, reason } if is_unknown => Error::Session {
            path,
            reason: reason + &session_finder::resemblance(head),
        },
        other => other,
    }
}

/// Writes a new file, unless the user cancels before it is complete.
pub fn write_new<L: AsRef<[u8]>>(
    path: &Path,
    contents: Contents,
    ends_with_newline: bool,
    lines: &[L],
) -> Result<(), Error> {
    cancel::begin_write()?;
    let file = NewFile::prepare(path, contents, ends_with_newline, lines)?;
    cancel::check()?;
    Ok(file.keep()?)
}

/// Replaces a locked session by another form of itself; returns where the old file is kept.
pub fn replace(path: &Path, version: u64, lines: &[Vec<u8>]) -> Result<std::path::PathBuf, Error> {
    cancel::begin_write()?;
    Ok(replace_session(path, version, lines, &mut Watching)?)
}
