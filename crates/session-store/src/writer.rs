//! The writer of a session: locked, appending, and aware of what it wrote.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use session_model::Decoder;

use crate::append::{self, AppendError, AppendFile, SyncClock, SyncPolicy, append_lines};
use crate::error::StoreError;
use crate::file::{BLOCK, NEWEST_VERSION, SessionFile, file_metadata};
use crate::lock::SessionLock;
use crate::new_file;
use crate::progress::ReadObserver;
use crate::source::FileSource;

/// Why `-` and `--in-place` do not go together.
pub const STDIN_IN_PLACE: &str = "standard input cannot be changed in place; use --out FILE";

/// A session that was opened for writing: locked from before it was read until this is dropped.
#[derive(Debug)]
pub struct SessionWriter {
    /// The session as it was when it was locked.
    pub session: SessionFile,
    clock: SyncClock,
    lock: SessionLock,
}

impl SessionWriter {
    /// Locks and opens a session. A version before 3 is refused: `migrate` comes first.
    ///
    /// # Errors
    /// The session cannot be read, is locked, or has a form that cannot be appended to.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_observed(path, &mut ())
    }

    /// Opens a session as [`open`](Self::open) does; `observer` learns of the progress and may stop it.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and what the observer returns.
    pub fn open_observed(path: &Path, observer: &mut dyn ReadObserver) -> Result<Self, StoreError> {
        if path == Path::new("-") {
            return Err(StoreError::Usage(STDIN_IN_PLACE.to_owned()));
        }
        file_metadata(path)?;
        let lock = SessionLock::acquire(path)?;
        let session = SessionFile::open_observed(path, observer)?;
        if session.version() < NEWEST_VERSION {
            return Err(StoreError::Usage(format!(
                "{} has version {}; run agent-cli migrate {} --in-place first, or use --out FILE",
                path.display(),
                session.version(),
                path.display()
            )));
        }
        if session.memory.is_some() {
            let text = format!("{} is no regular file; use --out FILE", path.display());
            return Err(StoreError::Usage(text));
        }
        if session.tree().header().is_none() {
            let reason = "its header is lost, so other agents cannot open it; repair the first line before writing to it";
            return Err(StoreError::session(path, reason));
        }
        Ok(Self {
            session,
            clock: SyncClock::default(),
            lock,
        })
    }

    /// Returns a writer of a session that was just made, under a lock that was held meanwhile.
    pub(crate) fn over(session: SessionFile, lock: SessionLock) -> Self {
        Self {
            session,
            clock: SyncClock::default(),
            lock,
        }
    }

    /// Checks that nobody else may hold the lock by now.
    pub(crate) fn check_lock(&self) -> Result<(), StoreError> {
        self.lock.check(&self.session.path)
    }

    /// Appends lines in one write and takes them into the tree of [`session`](Self::session), so that more
    /// can follow without reading the session again. After an error the file has the bytes that it had before.
    pub fn append(&mut self, lines: &[String]) -> Result<(), StoreError> {
        self.check_lock()?;
        let path = &self.session.path;
        let mut file = append::open(path)?;
        let decoded = &self.session.decoded;
        let now = Instant::now();
        let due = self.clock.due(now);
        let length = append_lines(
            &mut file,
            decoded.bytes,
            decoded.ends_with_newline,
            lines,
            due,
        )
        .map_err(|error| match error {
            AppendError::Changed => StoreError::session(
                path,
                "changed while it was open (another program wrote to it); run the command again",
            ),
            AppendError::Io(source) => StoreError::io("append to", path, source),
        })?;
        self.clock.written(now, due);
        self.take(lines, length);
        Ok(())
    }

    /// Sets when appends are forced to the disk; until then every one is.
    pub fn set_sync(&mut self, policy: SyncPolicy) {
        self.clock.policy = policy;
    }

    /// Forces to the disk what the policy let wait.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        if !self.clock.waits() {
            return Ok(());
        }
        let path = &self.session.path;
        let mut file = append::open(path)?;
        AppendFile::sync(&mut file).map_err(|error| StoreError::io("append to", path, error))?;
        self.clock.written(Instant::now(), SyncPolicy::Always);
        Ok(())
    }

    /// Takes lines that were appended, up to `length`, into what is known of the session.
    fn take(&mut self, lines: &[String], length: u64) {
        let decoded = &mut self.session.decoded;
        let written: u64 = lines.iter().map(|line| line.len() as u64 + 1).sum();
        let mut offset = length - written;
        for line in lines {
            decoded.lines += 1;
            // What is no entry of the tree (a header, say) is in the file all the same.
            let _ = decoded.tree.append(line.as_bytes(), offset, decoded.lines);
            offset += line.len() as u64 + 1;
        }
        decoded.bytes = length;
        decoded.ends_with_newline = true;
    }
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        let _ = self.sync();
    }
}

/// Makes a new session of what `write` writes. The file appears whole, with its bytes on the disk, or not at
/// all; an existing one is never replaced. Only its owner may read it. `check` may refuse what was written.
/// A user who cancels does not stop it: by then there is something to keep.
pub(crate) fn create_session(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    check: impl FnOnce(&SessionFile) -> Result<(), StoreError>,
) -> Result<SessionFile, StoreError> {
    let failed = |error| StoreError::io("write", path, error);
    let prepared = new_file::prepare(path, write).map_err(failed)?;
    // All that can fail comes before the file has its name.
    let mut file = prepared.reopen().map_err(failed)?;
    let decoder = read_all(&mut file).map_err(failed)?;
    let session = SessionFile {
        path: path.to_owned(),
        decoded: decoder.finish(Arc::new(FileSource::new(file))),
        memory: None,
    };
    check(&session)?;
    new_file::settle(prepared, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::session(path, TAKEN),
        _ => failed(error),
    })?;
    Ok(session)
}

/// Why a new session is not written where a file stands.
pub(crate) const TAKEN: &str = "exists already and is never written over; choose another name";

/// Feeds all of a file to a decoder.
fn read_all(file: &mut File) -> io::Result<Decoder> {
    let mut decoder = Decoder::new();
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(decoder),
            count => decoder.feed(&block[..count]),
        }
    }
}
