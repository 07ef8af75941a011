//! The part of the suite for files: other programs without the lock, and writes that fail.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use session_model::EntryId;
use tempfile::TempDir;

use crate::conformance_tests::{
    Backend, answer, answered, begun, parent, said, same_when_killed, user, waiting,
};
use crate::error::ErrorKind;
use crate::{
    AppendFile, Delivery, FileCatalog, FileLayer, Locator, NewEntry, SessionCatalog, SyncPolicy,
    SystemFiles,
};

/// How writes fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no room.
    FullDisk,
    /// There is room for some bytes only.
    ShortWrite,
    /// The device fails.
    Device,
    /// Bytes are taken, but do not get to the disk.
    Sync,
    /// So are these, and they cannot be taken back.
    SyncAndTruncate,
    /// There is room for the first line of each write only, and it cannot be taken back.
    ShortWriteAndTruncate,
    /// Another program writes first, and then the file cannot be read.
    ReadBehind,
}

/// Checks what files promise.
pub(crate) async fn check_files() {
    entries_of_another_program_join_the_tree(&Files::new()).await;
    a_removed_session_takes_its_outputs_along(&Files::new()).await;
    for fault in [
        Fault::FullDisk,
        Fault::ShortWrite,
        Fault::Device,
        Fault::Sync,
    ] {
        a_failed_write_changes_nothing(&Files::new(), fault).await;
        a_session_that_cannot_be_persisted_goes_on_later(&Files::new(), fault).await;
    }
    for fault in [
        Fault::SyncAndTruncate,
        Fault::ShortWriteAndTruncate,
        Fault::ReadBehind,
    ] {
        lines_that_landed_in_a_failed_write_are_there_once(&Files::new(), fault).await;
    }
}

async fn a_removed_session_takes_its_outputs_along(backend: &Files) {
    let (store, _, at) = answered(backend).await;
    let outputs = store.local().expect("files").outputs;
    std::fs::create_dir(&outputs).expect("a folder");
    std::fs::write(outputs.join("bash-1.txt"), "all of it").expect("written");
    store.close().await.expect("closed");
    backend.catalog().remove(&at).await.expect("removed");
    assert!(!outputs.exists());
}

/// Returns a line of another program.
fn line_of_other(id: &str, parent: &EntryId) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"other"}}}}"#
    )
}

async fn entries_of_another_program_join_the_tree(backend: &Files) {
    let (mut store, ids, at) = answered(backend).await;
    let lines = [
        line_of_other("f1", &ids[1]),
        line_of_other("f2", &EntryId::new("f1")),
    ];
    backend.append_as_other(&at, &lines);
    let own = store.append(vec![user("on")]).await.expect("it goes on");
    assert_eq!(said(&*store), ["one", "two", "on"], "under its own leaf");
    assert_eq!(parent(&*store, &own[0]), Some(ids[1].clone()));
    assert_eq!(
        parent(&*store, &EntryId::new("f2")),
        Some(EntryId::new("f1"))
    );
    let after = backend.lines(&at);
    assert_eq!(
        after[3..5],
        lines,
        "the lines of the other are as they were"
    );
    assert_eq!(after.len(), 6);
    // Readers follow the last entry.
    same_when_killed(backend, &*store).await;
    backend.append_as_other(&at, &[line_of_other("f3", &own[0])]);
    store.refresh().await.expect("reloaded");
    assert!(store.tree().find("f3").is_some());
    assert_eq!(said(&*store), ["one", "two", "on"]);
    let under = Some(EntryId::new("f3"));
    let more = store.append_under(under, vec![answer("yes")]).await;
    more.expect("an entry of the other is a parent like any other");
    assert_eq!(said(&*store), ["one", "two", "on", "other", "yes"]);
    same_when_killed(backend, &*store).await;
}

