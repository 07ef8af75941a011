//! How a living session begins: opened, new, in memory, or as a fork.

use std::io;
use std::path::{Path, PathBuf};

use compaction_core::carry_pins;
use session_model::Leaf;

use super::Queued;
use super::grown::Grown;
use super::live::{Born, LiveStore, Place};
use super::pending::{Pending, make_folder};
use super::unborn::Unborn;
use crate::error::Error;
use crate::store::{
    SessionFile, SessionLock, SessionWriter, TAKEN, create_session, folder_of, header_now,
};

impl LiveStore {
    /// Opens a session and locks it until the store is dropped. Messages that wait for it wait on. A session
    /// that was left before its file appeared is opened by the name of that file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            return Self::open_born(path);
        }
        let path = &absolute(path)?;
        let gone = path.symlink_metadata().is_err();
        if !gone || !Pending::new(path).path().exists() {
            return Self::open_born(path);
        }
        let lock = SessionLock::acquire_unborn(path)?;
        if path.symlink_metadata().is_ok() {
            // It was born while this waited for the lock.
            drop(lock);
            return Self::open_born(path);
        }
        let (pending, held) = Pending::open(path)?;
        let held = held.filter(|held| held.session.tree().header().is_some());
        let Some(held) = held else {
            let reason = format!(
                "no such session file, and {} holds no session; check the path",
                pending.path().display()
            );
            return Err(Error::session(path, reason));
        };
        let unborn = Unborn {
            worth: !held.session.tree().is_empty(),
            grown: held.session,
            path: path.clone(),
            pending,
            lock: Some(lock),
        };
        let mut store = Self::over(Place::Unborn(Box::new(unborn)));
        store.queue = held.queue;
        Ok(store)
    }

    /// Returns whether a session is there: its file, or the file of what waits for it.
    pub fn exists(path: &Path) -> bool {
        path.symlink_metadata().is_ok() || Pending::new(path).path().exists()
    }

    fn open_born(path: &Path) -> Result<Self, Error> {
        let writer = SessionWriter::open(path)?;
        // A link and its target are one session.
        let target = std::fs::canonicalize(path).map_err(|error| Error::io("open", path, error))?;
        let (pending, held) = Pending::open(&target)?;
        let read = writer.session.tree().len();
        let born = Born {
            writer,
            pending,
            read,
        };
        let mut store = Self::over(Place::Born(Box::new(born)));
        let Some(held) = held else {
            return Ok(store);
        };
        let tree = store.tree();
        let known = |id: &str| tree.find(id).is_some();
        if !held.belongs_to(&store.id) {
            let Place::Born(born) = &store.place else {
                unreachable!("it was made above");
            };
            let reason = match held.owner {
                Some(_) => "belongs to another session; move it away",
                None => {
                    "names no session that it belongs to, so its messages may not be yours; move it away"
                }
            };
            let pending = born.pending.path().display();
            return Err(Error::session(
                path,
                format!("{pending} next to it {reason}"),
            ));
        }
        let waiting = held.queue.into_iter();
        let queue: Vec<Queued> = waiting.filter(|queued| !known(&queued.id)).collect();
        let unborn = held.session.tree();
        let all_there = unborn.indices().all(|index| known(unborn.id(index)));
        store.queue = queue;
        if store.queue.is_empty()
            && all_there
            && let Place::Born(born) = &mut store.place
        {
            // All that it says is in the session, so it does no harm where it cannot be removed.
            let _ = born.pending.remove();
        }
        Ok(store)
    }

    /// Returns a new session in `folder`. There is no file before the first answer, and nothing at all before
    /// something worth keeping is said.
    pub fn create(folder: &Path, cwd: &Path, parent_session: Option<&Path>) -> Self {
        let header = header_now(text(cwd), parent_session.map(parent_text));
        let path = folder.join(file_name(&header.timestamp.to_string(), &header.id));
        let path = std::path::absolute(&path).unwrap_or(path);
        Self::unborn(path, &header.line())
    }

    /// Returns a new session whose file the user named; a file that is there is refused.
    pub fn create_at(
        path: &Path,
        cwd: &Path,
        parent_session: Option<&Path>,
    ) -> Result<Self, Error> {
        let path = absolute(path)?;
        if path.symlink_metadata().is_ok() {
            return Err(Error::session(path, TAKEN));
        }
        if Pending::new(&path).path().symlink_metadata().is_ok() {
            let reason = "a session of this name was begun and waits to go on; open it, or choose another name";
            return Err(Error::session(path, reason));
        }
        let header = header_now(text(cwd), parent_session.map(parent_text));
        Ok(Self::unborn(path, &header.line()))
    }

    fn unborn(path: PathBuf, header: &str) -> Self {
        Self::over(Place::Unborn(Box::new(Unborn {
            grown: Grown::of(format!("{header}\n").into_bytes()),
            pending: Pending::new(&path),
            path,
            lock: None,
            worth: false,
        })))
    }

    /// Returns a new session of which nothing is ever on the disk.
    pub fn in_memory(cwd: &Path) -> Self {
        let header = header_now(text(cwd), None).line();
        let grown = Grown::of(format!("{header}\n").into_bytes());
        Self::over(Place::Memory(Box::new(grown)))
    }

    /// Writes a new session in `folder` that goes on from `leaf` of another one: a header that names the source,
    /// and the lines of the path to the leaf as they stand. What is pinned there stays pinned.
    pub fn fork(
        source: &SessionFile,
        leaf: Leaf,
        folder: &Path,
        cwd: &Path,
    ) -> Result<Self, Error> {
        if source.version() < 3 {
            let name = source.path.display();
            return Err(Error::Usage(format!(
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
        let lock = SessionLock::acquire_unborn(&path)?;
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
                false => Err(Error::session(
                    &source.path,
                    "its lines depend on their place in the file and cannot be copied as they are; agent-cli doctor tells which",
                )),
            }
        };
        let session = create_session(&path, write, same_path)?;
        let read = session.tree().len();
        let copy = session.tree();
        let pins = carry_pins(&entries, &copy.path(copy.leaf()));
        let mut fork = Self::over(Place::Born(Box::new(Born {
            writer: SessionWriter::over(session, lock),
            pending: Pending::new(&path),
            read,
        })));
        fork.append(pins.into_iter().map(Into::into).collect())?;
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
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::io("open", path, error))
}
