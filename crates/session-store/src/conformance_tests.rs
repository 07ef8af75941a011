//! The suite that every store passes: what [`SessionStore`] and [`SessionCatalog`] promise, seen through the traits.
//!
//! A new store implements [`Backend`] and calls [`check`].

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use session_model::{
    AgentMessage, AssistantMessage, Block, Content, EntryBody, EntryDraft, EntryId, Leaf,
    MessageDraft, SessionPath, StopReason,
};
use tempfile::TempDir;

use crate::error::ErrorKind;
use crate::in_memory_log::InMemoryLog;
use crate::memory_store::{Kept, lock};
use crate::{
    AppendFile, Delivery, FileCatalog, FileLayer, ForkSource, Locator, MemoryCatalog, NewEntry,
    NewSession, OpenSession, SessionCatalog, SessionStore, SystemFiles, move_queue,
};

/// How writes fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
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

/// A kind of store, with all that the suite needs to disturb it.
pub trait Backend {
    /// Returns the catalog.
    fn catalog(&self) -> Arc<dyn SessionCatalog>;

    /// Appends lines to a session as a program does that knows no lock.
    fn append_as_other(&self, at: &Locator, lines: &[String]);

    /// Returns the lines of a session, as any reader sees them.
    fn lines(&self, at: &Locator) -> Vec<String>;

    /// Returns what a program finds that starts after this one was killed.
    fn killed(&self) -> Box<dyn Backend>;

    /// Lets writes fail from now on, or no longer; returns false where no write can fail.
    fn fail(&self, fault: Option<Fault>) -> bool {
        let _ = fault;
        false
    }
}

/// Checks all that stores promise, each on a new backend.
///
/// # Panics
/// The stores of the backend break a promise.
pub async fn check(new: impl Fn() -> Box<dyn Backend>) {
    appended_entries_are_a_chain_and_a_move_is_another_parent(&*new()).await;
    a_message_that_waits_is_sent_once_or_dropped(&*new()).await;
    the_queue_of_a_session_moves_to_another(&*new()).await;
    a_fork_has_the_lines_of_the_path_and_what_is_carried(&*new()).await;
    entries_of_another_program_join_the_tree(&*new()).await;
    a_second_writer_is_refused(&*new()).await;
    a_killed_program_loses_nothing(&*new()).await;
    a_removed_session_is_gone(&*new()).await;
    for fault in [
        Fault::FullDisk,
        Fault::ShortWrite,
        Fault::Device,
        Fault::Sync,
    ] {
        a_failed_write_changes_nothing(&*new(), fault).await;
        a_session_that_cannot_be_persisted_goes_on_later(&*new(), fault).await;
    }
    for fault in [
        Fault::SyncAndTruncate,
        Fault::ShortWriteAndTruncate,
        Fault::ReadBehind,
    ] {
        lines_that_landed_in_a_failed_write_are_there_once(&*new(), fault).await;
    }
}

fn user(text: &str) -> NewEntry {
    EntryDraft::Message(Box::new(MessageDraft::user(text))).into()
}

fn answer(text: &str) -> NewEntry {
    let message = AgentMessage::Assistant(AssistantMessage {
        content: Content::Blocks(vec![Block::text(text)]),
        api: "test".to_owned(),
        provider: "test".to_owned(),
        model: "test".to_owned(),
        usage: None,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: None,
    });
    let draft = MessageDraft::new(message).expect("a message that can be written");
    EntryDraft::Message(Box::new(draft)).into()
}

async fn begun(backend: &dyn Backend) -> OpenSession {
    let new = NewSession {
        cwd: "/project".to_owned(),
        parent: None,
    };
    backend.catalog().create(new).await.expect("created")
}

/// Returns a session that has an answer, and the ids of its two entries.
async fn answered(backend: &dyn Backend) -> (OpenSession, Vec<EntryId>, Locator) {
    let mut store = begun(backend).await;
    let entries = vec![user("one"), answer("two")];
    let ids = store.append(entries).await.expect("appended");
    let at = store.locator().cloned().expect("a locator");
    (store, ids, at)
}

