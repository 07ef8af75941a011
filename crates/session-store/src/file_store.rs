//! The store in files, and how a session in a file begins: opened, new, or as a fork.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_model::{HeaderDraft, Leaf, SessionTree};

use crate::error::StoreError;
use crate::file::SessionFile;
use crate::file_layer::{FileLayer, SystemFiles};
use crate::file_log::{FileLog, Place};
use crate::in_memory_log::InMemoryLog;
use crate::locator::Locator;
use crate::lock::SessionLock;
use crate::log::Store;
use crate::new_file::folder_of;
use crate::pending::{Held, Pending, make_folder, pending_path};
use crate::queue::Queued;
use crate::stamp::header_now;
use crate::traits::{Carry, ForkSource};
use crate::writer::{SessionWriter, TAKEN, create_session};

/// A session in a file.
pub type FileStore = Store<FileLog>;

impl Store<FileLog> {
    /// Opens a session and locks it until the store is dropped. Messages that wait for it wait on. A session
    /// that was left before its file appeared is opened by the name of that file.
    ///
    /// # Errors
    /// The session cannot be read, is locked, or has a form that cannot be appended to; what waits is not its own.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_through(path, Arc::new(SystemFiles))
    }

    /// Opens a session as [`open`](Self::open) does, to be written through `files`.
    pub(crate) fn open_through(path: &Path, files: Arc<dyn FileLayer>) -> Result<Self, StoreError> {
        if path == Path::new("-") {
            return Self::open_persisted(path, files);
        }
        let path = &absolute(path)?;
        if path.symlink_metadata().is_ok() || !Self::exists(path) {
            return Self::open_persisted(path, files);
        }
        let lock = SessionLock::acquire_unpersisted(path)?;
        if path.symlink_metadata().is_ok() {
            // It was persisted while this waited for the lock.
            drop(lock);
            return Self::open_persisted(path, files);
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

    /// Returns whether a session is there: its file, or the file of what waits for it.
    pub fn exists(path: &Path) -> bool {
        path.symlink_metadata().is_ok() || pending_path(path).exists()
    }

    fn open_persisted(path: &Path, files: Arc<dyn FileLayer>) -> Result<Self, StoreError> {
        let mut writer = SessionWriter::open(path)?;
        writer.set_files(files.clone());
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
            FileLog::over(path, place, pending, files),
            queue,
        ))
    }

    /// Returns a new session in `folder`. There is no file before the first answer, and nothing at all before
    /// something worth keeping is said.
    pub fn create(folder: &Path, cwd: &Path, parent_session: Option<&Path>) -> Self {
        let header = header_now(text(cwd), parent_session.map(parent_text));
        Self::create_through(folder, &header, Arc::new(SystemFiles))
    }

    pub(crate) fn create_through(
        folder: &Path,
        header: &HeaderDraft,
        files: Arc<dyn FileLayer>,
    ) -> Self {
        let path = folder.join(file_name(header));
        let path = std::path::absolute(&path).unwrap_or(path);
        Self::unpersisted(&path, header, files)
    }

    /// Returns a new session whose file the user named; a file that is there is refused.
    ///
    /// # Errors
    /// Something has the name.
    pub fn create_at(
        path: &Path,
        cwd: &Path,
        parent_session: Option<&Path>,
    ) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::session(path, TAKEN));
        }
        if pending_path(&path).symlink_metadata().is_ok() {
            let reason = "a session of this name was begun and waits to go on; open it, or choose another name";
            return Err(StoreError::session(path, reason));
        }
        let header = header_now(text(cwd), parent_session.map(parent_text));
        Ok(Self::unpersisted(&path, &header, Arc::new(SystemFiles)))
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

    /// Writes a new session in `folder` that goes on from `leaf` of another one: a header that names the source,
    /// and the lines of the path to the leaf as they stand. Then come the entries that `carry` makes.
    ///
    /// # Errors
    /// The source has an old version or cannot be read; the copy cannot be written.
    pub fn fork(
        source: &SessionFile,
        leaf: Leaf,
        folder: &Path,
        cwd: &Path,
        carry: Carry,
    ) -> Result<Self, StoreError> {
        let locator = Some(Locator::of_path(&source.path));
        let source = ForkSource {
            tree: source.tree(),
            locator: locator.as_ref().filter(|at| at.as_os_str() != "-"),
        };
        Self::fork_through(
            source,
            leaf,
            folder,
            &text(cwd),
            carry,
            Arc::new(SystemFiles),
        )
    }

    pub(crate) fn fork_through(
        source: ForkSource<'_>,
        leaf: Leaf,
        folder: &Path,
        cwd: &str,
        carry: Carry,
        files: Arc<dyn FileLayer>,
    ) -> Result<Self, StoreError> {
        let parent = source
            .locator
            .map(|at| absolute(at.as_path()))
            .transpose()?;
        let header = header_now(cwd.to_owned(), parent.as_deref().map(text));
        let copy = InMemoryLog::forked(&header, &source, leaf, carry)?;
        let path = absolute(&folder.join(file_name(&header)))?;
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

    /// Returns where the session's file is, or will be.
    pub fn path(&self) -> &Path {
        self.log.path()
    }
}

/// Returns the messages that wait for a session, from its pending file. A file that says nothing new is removed.
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
    if queue.is_empty() && all_there {
        // All that it says is in the session, so it does no harm where it cannot be removed.
        let _ = pending.remove();
    }
    Ok(queue)
}

/// Returns the name of a session's file as pi makes it: `2026-01-01T00-00-00-000Z_ID.jsonl`.
fn file_name(header: &HeaderDraft) -> String {
    let timestamp = header.timestamp.to_string().replace([':', '.'], "-");
    format!("{timestamp}_{}.jsonl", header.id)
}

/// Returns the path as a header holds it.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns the path of a parent as a header holds it: one that says the same everywhere.
fn parent_text(path: &Path) -> String {
    std::path::absolute(path).map_or_else(|_| text(path), |path| text(&path))
}

/// Returns the path from the root on, so that it stays the same wherever the program goes.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| StoreError::io("open", path, error))
}
