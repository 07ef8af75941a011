//! The store in files, and how a session in a file begins: opened, new, or as a fork.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_model::{HeaderDraft, Leaf, SessionTree};

use crate::error::StoreError;
use crate::file_layer::FileLayer;
use crate::file_log::{FileLog, Place};
use crate::in_memory_log::InMemoryLog;
use crate::locator::Locator;
use crate::lock::SessionLock;
use crate::log::Store;
use crate::new_file::folder_of;
use crate::pending::{Held, Pending, make_folder, pending_path};
use crate::progress::ReadObserver;
use crate::queue::Queued;
use crate::stamp::header_now;
use crate::traits::{Carry, ForkSource};
use crate::writer::{SessionWriter, TAKEN, create_session};

/// A session in a file.
pub type FileStore = Store<FileLog>;

/// Returns true if a session is at a path: its file, or the file of what waits for it.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok() || pending_path(path).exists()
}

impl Store<FileLog> {
    /// Opens and locks a session. One that was left before its file appeared is opened by the name of that file.
    pub(crate) fn open_through(
        path: &Path,
        files: Arc<dyn FileLayer>,
        observer: &mut dyn ReadObserver,
    ) -> Result<Self, StoreError> {
        if path == Path::new("-") {
            return Self::open_persisted(path, files, observer);
        }
        if path.symlink_metadata().is_ok() || !exists(path) {
            return Self::open_persisted(path, files, observer);
        }
        let path = &absolute(path)?;
        let lock = SessionLock::acquire_unpersisted(path)?;
        if path.symlink_metadata().is_ok() {
            // It was persisted while this waited for the lock.
            drop(lock);
            return Self::open_persisted(path, files, observer);
        }
        let (pending, held) = Pending::open(path, files.clone())?;
        let held = held.filter(|held| held.session.tree().header().is_some());
        let Some(held) = held else {
            let reason = format!(
                "no such session file, and {} holds no session; check the path",
                pending.path().display()
            );
            return Err(StoreError::session(path, reason));
        };
        let place = Place::Unpersisted {
            is_worth_keeping: !held.session.tree().is_empty(),
            log: Box::new(held.session),
            lock: Some(lock),
        };
        let log = FileLog::over(path, place, pending, files);
        Ok(Self::over(log, held.queue))
    }

    fn open_persisted(
        path: &Path,
        files: Arc<dyn FileLayer>,
        observer: &mut dyn ReadObserver,
    ) -> Result<Self, StoreError> {
        let mut writer = SessionWriter::open(path, files.clone(), observer)?;
        // The path stays the same if the program changes its folder.
        writer.session.path = absolute(path)?;
        // A link and its target are one session.
        let target =
            std::fs::canonicalize(path).map_err(|error| StoreError::io("open", path, error))?;
        let (mut pending, held) = Pending::open(&target, files.clone())?;
        let queue = match held {
            None => Vec::new(),
            Some(held) => taken_over(held, writer.session.tree(), &mut pending, path)?,
        };
        let place = Place::persisted(writer);
        Ok(Self::over(
            FileLog::over(&absolute(path)?, place, pending, files),
            queue,
        ))
    }

    /// Returns a new session in `folder`. There is no session file before the first answer, and no file at all before
    /// the first content worth keeping.
    pub(crate) fn create_through(
        folder: &Path,
        header: &HeaderDraft,
        files: Arc<dyn FileLayer>,
    ) -> Self {
        let path = path_in(folder, header);
        let path = std::path::absolute(&path).unwrap_or(path);
        Self::unpersisted(&path, header, files)
    }