/// Returns the texts of the path to the leaf.
fn said(store: &dyn SessionStore) -> Vec<String> {
    let tree = store.tree();
    let path = tree.path(store.leaf());
    let bodies = path.entries().iter().map(|index| tree.entry(*index));
    let texts = bodies.filter_map(|entry| match entry.expect("readable").body {
        EntryBody::Message(message) => Some(message.display_text()),
        _ => None,
    });
    texts.collect()
}

fn waiting(store: &dyn SessionStore) -> Vec<String> {
    let queued = store.queued().iter();
    queued.map(|queued| queued.text.clone()).collect()
}

fn parent(store: &dyn SessionStore, id: &EntryId) -> Option<EntryId> {
    let tree = store.tree();
    let parent = tree.parent(tree.find(id).expect("an entry"));
    parent.map(|parent| EntryId::new(tree.id(parent)))
}

/// Checks that whoever opens the session now finds what the store has.
async fn same_when_killed(backend: &dyn Backend, store: &dyn SessionStore) {
    let killed = backend.killed();
    let found = killed.catalog().find(store.id()).await.expect("found");
    let again = killed.catalog().open(&found).await.expect("it opens");
    assert_eq!((again.id(), again.cwd()), (store.id(), store.cwd()));
    assert_eq!(said(&*again), said(store));
    assert_eq!(again.queued(), store.queued());
    assert_eq!(again.bytes(), store.bytes());
}

async fn appended_entries_are_a_chain_and_a_move_is_another_parent(backend: &dyn Backend) {
    let (mut store, ids, at) = answered(backend).await;
    assert!(store.is_persisted());
    assert_eq!(parent(&*store, &ids[1]), Some(ids[0].clone()));
    let first = Some(ids[0].clone());
    let moved = store.append_under(first, vec![answer("again")]).await;
    let moved = moved.expect("appended");
    let leaf = store.tree().find(&moved[0]).map(Leaf::At);
    assert_eq!(Some(store.leaf()), leaf);
    assert_eq!(said(&*store), ["one", "again"]);
    let root = store.append_under(None, vec![user("anew")]).await;
    assert_eq!(parent(&*store, &root.expect("appended")[0]), None);
    let before = backend.lines(&at);
    let unknown = Some(EntryId::new("nobody"));
    store
        .append_under(unknown, vec![user("x")])
        .await
        .expect_err("no such parent");
    for id in [ids[0].clone(), EntryId::new("")] {
        let taken = NewEntry {
            id: Some(id),
            ..user("x")
        };
        let refused = store.append(vec![user("y"), taken]).await;
        refused.expect_err("the id is in use or empty");
    }
    assert_eq!(store.append(Vec::new()).await.expect("nothing"), []);
    assert_eq!(backend.lines(&at), before);
    assert_eq!(said(&*store), ["anew"]);
    assert_eq!(before.len(), 1 + store.tree().len());
    same_when_killed(backend, &*store).await;
}

async fn a_message_that_waits_is_sent_once_or_dropped(backend: &dyn Backend) {
    let (mut store, ..) = answered(backend).await;
    let mut ids = Vec::new();
    for text in ["first", "second", "third"] {
        let queued = store.queue(text.into(), Delivery::Steer).await;
        ids.push(queued.expect("queued").id);
    }
    let dropped = store.drop_queued(&ids[1]).await.expect("dropped");
    assert_eq!(dropped.map(|queued| queued.text).as_deref(), Some("second"));
    assert_eq!(store.drop_queued(&ids[1]).await.expect("none"), None);
    same_when_killed(backend, &*store).await;
    let entry = store.queued_entry(&ids[0]).expect("it waits");
    let sent = store.append(vec![entry]).await.expect("sent");
    assert_eq!(sent, ids[..1]);
    assert!(store.queued_entry(&ids[0]).is_err(), "not twice");
    assert_eq!(waiting(&*store), ["third"]);
    assert_eq!(said(&*store), ["one", "two", "first"]);
    same_when_killed(backend, &*store).await;
}

