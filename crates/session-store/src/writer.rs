//! The writer of a session: locked, appending, and aware of what it wrote.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use session_model::Decoder;

use crate::append::{AppendError, SyncClock, SyncPolicy, Written, write_lines};
use crate::digest::Digest;
use crate::error::StoreError;
use crate::file::{CHANGED, NEWEST_VERSION, SessionFile, file_metadata};
use crate::file_layer::{AppendFile, FileLayer, SystemFiles};
use crate::lock::SessionLock;
use crate::new_file;
use crate::off_thread::off_thread;
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
    files: Arc<dyn FileLayer>,
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
        Ok(Self::over(session, lock, Arc::new(SystemFiles)))
    }

    /// Returns a writer of a session that was just made, under a lock that was held meanwhile.
    pub(crate) fn over(session: SessionFile, lock: SessionLock, files: Arc<dyn FileLayer>) -> Self {
        Self {
            session,
            clock: SyncClock::default(),
            lock,
            files,
        }
    }

    /// Writes through `files` from now on.
    pub(crate) fn set_files(&mut self, files: Arc<dyn FileLayer>) {
        self.files = files;
    }

    /// Checks that nobody else may hold the lock by now.
    pub(crate) fn check_lock(&self) -> Result<(), StoreError> {
        self.lock.check(&self.session.path)
    }

    /// Appends lines in one write and takes them into the tree of [`session`](Self::session), so that more
    /// can follow without reading the session again. After an error the file has the bytes that it had before.
    pub fn append(&mut self, lines: &[String]) -> Result<(), StoreError> {
        let mut write = self.write(lines)?.ok_or_else(|| self.changed())?;
        let synced = write.sync();
        self.settle(write, synced, lines)
    }

    /// Appends lines as [`append`](Self::append) does, without holding up the caller's thread. What another program
    /// appended meanwhile joins the tree before them.
    pub(crate) async fn append_behind(&mut self, lines: &[String]) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let Some(mut write) = self.write(lines)? else {
                self.reload()?;
                continue;
            };
            if write.due == SyncPolicy::Always {
                let synced = off_thread(move || {
                    let synced = write.sync();
                    (write, synced)
                });
                let (write, synced) = synced.await.map_err(|error| self.failed(error))?;
                return self.settle(write, synced, lines);
            }
            return self.settle(write, Ok(()), lines);
        }
        Err(self.changed())
    }

    /// Takes what another program appended into the tree.
    ///
    /// # Errors
    /// What was known changed, or the new part ends in the middle of a line. The next call takes such a line for torn.
    pub(crate) fn reload(&mut self) -> Result<(), StoreError> {
        let path = &self.session.path;
        let length = std::fs::metadata(path)
            .map_err(|error| self.failed(error))?
            .len();
        if length == self.session.decoded.bytes {
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

    /// Writes lines; `None` where the session is not as long as it is known to be.
    fn write(&self, lines: &[String]) -> Result<Option<Write>, StoreError> {
        self.check_lock()?;
        let path = &self.session.path;
        let mut file = self
            .files
            .open(path, false)
            .map_err(|error| self.failed(error))?;
        let decoded = &self.session.decoded;
        let (at, whole) = (Instant::now(), decoded.ends_with_newline);
        match write_lines(&mut *file, decoded.bytes, whole, lines) {
            Ok(written)
                if written.start != decoded.bytes && whole && !follows_line(path, written) =>
            {
                // Another program was in the middle of a line.
                written.take_back(&mut *file);
                Ok(None)
            }
            Ok(written) => Ok(Some(Write {
                due: self.clock.due(at),
                file,
                written,
                at,
            })),
            Err(AppendError::Changed) => Ok(None),
            Err(AppendError::Io(error)) => Err(self.failed(error)),
        }
    }

    /// Takes lines that were written and synced into what is known of the session, or takes them back.
    fn settle(
        &mut self,
        mut write: Write,
        synced: io::Result<()>,
        lines: &[String],
    ) -> Result<(), StoreError> {
        if let Err(error) = synced {
            write.written.take_back(&mut *write.file);
            return Err(self.failed(error));
        }
        self.clock.written(write.at, write.due);
        match write.written.start == self.session.decoded.bytes {
            true => self.take(lines),
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

    /// Sets when appends are forced to the disk; until then every one is.
    pub fn set_sync(&mut self, policy: SyncPolicy) {
        self.clock.policy = policy;
    }

    /// Forces to the disk what the policy let wait.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        if !self.clock.waits() {
            return Ok(());
        }
        let opened = self.files.open(&self.session.path, false);
        let synced = opened.and_then(|mut file| file.sync());
        synced.map_err(|error| self.failed(error))?;
        self.clock.written(Instant::now(), SyncPolicy::Always);
        Ok(())
    }

    /// Takes lines that were appended at the end into what is known of the session.
    fn take(&mut self, lines: &[String]) {
        let SessionFile {
            decoded, digest, ..
        } = &mut self.session;
        if !decoded.ends_with_newline {
            digest.update(b"\n");
            decoded.bytes += 1;
        }
        for line in lines {
            decoded.lines += 1;
            // What is no entry of the tree (a header, say) is in the file all the same.
            let _ = decoded
                .tree
                .append(line.as_bytes(), decoded.bytes, decoded.lines);
            digest.update(line.as_bytes());
            digest.update(b"\n");
            decoded.bytes += line.len() as u64 + 1;
        }
        decoded.ends_with_newline = true;
    }
}

/// How often an append tries anew when other programs write at the same time.
const ATTEMPTS: usize = 8;

/// Lines that are written, and the file that they are in.
struct Write {
    file: Box<dyn AppendFile>,
    written: Written,
    due: SyncPolicy,
    at: Instant,
}

impl Write {
    fn sync(&mut self) -> io::Result<()> {
        match self.due {
            SyncPolicy::Always => self.file.sync(),
            SyncPolicy::Interval | SyncPolicy::Never => Ok(()),
        }
    }
}

/// Returns whether a line ends where lines were written.
fn follows_line(path: &Path, written: Written) -> bool {
    let mut before = [0];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(written.start.saturating_sub(1)))?;
        file.read_exact(&mut before)
    });
    read.is_ok() && before == *b"\n"
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        // Errors cannot be reported during drop.
        let _ = self.sync();
    }
}

/// Makes a new session of `bytes`. The file appears whole, with its bytes on the disk, or not at all; an existing one
/// is never replaced. Only its owner may read it.
pub(crate) fn create_session(
    path: &Path,
    bytes: &[u8],
    files: &dyn FileLayer,
) -> Result<SessionFile, StoreError> {
    let failed = |error| StoreError::io("write", path, error);
    let prepared = new_file::prepare(path, files, |to| to.write_all(bytes)).map_err(failed)?;
    // All that can fail comes before the file has its name.
    let file = prepared.reopen().map_err(failed)?;
    let mut decoder = Decoder::new();
    decoder.feed(bytes);
    let mut digest = Digest::default();
    digest.update(bytes);
    let session = SessionFile {
        path: path.to_owned(),
        decoded: decoder.finish(Arc::new(FileSource::new(file))),
        memory: None,
        digest,
    };
    new_file::settle(prepared, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::session(path, TAKEN),
        _ => failed(error),
    })?;
    Ok(session)
}

/// Why a new session is not written where a file stands.
pub(crate) const TAKEN: &str = "exists already and is never written over; choose another name";