async fn a_failed_write_changes_nothing(backend: &Files, fault: Fault) {
    let (mut store, ids, at) = answered(backend).await;
    let queued = store.queue("waits".into(), Delivery::Prompt).await;
    let queued = queued.expect("queued");
    let (lines, bytes, leaf) = (backend.lines(&at), store.bytes(), store.leaf());
    backend.fail(Some(fault));
    let entry = store.queued_entry(&queued.id).expect("it waits");
    for entries in [vec![user("x"), answer("y")], vec![entry.clone()]] {
        let failed = store.append(entries).await.expect_err("it fails");
        assert_eq!(failed.kind(), ErrorKind::Failure, "{fault:?}");
    }
    let failed = store.queue("lost".into(), Delivery::Prompt).await;
    failed.expect_err("it is not kept");
    assert_eq!(backend.lines(&at), lines, "{fault:?}");
    assert_eq!((store.bytes(), store.leaf()), (bytes, leaf), "{fault:?}");
    assert_eq!(waiting(&*store), ["waits"]);
    same_when_killed(backend, &*store).await;
    backend.append_as_other(&at, &[line_of_other("f1", &ids[0])]);
    store.append(vec![user("x")]).await.expect_err("it fails");
    backend.fail(None);
    let sent = store.append(vec![entry]).await.expect("sent");
    assert_eq!(sent, [queued.id]);
    assert_eq!(said(&*store), ["one", "two", "waits"]);
    same_when_killed(backend, &*store).await;
}

async fn lines_that_landed_in_a_failed_write_are_there_once(backend: &Files, fault: Fault) {
    let (mut store, _, _) = answered(backend).await;
    let entries = [user("x"), answer("y")].map(|entry| NewEntry {
        id: Some(store.fresh_id()),
        ..entry
    });
    backend.fail(Some(fault));
    let first = store.append(entries.to_vec()).await;
    assert_eq!(first.is_ok(), fault == Fault::SyncAndTruncate, "{fault:?}");
    let again = store.append(entries.to_vec()).await;
    let fits = fault == Fault::ShortWriteAndTruncate;
    assert_eq!(again.is_ok(), fits, "{fault:?}");
    backend.fail(None);
    if first.is_err() && again.is_err() {
        store.append(entries.to_vec()).await.expect("appended");
    }
    store.append(vec![user("z")]).await.expect("appended");
    assert_eq!(said(&*store), ["one", "two", "x", "y", "z"], "{fault:?}");
    same_when_killed(backend, &*store).await;
    let other = NewEntry {
        id: entries[0].id.clone(),
        ..user("another")
    };
    store
        .append(vec![other])
        .await
        .expect_err("the id is in use");
}

async fn a_session_that_cannot_be_persisted_goes_on_later(backend: &Files, fault: Fault) {
    let mut store = begun(backend).await;
    store.append(vec![user("one")]).await.expect("appended");
    backend.fail(Some(fault));
    store.append(vec![answer("x")]).await.expect_err("it fails");
    store.persist().await.expect_err("it fails");
    assert!(!store.is_persisted());
    assert_eq!(said(&*store), ["one"]);
    same_when_killed(backend, &*store).await;
    backend.fail(None);
    store.append(vec![answer("two")]).await.expect("appended");
    assert!(store.is_persisted());
    assert_eq!(said(&*store), ["one", "two"]);
    same_when_killed(backend, &*store).await;
}

/// Sessions in files, on a file system that fails on demand.
#[derive(Debug)]
pub(crate) struct Files {
    folder: TempDir,
    /// The file system.
    pub(crate) files: Arc<FaultyFiles>,
}

impl Files {
    /// Returns sessions in a new folder, in memory if the system has such a folder: every append is synced.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self {
            folder: folder.expect("a folder for the test"),
            files: Arc::default(),
        }
    }
}

impl Files {
    /// Returns the catalog, whose sessions are synced by `policy`.
    pub(crate) fn catalog_of(&self, policy: SyncPolicy) -> FileCatalog {
        FileCatalog::through(self.folder.path(), self.files.clone()).synced(policy)
    }