async fn the_queue_of_a_session_moves_to_another(backend: &dyn Backend) {
    let (mut one, ..) = answered(backend).await;
    let (mut other, ..) = answered(backend).await;
    let queued = one.queue("next".into(), Delivery::FollowUp).await;
    let queued = queued.expect("queued");
    let moved = move_queue(&mut *one, &mut *other).await;
    moved.expect("moved");
    assert_eq!((one.queued(), other.queued()), (&[][..], &[queued][..]));
    same_when_killed(backend, &*one).await;
    same_when_killed(backend, &*other).await;
}

/// Carries one message.
fn carried(source: &SessionPath<'_>, copy: &SessionPath<'_>) -> Vec<NewEntry> {
    assert_eq!(source.entries().len(), copy.entries().len());
    vec![user("carried")]
}

async fn a_fork_has_the_lines_of_the_path_and_what_is_carried(backend: &dyn Backend) {
    let (mut store, ids, at) = answered(backend).await;
    let first = Some(ids[0].clone());
    let other = store.append_under(first, vec![answer("other")]).await;
    other.expect("appended");
    let leaf = Leaf::At(store.tree().find(&ids[1]).expect("an entry"));
    let source = ForkSource {
        tree: store.tree(),
        locator: store.locator(),
    };
    let catalog = backend.catalog();
    let forked = catalog.fork(source, leaf, "/elsewhere", carried).await;
    let mut fork = forked.expect("forked");
    assert_ne!(fork.id(), store.id());
    assert_eq!(fork.cwd(), "/elsewhere");
    let header = fork.tree().header().expect("a header");
    assert_eq!(header.parent_session, Some(at.to_string()));
    assert_eq!(said(&*fork), ["one", "two", "carried"]);
    let copy = backend.lines(fork.locator().expect("a locator"));
    assert_eq!(copy[1..3], backend.lines(&at)[1..3]);
    fork.append(vec![user("on")]).await.expect("appended");
    same_when_killed(backend, &*fork).await;
    same_when_killed(backend, &*store).await;
}

/// Returns a line of another program.
fn line_of_other(id: &str, parent: &EntryId) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"other"}}}}"#
    )
}

async fn entries_of_another_program_join_the_tree(backend: &dyn Backend) {
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
    store.reload().await.expect("reloaded");
    assert!(store.tree().find("f3").is_some());
    assert_eq!(said(&*store), ["one", "two", "on"]);
    let under = Some(EntryId::new("f3"));
    let more = store.append_under(under, vec![answer("yes")]).await;
    more.expect("an entry of the other is a parent like any other");
    assert_eq!(said(&*store), ["one", "two", "on", "other", "yes"]);
    same_when_killed(backend, &*store).await;
}

async fn a_second_writer_is_refused(backend: &dyn Backend) {
    let (store, _, at) = answered(backend).await;
    let catalog = backend.catalog();
    let refused = catalog.open(&at).await.expect_err("it is open");
    assert_eq!(refused.kind(), ErrorKind::Session);
    let refused = catalog.remove(&at).await.expect_err("it is open");
    assert_eq!(refused.kind(), ErrorKind::Session);
    drop(store);
    drop(catalog.open(&at).await.expect("it is free"));
    catalog.open(&at).await.expect("it is free again");
}

async fn a_killed_program_loses_nothing(backend: &dyn Backend) {
    let mut store = begun(backend).await;
    store.append(vec![user("hello")]).await.expect("appended");
    same_when_killed(backend, &*store).await;
    let queued = store.queue("later".into(), Delivery::Prompt).await;
    queued.expect("queued");
    same_when_killed(backend, &*store).await;
    store.append(vec![answer("hi")]).await.expect("appended");
    same_when_killed(backend, &*store).await;
    let rows = backend.catalog().list(Some("/project")).await;
    let rows = rows.expect("a list");
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].locked, rows[0].pending), (true, 1));
    assert_eq!(rows[0].first_prompt.as_deref(), Some("hello"));
}

async fn a_removed_session_is_gone(backend: &dyn Backend) {
    let (mut store, _, at) = answered(backend).await;
    let queued = store.queue("later".into(), Delivery::Prompt).await;
    queued.expect("queued");
    drop(store);
    let catalog = backend.catalog();
    catalog.remove(&at).await.expect("removed");
    assert_eq!(catalog.list(None).await.expect("a list"), []);
    catalog.open(&at).await.expect_err("it is gone");
}

