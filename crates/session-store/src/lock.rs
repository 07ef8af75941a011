//! The lock of a session: an advisory lock on a file next to it, held while the session may be written.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Advice, StoreError};
use crate::new_file::folder_of;
use crate::sidecars::lock_path;

/// A held lock; dropping its last clone gives it back and removes its file.
///
/// The lock stands on a file of its own, because a session that is replaced
/// (by `migrate`) is another file afterwards, and a lock on the old one would
/// protect nothing. Readers never lock.
#[derive(Debug, Clone)]
pub struct SessionLock(Arc<Held>);

#[derive(Debug)]
struct Held {
    file: File,
    path: PathBuf,
}

impl SessionLock {
    /// Returns the path of the lock of `session`.
    pub fn path_for(session: &Path) -> PathBuf {
        lock_path(session)
    }

    /// Takes the lock of `session`, or returns an error that names the holder.
    ///
    /// # Errors
    /// Another process holds it, or the file of the lock cannot be made.
    pub fn acquire(session: &Path) -> Result<Self, StoreError> {
        // A link and its target are one session.
        let session = std::fs::canonicalize(session)
            .map_err(|error| StoreError::io("open", session, error))?;
        Self::take(&session)
    }

    /// Takes the lock of a session whose file is not there yet; its folder is.
    ///
    /// # Errors
    /// Those of [`acquire`](Self::acquire), and a folder that is not there.
    pub fn acquire_unpersisted(session: &Path) -> Result<Self, StoreError> {
        Self::take(&canonical_unpersisted(session)?)
    }

    /// Returns the process that says it holds the lock of `session`, without a look at the lock itself,
    /// which would take it for a moment. On systems that list processes, one that is gone holds nothing, nor does one
    /// that has the number of an earlier one: the lock is not among its open files, where those are shown.
    pub fn holder(session: &Path) -> Option<u32> {
        let session = std::fs::canonicalize(session)
            .or_else(|_| canonical_unpersisted(session))
            .ok()?;
        let path = Self::path_for(&session);
        let held = content(&path)?;
        let pid: u32 = std::str::from_utf8(&held).ok()?.trim().parse().ok()?;
        let processes = Path::new("/proc");
        if !processes.join("self").exists() {
            return Some(pid);
        }
        let process = processes.join(pid.to_string());
        let is_open = match std::fs::read_dir(process.join("fd")) {
            Ok(open) => open
                .flatten()
                .any(|open| std::fs::read_link(open.path()).is_ok_and(|name| name == path)),
            Err(_) => process.exists(),
        };
        is_open.then_some(pid)
    }

    /// Checks that the lock is still the file at its path. If another file replaced it, the program that locked that
    /// one may write `session` too.
    pub(crate) fn check(&self, session: &Path) -> Result<(), StoreError> {
        match same_file(&self.0.file, &self.0.path) {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(StoreError::session(
                session,
                format!(
                    "its lock {} was replaced or removed while the session was open, so another program may write it; nothing was written; open the session again",
                    self.0.path.display()
                ),
            )),
        }
    }

    fn take(session: &Path) -> Result<Self, StoreError> {
        Self::take_checked(session, same_file)
    }

    /// Takes the lock; `is_ours` returns true if an open file is still the one at the path.
    fn take_checked(
        session: &Path,
        is_ours: impl Fn(&File, &Path) -> io::Result<bool>,
    ) -> Result<Self, StoreError> {
        let path = Self::path_for(session);
        for _ in 0..ATTEMPTS {
            refuse_foreign(session, &path)?;
            let mut options = OpenOptions::new();
            options.create(true).read(true).write(true).truncate(false);
            let file = options
                .open(&path)
                .map_err(|error| StoreError::io("create the lock", &path, error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(held_by_other(session, &path)),
                Err(TryLockError::Error(error)) => {
                    return Err(StoreError::io("lock", &path, error));
                }
            }
            // The holder before may have removed the file between our opening and locking it.
            if !is_ours(&file, &path).map_err(|error| StoreError::io("examine", &path, error))? {
                continue;
            }
            let pid = std::process::id().to_string();
            // The pid only serves messages.
            let _ = file.set_len(0);
            let _ = (&file).write_all(pid.as_bytes());
            return Ok(Self(Arc::new(Held { file, path })));
        }
        let reason = format!(
            "other programs remove its lock {} again and again; try again when they are done",
            path.display()
        );
        Err(StoreError::session(session, reason))
    }
}

/// The number of times a lock that is removed meanwhile is taken again.
const ATTEMPTS: usize = 100;

fn held_by_other(session: &Path, lock: &Path) -> StoreError {
    let holder = content(lock).unwrap_or_default();
    let holder = String::from_utf8_lossy(&holder);
    let holder = match holder.trim() {
        "" => "another process".to_owned(),
        pid => format!("process {pid}"),
    };
    let reason = format!("locked by {holder}; wait for it");
    StoreError::session(session, reason).advising(Advice::ReadOrFork)
}

/// Returns the path without links of a file that is not there, in a folder that is.
fn canonical_unpersisted(session: &Path) -> Result<PathBuf, StoreError> {
    let folder = folder_of(session);
    let folder =
        std::fs::canonicalize(folder).map_err(|error| StoreError::io("open", folder, error))?;
    match session.file_name() {
        Some(name) => Ok(folder.join(name)),
        None => Err(StoreError::session(
            session,
            "no name of a file; name a session file",
        )),
    }
}

/// Refuses a file that only has the name of a lock: a link, a folder, or a file that holds anything but a process id.
/// Writing a lock over it would destroy its contents.
fn refuse_foreign(session: &Path, path: &Path) -> Result<(), StoreError> {
    let foreign = match path.symlink_metadata() {
        Err(_) => false,
        Ok(found) if !found.is_file() || found.len() > LONGEST_PID => true,
        // A lock whose holder just removed it is no foreign file.
        Ok(_) => content(path).is_some_and(|held| !held.iter().all(u8::is_ascii_digit)),
    };
    match foreign {
        false => Ok(()),
        true => {
            let lock = path.display();
            let reason =
                format!("{lock} stands where the lock belongs and is not a lock; move it away");
            Err(StoreError::session(session, reason).advising(Advice::OrCopy))
        }
    }
}

/// The most digits of a process id.
const LONGEST_PID: u64 = 20;

/// Returns what a small file holds, be it text or not.
fn content(path: &Path) -> Option<Vec<u8>> {
    let mut held = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST_PID + 1).read_to_end(&mut held).ok()?;
    Some(held)
}

/// Returns true if a name still leads to an open file.
fn same_file(file: &File, path: &Path) -> io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(named) => Ok(is_same(&file.metadata()?, &named)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_same(held: &Metadata, named: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    held.ino() == named.ino() && held.dev() == named.dev()
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

impl Drop for Held {
    fn drop(&mut self) {
        // Removed while the lock is still held; see `acquire`. A failure leaves an empty, unlocked file. Another file
        // at its path belongs to another program.
        if same_file(&self.file, &self.path).is_ok_and(|same| same) {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests;
