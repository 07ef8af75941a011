//! Opening and writing session files for commands: with progress on a terminal, and cancelled by Ctrl-C.

use std::path::Path;

use session_store::{
    Contents, NewFile, ReadObserver, SessionFile, SessionWriter, StoreError, replace_session,
};

use crate::cancel;
use crate::error::Error;
use crate::ui::progress::Reading;

/// Shows how far reading is, and stops it once the user has cancelled.
#[derive(Default)]
struct Watching(Option<Reading>);

impl ReadObserver for Watching {
    fn begin(&mut self, total: u64) {
        self.0 = Some(Reading::new(total));
    }

    fn read(&mut self, bytes: usize) -> Result<(), StoreError> {
        if let Some(reading) = &mut self.0 {
            reading.add(bytes);
        }
        match cancel::is_cancelled() {
            true => Err(StoreError::Cancelled),
            false => Ok(()),
        }
    }
}

/// Opens a session for reading: a path, or `-` for standard input.
pub fn open_session(path: &Path) -> Result<SessionFile, Error> {
    Ok(SessionFile::open_observed(path, &mut Watching::default())?)
}

/// Opens a session for writing.
pub fn open_writer(path: &Path) -> Result<SessionWriter, Error> {
    Ok(SessionWriter::open_observed(
        path,
        &mut Watching::default(),
    )?)
}

/// Writes a new file, unless the user cancels before it is complete.
pub fn write_new<L: AsRef<[u8]>>(
    path: &Path,
    contents: Contents,
    ends_with_newline: bool,
    lines: &[L],
) -> Result<(), Error> {
    let file = NewFile::prepare(path, contents, ends_with_newline, lines)?;
    cancel::check()?;
    Ok(file.keep()?)
}

/// Replaces a locked session by another form of itself; returns where the old file is kept.
pub fn replace(path: &Path, version: u64, lines: &[Vec<u8>]) -> Result<std::path::PathBuf, Error> {
    Ok(replace_session(
        path,
        version,
        lines,
        &mut Watching::default(),
    )?)
}