async fn a_failed_write_changes_nothing(backend: &dyn Backend, fault: Fault) {
    let (mut store, ids, at) = answered(backend).await;
    let queued = store.queue("waits".into(), Delivery::Prompt).await;
    let queued = queued.expect("queued");
    let (lines, bytes, leaf) = (backend.lines(&at), store.bytes(), store.leaf());
    if !backend.fail(Some(fault)) {
        return;
    }
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

async fn lines_that_landed_in_a_failed_write_are_there_once(backend: &dyn Backend, fault: Fault) {
    let (mut store, _, _) = answered(backend).await;
    let entries = [user("x"), answer("y")].map(|entry| NewEntry {
        id: Some(store.fresh_id()),
        ..entry
    });
    if !backend.fail(Some(fault)) {
        return;
    }
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

async fn a_session_that_cannot_be_persisted_goes_on_later(backend: &dyn Backend, fault: Fault) {
    let mut store = begun(backend).await;
    store.append(vec![user("one")]).await.expect("appended");
    if !backend.fail(Some(fault)) {
        return;
    }
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

/// Sessions in memory.
#[derive(Debug, Default)]
pub struct Memory(MemoryCatalog);

impl Backend for Memory {
    fn catalog(&self) -> Arc<dyn SessionCatalog> {
        Arc::new(self.0.clone())
    }

    fn append_as_other(&self, at: &Locator, lines: &[String]) {
        if let Some(kept) = lock(&self.0.sessions).get(at) {
            lines.iter().for_each(|line| kept.log.push_as_other(line));
        }
    }

    fn lines(&self, at: &Locator) -> Vec<String> {
        let sessions = lock(&self.0.sessions);
        let kept = sessions.get(at);
        kept.map(|kept| kept.log.to_lines()).unwrap_or_default()
    }

    fn killed(&self) -> Box<dyn Backend> {
        let copy = MemoryCatalog::new();
        for (locator, kept) in &*lock(&self.0.sessions) {
            let kept = Kept {
                log: InMemoryLog::of(kept.log.to_bytes()),
                queue: kept.queue.clone(),
                modified: kept.modified,
                is_open: false,
            };
            lock(&copy.sessions).insert(locator.clone(), kept);
        }
        Box::new(Self(copy))
    }
}

/// Sessions in files, on a file system that fails on demand.
#[derive(Debug)]
pub struct Files {
    folder: TempDir,
    /// The file system.
    pub files: Arc<FaultyFiles>,
}

impl Files {
    /// Returns sessions in a new folder, in memory where the system has a place there: every append is synced.
    ///
    /// # Panics
    /// There is no folder for temporary files.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self {
            folder: folder.expect("a folder for the test"),
            files: Arc::default(),
        }
    }
}

impl Backend for Files {
    fn catalog(&self) -> Arc<dyn SessionCatalog> {
        let files = self.files.clone();
        Arc::new(FileCatalog::through(self.folder.path(), files))
    }

    fn append_as_other(&self, at: &Locator, lines: &[String]) {
        append_bytes(at.as_path(), format!("{}\n", lines.join("\n")).as_bytes());
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

    fn fail(&self, fault: Option<Fault>) -> bool {
        *held(&self.files.fault) = fault;
        if fault == Some(Fault::ReadBehind) {
            *held(&self.files.other) =
                Some(format!("{}\n", line_of_other("f1", &EntryId::new(""))));
        }
        if let Some(path) = held(&self.files.hidden).take() {
            std::fs::rename(path.with_extension("hidden"), path).expect("found again");
        }
        true
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

/// The files of the system, until they are told to fail.
#[derive(Debug, Default)]
pub struct FaultyFiles {
    /// How writes fail.
    pub fault: Mutex<Option<Fault>>,
    /// What another program writes between the next look at the length and the write.
    pub other: Mutex<Option<String>>,
    /// The file that cannot be read.
    pub hidden: Arc<Mutex<Option<PathBuf>>>,
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
