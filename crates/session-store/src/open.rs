//! How a living session begins: opened, new, in memory, or as a fork.

use std::io;
use std::path::{Path, PathBuf};

use session_model::{Leaf, SessionPath};

use crate::error::StoreError;
use crate::file::{SessionFile, header_now};
use crate::in_memory_log::InMemoryLog;
use crate::live::{LiveStore, Persisted, Place};
use crate::lock::SessionLock;
use crate::new_file::folder_of;
use crate::pending::{Pending, make_folder};
use crate::queue::{NewEntry, Queued};
use crate::unpersisted::Unpersisted;
use crate::writer::{SessionWriter, TAKEN, create_session};

impl LiveStore {
    /// Opens a session and locks it until the store is dropped. Messages that wait for it wait on. A session
    /// that was left before its file appeared is opened by the name of that file.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if path == Path::new("-") {
            return Self::open_persisted(path);
        }
        let path = &absolute(path)?;
        let gone = path.symlink_metadata().is_err();
        if !gone || !Pending::new(path).path().exists() {
            return Self::open_persisted(path);
        }
        let lock = SessionLock::acquire_unpersisted(path)?;
        if path.symlink_metadata().is_ok() {
            // It was persisted while this waited for the lock.
            drop(lock);
            return Self::open_persisted(path);
        }
        let (pending, held) = Pending::open(path)?;
        let held = held.filter(|held| held.session.tree().header().is_some());
        let Some(held) = held else {
            let reason = format!(
                "no such session file, and {} holds no session; check the path",
                pending.path().display()
            );
            return Err(StoreError::session(path, reason));
        };
        let unpersisted = Unpersisted {
            worth: !held.session.tree().is_empty(),
            log: held.session,
            path: path.clone(),
            pending,
            lock: Some(lock),
        };
        let mut store = Self::over(Place::Unpersisted(Box::new(unpersisted)));
        store.queue = held.queue;
        Ok(store)
    }

    /// Returns whether a session is there: its file, or the file of what waits for it.
    pub fn exists(path: &Path) -> bool {
        path.symlink_metadata().is_ok() || Pending::new(path).path().exists()
    }

    fn open_persisted(path: &Path) -> Result<Self, StoreError> {
        let writer = SessionWriter::open(path)?;
        // A link and its target are one session.
        let target =
            std::fs::canonicalize(path).map_err(|error| StoreError::io("open", path, error))?;
        let (pending, held) = Pending::open(&target)?;
        let read = writer.session.tree().len();
        let persisted = Persisted {
            writer,
            pending,
            read,
        };
        let mut store = Self::over(Place::Persisted(Box::new(persisted)));
        let Some(held) = held else {
            return Ok(store);
        };
        let tree = store.tree();
        let known = |id: &str| tree.find(id).is_some();
        if !held.belongs_to(&store.id) {
            let Place::Persisted(persisted) = &store.place else {
                unreachable!("it was made above");
            };
            let reason = match held.owner {
                Some(_) => "belongs to another session; move it away",
                None => {
                    "names no session that it belongs to, so its messages may not be yours; move it away"
                }
            };
            let pending = persisted.pending.path().display();
            return Err(StoreError::session(
                path,
                format!("{pending} next to it {reason}"),
            ));
        }
        let waiting = held.queue.into_iter();
        let queue: Vec<Queued> = waiting.filter(|queued| !known(&queued.id)).collect();
        let unpersisted = held.session.tree();
        let all_there = unpersisted
            .indices()
            .all(|index| known(unpersisted.id(index)));
        store.queue = queue;
        if store.queue.is_empty()
            && all_there
            && let Place::Persisted(persisted) = &mut store.place
        {
            // All that it says is in the session, so it does no harm where it cannot be removed.
            let _ = persisted.pending.remove();
        }
        Ok(store)
    }

    /// Returns a new session in `folder`. There is no file before the first answer, and nothing at all before
    /// something worth keeping is said.
    pub fn create(folder: &Path, cwd: &Path, parent_session: Option<&Path>) -> Self {
        let header = header_now(text(cwd), parent_session.map(parent_text));
        let path = folder.join(file_name(&header.timestamp.to_string(), &header.id));
        let path = std::path::absolute(&path).unwrap_or(path);
        Self::unpersisted(path, &header.line())
    }

    /// Returns a new session whose file the user named; a file that is there is refused.
    pub fn create_at(
        path: &Path,
        cwd: &Path,
        parent_session: Option<&Path>,
    ) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::session(path, TAKEN));
        }
        if Pending::new(&path).path().symlink_metadata().is_ok() {
            let reason = "a session of this name was begun and waits to go on; open it, or choose another name";
            return Err(StoreError::session(path, reason));
        }
        let header = header_now(text(cwd), parent_session.map(parent_text));
        Ok(Self::unpersisted(path, &header.line()))
    }

    fn unpersisted(path: PathBuf, header: &str) -> Self {
        Self::over(Place::Unpersisted(Box::new(Unpersisted {
            log: InMemoryLog::of(format!("{header}\n").into_bytes()),
            pending: Pending::new(&path),
            path,
            lock: None,
            worth: false,
        })))
    }

    /// Returns a new session of which nothing is ever on the disk.
    pub fn in_memory(cwd: &Path) -> Self {
        let header = header_now(text(cwd), None).line();
        let log = InMemoryLog::of(format!("{header}\n").into_bytes());
        Self::over(Place::Memory(Box::new(log)))
    }

    /// Writes a new session in `folder` that goes on from `leaf` of another one: a header that names the source,
    /// and the lines of the path to the leaf as they stand. Then come the entries that `carry` makes of the two paths,
    /// the source's and the copy's.
    pub fn fork(
        source: &SessionFile,
        leaf: Leaf,
        folder: &Path,
        cwd: &Path,
        carry: impl FnOnce(&SessionPath<'_>, &SessionPath<'_>) -> Vec<NewEntry>,
    ) -> Result<Self, StoreError> {
        if source.version() < 3 {
            let name = source.path.display();
            return Err(StoreError::Usage(format!(
                "{name} has version {}; run agent-cli migrate {name} --out FILE first, then fork FILE",
                source.version()
            )));
        }
        let parent = Some(source.path.as_path()).filter(|path| *path != Path::new("-"));
        let parent = parent.map(absolute).transpose()?;
        let header = header_now(text(cwd), parent.as_deref().map(text));
        let path = folder.join(file_name(&header.timestamp.to_string(), &header.id));
        let path = absolute(&path)?;
        make_folder(folder_of(&path))?;
        let lock = SessionLock::acquire_unpersisted(&path)?;
        let tree = source.tree();
        let entries = tree.path(leaf);
        let write = |to: &mut dyn io::Write| {
            to.write_all(header.line().as_bytes())?;
            to.write_all(b"\n")?;
            for index in entries.entries() {
                let line = tree.raw_line(*index).map_err(io::Error::other)?;
                to.write_all(&line)?;
                to.write_all(b"\n")?;
            }
            Ok(())
        };
        let same_path = |copy: &SessionFile| {
            let copy = copy.tree();
            let path = copy.path(copy.leaf());
            let ids = path.entries().iter().map(|index| copy.id(*index));
            match ids.eq(entries.entries().iter().map(|index| tree.id(*index))) {
                true => Ok(()),
                false => Err(StoreError::session(
                    &source.path,
                    "its lines depend on their place in the file and cannot be copied as they are; agent-cli doctor tells which",
                )),
            }
        };
        let session = create_session(&path, write, same_path)?;
        let read = session.tree().len();
        let copy = session.tree();
        let carried = carry(&entries, &copy.path(copy.leaf()));
        let mut fork = Self::over(Place::Persisted(Box::new(Persisted {
            writer: SessionWriter::over(session, lock),
            pending: Pending::new(&path),
            read,
        })));
        fork.append(carried)?;
        Ok(fork)
    }
}

/// Returns the name of a session's file as pi makes it: `2026-01-01T00-00-00-000Z_ID.jsonl`.
fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
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