    /// Returns a new session whose file the user named; a file that is there is refused.
    pub(crate) fn create_at(
        path: &Path,
        header: &HeaderDraft,
        files: Arc<dyn FileLayer>,
    ) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::session(path, TAKEN));
        }
        if pending_path(&path).symlink_metadata().is_ok() {
            let reason =
                "a session of this name was begun already; open it, or choose another name";
            return Err(StoreError::session(path, reason));
        }
        Ok(Self::unpersisted(&path, header, files))
    }

    fn unpersisted(path: &Path, header: &HeaderDraft, files: Arc<dyn FileLayer>) -> Self {
        let place = Place::Unpersisted {
            log: Box::new(InMemoryLog::of_header(header)),
            lock: None,
            is_worth_keeping: false,
        };
        let pending = Pending::new(path, files.clone());
        Self::over(FileLog::over(path, place, pending, files), Vec::new())
    }

    /// Writes a new session in `folder` that continues from `leaf` of another one: a header that names the source,
    /// and the lines of the path to the leaf as they are. Then come the entries that `carry` makes.
    pub(crate) fn fork_through(
        source: &ForkSource<'_>,
        leaf: Leaf,
        folder: &Path,
        cwd: &str,
        carry: Carry<'_>,
        files: Arc<dyn FileLayer>,
    ) -> Result<Self, StoreError> {
        let header = header_now(cwd.to_owned(), parent_text(source.locator())?);
        let copy = InMemoryLog::forked(&header, source, leaf, carry)?;
        let path = absolute(&path_in(folder, &header))?;
        make_folder(folder_of(&path))?;
        let lock = SessionLock::acquire_unpersisted(&path)?;
        let session = create_session(&path, &copy.to_bytes(), &*files)?;
        let place = Place::persisted(SessionWriter::over(session, lock, files.clone()));
        let pending = Pending::new(&path, files.clone());
        Ok(Self::over(
            FileLog::over(&path, place, pending, files),
            Vec::new(),
        ))
    }

    /// Returns the path of the session's file, which may not exist yet.
    pub fn path(&self) -> &Path {
        self.log.path()
    }
}

/// Returns the messages that wait for a session, from its pending file. A file without new content is removed, one
/// with other content than messages is refused.
fn taken_over(
    held: Held,
    tree: &SessionTree,
    pending: &mut Pending,
    path: &Path,
) -> Result<Vec<Queued>, StoreError> {
    let known = |id: &str| tree.find(id).is_some();
    let id = tree.header().map_or("", |header| header.id.as_str());
    if !held.belongs_to(id) {
        let reason = match held.owner {
            Some(_) => "belongs to another session; move it away",
            None => {
                "names no session that it belongs to, so its messages may not be yours; move it away"
            }
        };
        let reason = format!("{} next to it {reason}", pending.path().display());
        return Err(StoreError::session(path, reason));
    }
    let waiting = held.queue.into_iter();
    let queue: Vec<Queued> = waiting.filter(|queued| !known(&queued.id)).collect();
    let unpersisted = held.session.tree();
    let all_there = unpersisted
        .indices()
        .all(|index| known(unpersisted.id(index)));
    if !all_there || held.has_unknown {
        let reason = format!(
            "{} next to it holds what is not in the session; move it away",
            pending.path().display()
        );
        return Err(StoreError::session(path, reason));
    }
    if queue.is_empty() {
        // All of its content is in the session, so it does no harm if it cannot be removed.
        let _ = pending.remove();
    }
    Ok(queue)
}

/// Returns the path of a new session, with a name as in pi: `2026-01-01T00-00-00-000Z_ID.jsonl`.
fn path_in(folder: &Path, header: &HeaderDraft) -> PathBuf {
    folder.join(file_name(&header.timestamp.to_string(), &header.id))
}

/// Returns the name of the file of the session that began then.
pub(crate) fn file_name(began: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", began.replace([':', '.'], "-"))
}

/// Returns the parent as a header holds it: an absolute path.
pub(crate) fn parent_text(parent: Option<&Locator>) -> Result<Option<String>, StoreError> {
    let text = parent.map(|at| match at.is_remote() {
        true => Ok(at.to_string()),
        false => Ok(absolute(at.as_path())?.to_string_lossy().into_owned()),
    });
    text.transpose()
}

/// Returns the absolute path, so that it stays the same if the program changes its folder.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| StoreError::io("open", path, error))
}