    /// Appends lines to a session as a program does that knows no lock.
    pub(crate) fn append_as_other(&self, at: &Locator, lines: &[String]) {
        append_bytes(at.as_path(), format!("{}\n", lines.join("\n")).as_bytes());
    }

    /// Lets writes fail from now on, or no longer.
    pub(crate) fn fail(&self, fault: Option<Fault>) {
        *held(&self.files.fault) = fault;
        if fault == Some(Fault::ReadBehind) {
            *held(&self.files.other) =
                Some(format!("{}\n", line_of_other("f1", &EntryId::new(""))));
        }
        if let Some(path) = held(&self.files.hidden).take() {
            std::fs::rename(path.with_extension("hidden"), path).expect("found again");
        }
    }
}

impl Backend for Files {
    fn catalog(&self) -> Arc<dyn SessionCatalog> {
        Arc::new(self.catalog_of(SyncPolicy::Always))
    }

    fn lines(&self, at: &Locator) -> Vec<String> {
        let text = std::fs::read_to_string(at.as_path()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn killed(&self) -> Box<dyn Backend> {
        let copy = Self::new();
        copy_sessions(self.folder.path(), copy.folder.path());
        Box::new(copy)
    }
}

fn append_bytes(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).expect("a file");
    file.write_all(bytes).expect("written");
}

/// Copies all files but locks, whose holders a kill ends.
fn copy_sessions(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            std::fs::create_dir(&copy).expect("a folder");
            copy_sessions(&path, &copy);
        } else if path.extension().is_none_or(|end| end != "lock") {
            std::fs::copy(&path, &copy).expect("copied");
        }
    }
}

fn held<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files of the system, until the test makes them fail.
#[derive(Debug, Default)]
pub(crate) struct FaultyFiles {
    /// How writes fail.
    pub(crate) fault: Mutex<Option<Fault>>,
    /// What another program writes between the next look at the length and the write.
    pub(crate) other: Mutex<Option<String>>,
    /// The file that cannot be read.
    pub(crate) hidden: Arc<Mutex<Option<PathBuf>>>,
}

struct FaultyFile {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    fault: Option<Fault>,
    other: Option<String>,
    hidden: Arc<Mutex<Option<PathBuf>>>,
}

impl AppendFile for FaultyFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(line) = self.other.take() {
            append_bytes(&self.path, line.as_bytes());
        }
        match self.fault {
            Some(Fault::FullDisk) => Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::Device) => Err(io::Error::other("the device failed")),
            Some(Fault::ShortWrite) => self.file.write_once(&bytes[..bytes.len() / 2]),
            Some(Fault::ShortWriteAndTruncate) => {
                let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
                self.file.write_once(&bytes[..=line])
            }
            Some(Fault::Sync | Fault::SyncAndTruncate | Fault::ReadBehind) | None => {
                self.file.write_once(bytes)
            }
        }
    }

    fn position(&mut self) -> io::Result<u64> {
        self.file.position()
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.fault {
            Some(Fault::Sync | Fault::SyncAndTruncate) => Err(io::Error::other("the disk is gone")),
            Some(Fault::ReadBehind) => {
                *held(&self.hidden) = Some(self.path.clone());
                std::fs::rename(&self.path, self.path.with_extension("hidden"))
            }
            _ => self.file.sync(),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        match self.fault {
            Some(Fault::SyncAndTruncate | Fault::ShortWriteAndTruncate) => {
                Err(io::Error::other("the disk is gone"))
            }
            _ => self.file.truncate(length),
        }
    }
}

impl FileLayer for FaultyFiles {
    fn open(&self, path: &Path, new: bool) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(FaultyFile {
            file: SystemFiles.open(path, new)?,
            path: path.to_owned(),
            fault: *held(&self.fault),
            other: held(&self.other).take(),
            hidden: self.hidden.clone(),
        }))
    }

    fn fill(
        &self,
        file: &File,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match *held(&self.fault) {
            None => SystemFiles.fill(file, write),
            Some(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}
