//! The writer of a session: locked, appending, and aware of what it wrote.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::append::{AppendError, SyncPolicy, Syncing, Written};
use crate::error::{Advice, CHANGED, StoreError};
use crate::file::{NEWEST_VERSION, SessionFile, file_metadata};
use crate::file_layer::FileLayer;
use crate::lock::SessionLock;
use crate::new_file::NewFile;
use crate::progress::ReadObserver;
use crate::replace::writable;

/// The error for `-` with `--in-place`.
pub const STDIN_IN_PLACE: &str = "standard input cannot be changed in place";

/// A session that was opened for writing: locked from before it was read until this is dropped.
#[derive(Debug)]
pub(crate) struct SessionWriter {
    /// The session as it was when it was locked.
    pub(crate) session: SessionFile,
    /// When appends are forced to the disk; until it is set, each is.
    pub(crate) policy: SyncPolicy,
    syncing: Syncing,
    pub(crate) lock: SessionLock,
    files: Arc<dyn FileLayer>,
}

impl SessionWriter {
    /// Locks and opens a session. A version before 3 is refused: `migrate` comes first.
    pub(crate) fn open(
        path: &Path,
        files: Arc<dyn FileLayer>,
        observer: &mut dyn ReadObserver,
    ) -> Result<Self, StoreError> {
        if path == Path::new("-") {
            return Err(StoreError::usage(STDIN_IN_PLACE).advising(Advice::UseCopy));
        }
        let about = file_metadata(path)?;
        if !about.is_file() {
            let text = format!("{} is not a regular file", path.display());
            return Err(StoreError::usage(text).advising(Advice::UseCopy));
        }
        writable(path, &about)?;
        let lock = SessionLock::acquire(path)?;
        let session = SessionFile::open_observed(path, observer)?;
        if session.version() < NEWEST_VERSION {
            let text = format!("{} has version {}", path.display(), session.version());
            return Err(StoreError::usage(text).advising(Advice::Migrate(path.to_owned())));
        }
        if session.tree().header().is_none() {
            let reason = "its header is lost, so other agents cannot open it; repair the first line before writing to it";
            return Err(StoreError::session(path, reason));
        }
        Ok(Self::over(session, lock, files))
    }

    /// Returns a writer of a session that was just made, under a lock that was held meanwhile.
    pub(crate) fn over(session: SessionFile, lock: SessionLock, files: Arc<dyn FileLayer>) -> Self {
        Self {
            session,
            policy: SyncPolicy::Always,
            syncing: Syncing::default(),
            lock,
            files,
        }
    }

    /// Checks that no other program can hold the lock by now.
    pub(crate) fn check_lock(&self) -> Result<(), StoreError> {
        self.lock.check(&self.session.path)
    }

    /// Appends lines in one write and takes them into the tree of [`session`](Self::session), so that more can follow
    /// without reading the session again. What another program appended meanwhile joins the tree before them.
    pub(crate) async fn append_behind(&mut self, lines: &[String]) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let Some(mut written) = self.write(lines)? else {
                self.reload().await?;
                continue;
            };
            if self.policy == SyncPolicy::Always {
                let synced = self.syncing.sync(written, self.lock.clone()).await;
                written = synced.map_err(|error| self.failed(error))?;
            }
            return self.take_in(&written, lines);
        }
        Err(self.changed())
    }

    /// Takes what another program appended into the tree.
    ///
    /// # Errors
    /// What was known changed, or the new part ends in the middle of a line. The next call takes such a line for torn.
    pub(crate) async fn reload(&mut self) -> Result<(), StoreError> {
        // It may take back what it could not force to the disk; the length of the file shows that.
        let _ = self.syncing.abandoned().await;
        let path = &self.session.path;
        let found = std::fs::metadata(path).map_err(|error| self.failed(error))?;
        if found.len() == self.session.decoded.bytes {
            return Ok(());
        }
        self.session = self.session.read_again()?;
        match self.session.decoded.ends_with_newline {
            true => Ok(()),
            false => Err(StoreError::session(
                &self.session.path,
                "another program has begun to write a line; nothing was written; try again",
            )),
        }
    }

    /// Writes lines; `None` if the session has another length than expected.
    fn write(&self, lines: &[String]) -> Result<Option<Written>, StoreError> {
        self.check_lock()?;
        let path = &self.session.path;
        let file = self.files.open(path, false);
        let file = file.map_err(|error| self.failed(error))?;
        let decoded = &self.session.decoded;
        let whole = decoded.ends_with_newline;
        match Written::append(file, decoded.bytes, whole, lines) {
            Ok(mut written)
                if written.start != decoded.bytes && whole && !follows_line(path, &written) =>
            {
                // Another program was in the middle of a line.
                written.take_back();
                Ok(None)
            }
            Ok(written) => Ok(Some(written)),
            Err(AppendError::Changed) => Ok(None),
            Err(AppendError::Io(error)) => Err(self.failed(error)),
        }
    }

    /// Takes lines that were written into what is known of the session.
    fn take_in(&mut self, written: &Written, lines: &[String]) -> Result<(), StoreError> {
        match written.start == self.session.decoded.bytes {
            true => self.session.take_in(lines),
            // Another program wrote between the look at the length and the write.
            false => self.session = self.session.read_again()?,
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::io("append to", &self.session.path, error)
    }

    fn changed(&self) -> StoreError {
        StoreError::session(&self.session.path, CHANGED)
    }
}

/// The number of times an append tries again when other programs write at the same time.
const ATTEMPTS: usize = 8;

/// Returns true if a line ends where lines were written.
fn follows_line(path: &Path, written: &Written) -> bool {
    let mut before = [0];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(written.start.saturating_sub(1)))?;
        file.read_exact(&mut before)
    });
    read.is_ok() && before == *b"\n"
}

/// Makes a new session of `bytes`. The file appears whole, with its bytes on the disk, or not at all; an existing one
/// is never replaced. Only its owner may read it.
pub(crate) fn create_session(
    path: &Path,
    bytes: &[u8],
    files: &dyn FileLayer,
) -> Result<SessionFile, StoreError> {
    let failed = |error| StoreError::io("write", path, error);
    let new = NewFile::filled(path, files, |to| to.write_all(bytes)).map_err(failed)?;
    // All that can fail comes before the file has its name.
    let session = SessionFile::of_bytes(path, bytes, new.reopen().map_err(failed)?)?;
    new.settle().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::session(path, TAKEN),
        _ => failed(error),
    })?;
    Ok(session)
}

/// The reason why a new session is not written over an existing file.
pub(crate) const TAKEN: &str = "exists already and is never written over; choose another name";
