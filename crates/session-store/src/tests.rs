//! What a session in a file keeps: after every crash, every failure, and with two who want it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use session_model::{
    AgentMessage, AssistantMessage, Block, Content, EntryBody, EntryDraft, EntryId, Leaf,
    MessageDraft, ModelRef, SessionPath, StopReason, SystemMessage,
};
use tempfile::TempDir;

use crate::conformance_file_tests::{Files, check_files};
use crate::conformance_tests::{Memory, check};
use crate::error::ErrorKind;
use crate::pending::pending_path;
use crate::traits::Carry;
use crate::{
    Delivery, FileCatalog, FileStore, ForkSource, Locator, NewEntry, NewSession, Queued,
    ReadObserver, SessionCatalog, SessionFile, SessionStore, StoreError, SyncPolicy, SystemFiles,
};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

fn new_in(cwd: &Path, parent: Option<&Path>) -> NewSession {
    NewSession {
        cwd: cwd.to_string_lossy().into_owned(),
        parent: parent.map(Locator::of_path),
    }
}

/// A store in a file whose writes are waited for.
#[derive(Debug)]
pub(crate) struct Live(FileStore);

impl Deref for Live {
    type Target = FileStore;

    fn deref(&self) -> &FileStore {
        &self.0
    }
}

impl Live {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        FileCatalog::new("").open_file(path, &mut ()).map(Self)
    }

    pub(crate) fn create(folder: &Path, cwd: &Path, parent: Option<&Path>) -> Self {
        let store = FileCatalog::new("")
            .making_in(folder)
            .create_file(new_in(cwd, parent));
        Self(store.expect("created"))
    }

    pub(crate) fn create_at(
        path: &Path,
        cwd: &Path,
        parent: Option<&Path>,
    ) -> Result<Self, StoreError> {
        let new = new_in(cwd, parent);
        FileCatalog::new("").create_at(path, new).map(Self)
    }

    fn fork(
        source: &SessionFile,
        leaf: Leaf,
        folder: &Path,
        cwd: &Path,
        carry: Carry<'_>,
    ) -> Result<Self, StoreError> {
        let locator = Locator::of_path(&source.path);
        let source = ForkSource::Read {
            tree: source.tree(),
            locator: Some(&locator),
        };
        let files = Arc::new(SystemFiles);
        let cwd = cwd.to_string_lossy();
        FileStore::fork_through(&source, leaf, folder, &cwd, carry, files).map(Self)
    }

    pub(crate) fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<EntryId>, StoreError> {
        block_on(self.0.append(entries))
    }

    pub(crate) fn queue(&mut self, text: String, delivery: Delivery) -> Result<Queued, StoreError> {
        block_on(self.0.queue(text.into(), delivery))
    }

    fn drop_queued(&mut self, id: &EntryId) -> Result<Option<Queued>, StoreError> {
        block_on(self.0.drop_queued(id))
    }

    pub(crate) fn send_queued(&mut self, ids: &[EntryId]) -> Result<Vec<EntryId>, StoreError> {
        let entries = ids.iter().map(|id| self.0.queued_entry(id));
        let entries = entries.collect::<Result<_, _>>()?;
        self.append(entries)
    }

    fn set_sync_policy(&mut self, policy: SyncPolicy) {
        self.0.log.set_sync_policy(policy);
    }
}

#[test]
fn memory_keeps_the_promises_of_a_store() {
    block_on(check(|| Box::new(Memory::default())));
}

#[test]
fn files_keep_the_promises_of_a_store() {
    block_on(check(|| Box::new(Files::new())));
    block_on(check_files());
}

/// A folder for sessions, in memory if the system has such a folder: every append is synced.
fn place() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.expect("a folder for the test")
}

fn message(message: AgentMessage) -> NewEntry {
    let draft = MessageDraft::new(message).expect("a message that can be written");
    EntryDraft::Message(Box::new(draft)).into()
}

fn user(text: &str) -> NewEntry {
    EntryDraft::Message(Box::new(MessageDraft::user(text))).into()
}

fn answer(text: &str) -> NewEntry {
    message(AgentMessage::Assistant(AssistantMessage {
        content: Content::Blocks(vec![Block::text(text)]),
        api: "test".to_owned(),
        provider: "test".to_owned(),
        model: "test".to_owned(),
        usage: None,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: None,
    }))
}

/// What every start writes.
fn start() -> Vec<NewEntry> {
    let model = ModelRef {
        provider: "test".to_owned(),
        model_id: "test".to_owned(),
    };
    let system = message(AgentMessage::System(SystemMessage {
        content: Content::Text("be brief".to_owned()),
        sections: Vec::new(),
        tools_added: Vec::new(),
        tools_removed: Vec::new(),
        timestamp: None,
    }));
    let level = EntryDraft::ThinkingLevelChange("high".to_owned());
    vec![EntryDraft::ModelChange(model).into(), level.into(), system]
}

/// Returns every name below `folder` with its bytes, without locks and folders.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).expect("below the folder");
            let name = name.display().to_string();
            match path.is_dir() {
                true => folders.push(path),
                false if name.ends_with(".lock") => {}
                false => drop(found.insert(name, std::fs::read(&path).expect("a file"))),
            }
        }
    }
    found
}

/// Returns a folder with these files: what a crash left.
fn crashed(files: &BTreeMap<String, Vec<u8>>) -> TempDir {
    let folder = place();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("written");
    }
    folder
}

/// Returns the name of the session's file.
fn name(store: &Live) -> String {
    let name = store.path().file_name();
    name.expect("a name").to_string_lossy().into_owned()
}

fn name_of_pending(store: &Live) -> String {
    let path = pending_path(store.path());
    path.file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

/// Returns the texts of the path to the leaf, as `role: text`.
fn said(store: &Live) -> Vec<String> {
    let tree = store.tree();
    let path = tree.path(store.leaf());
    let bodies = path.entries().iter().map(|index| tree.entry(*index));
    bodies
        .filter_map(|entry| match entry.expect("readable").body {
            EntryBody::Message(message) => {
                Some(format!("{}: {}", message.role(), message.display_text()))
            }
            _ => None,
        })
        .collect()
}

fn waiting(store: &Live) -> Vec<&str> {
    let queued = store.queued().iter();
    queued.map(|queued| queued.text.as_str()).collect()
}

/// Opens what a crash left in `files` by the name of the session.
fn reopened(files: &BTreeMap<String, Vec<u8>>, name: &str) -> (TempDir, Live) {
    let folder = crashed(files);
    let store = Live::open(&folder.path().join(name)).expect("it opens");
    (folder, store)
}

#[test]
fn an_aborted_start_leaves_nothing() {
    let place = place();
    let folder = place.path().join("sessions/project");
    let mut store = Live::create(&folder, Path::new("/project"), None);
    store.append(start()).expect("appended");
    assert_eq!(store.tree().len(), 3);
    assert!(!store.is_persisted());
    drop(store);
    assert!(!place.path().join("sessions").exists());
}

#[test]
fn what_was_typed_is_safe_before_the_first_answer() {
    let place = place();
    let folder = place.path().join("sessions/project");
    let mut store = Live::create(&folder, Path::new("/project"), None);
    store.append(start()).expect("appended");
    store.append(vec![user("hello")]).expect("appended");
    let waits = store
        .queue("and then".to_owned(), Delivery::FollowUp)
        .expect("queued");
    assert_eq!(
        files(&folder).keys().collect::<Vec<_>>(),
        [&name_of_pending(&store)]
    );
    let (_crashed, again) = reopened(&files(&folder), &name(&store));
    assert!(!again.is_persisted());
    assert_eq!((again.id(), again.cwd()), (store.id(), "/project"));
    assert_eq!(said(&again), ["system: be brief", "user: hello"]);
    assert_eq!(again.queued(), [waits]);
    assert_eq!(again.bytes(), store.bytes());
}

#[test]
fn the_first_answer_brings_the_file() {
    for policy in [SyncPolicy::Always, SyncPolicy::Never] {
        let place = place();
        let mut store = Live::create(place.path(), Path::new("/project"), None);
        store.set_sync_policy(policy);
        store.append(start()).expect("appended");
        store.append(vec![user("hello")]).expect("appended");
        let before = files(place.path());
        let pending = before[&name_of_pending(&store)].clone();
        store
            .append(vec![answer("hi"), user("more")])
            .expect("appended");
        assert!(store.is_persisted());
        store.append(vec![answer("done")]).expect("appended");
        let after = files(place.path());
        assert_eq!(after.keys().collect::<Vec<_>>(), [&name(&store)]);
        let bytes = &after[&name(&store)];
        assert!(
            bytes.starts_with(&pending),
            "the lines are those that were kept"
        );
        assert_eq!(bytes.len() as u64, store.bytes());
        let path = store.path().to_owned();
        let want = said(&store);
        assert_eq!(want.len(), 5, "{want:?}");
        drop(store);
        let opened = SessionFile::open(&path).expect("it opens");
        assert_eq!(opened.decoded.diagnostics, []);
        assert_eq!(said(&Live::open(&path).expect("it opens")), want);
        assert_eq!(files(place.path()), after);
    }
}

#[test]
fn persisting_never_writes_over_a_file() {
    let place = place();
    let mut store = Live::create(place.path(), Path::new("/project"), None);
    store.append(vec![user("hello")]).expect("appended");
    let path = store.path().to_owned();
    let before = files(place.path());
    std::fs::write(&path, "somebody else's").expect("written");
    let error = store.append(vec![answer("hi")]).expect_err("it is taken");
    assert_eq!(error.kind(), ErrorKind::Session);
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(std::fs::read(&path).expect("read"), b"somebody else's");
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(files(place.path()), before, "nothing else changed");
    assert_eq!(
        (said(&store), store.is_persisted()),
        (vec!["user: hello".to_owned()], false)
    );
    // It is locked nevertheless, and continues as if nothing had happened.
    assert!(Live::open(&path).is_err());
    store.append(vec![answer("hi")]).expect("appended");
    assert_eq!(said(&store), ["user: hello", "assistant: hi"]);
    assert!(store.is_persisted());
}

#[test]
fn a_session_that_cannot_be_persisted_changes_nothing() {
    let place = place();
    let folder = place.path().join("sessions");
    let mut store = Live::create(&folder, Path::new("/project"), None);
    store.append(vec![user("hello")]).expect("appended");
    let before = files(&folder);
    let aside = place.path().join("aside");
    std::fs::rename(&folder, &aside).expect("moved");
    assert!(store.append(vec![answer("hi")]).is_err());
    assert!(store.append(vec![user("more")]).is_err());
    assert!(store.queue("later".to_owned(), Delivery::Prompt).is_err());
    assert_eq!(said(&store), ["user: hello"]);
    assert_eq!(waiting(&store), [""; 0]);
    std::fs::rename(&aside, &folder).expect("moved back");
    assert_eq!(files(&folder), before);
    store.append(vec![answer("hi")]).expect("appended");
    assert_eq!(said(&store), ["user: hello", "assistant: hi"]);
}

#[test]
fn a_crash_at_any_step_of_persisting_loses_nothing_and_sends_nothing_twice() {
    let place = place();
    let mut store = Live::create(place.path(), Path::new("/project"), None);
    store.append(start()).expect("appended");
    store
        .queue("first".to_owned(), Delivery::Prompt)
        .expect("queued");
    let first = store.queued()[0].id.clone();
    store.send_queued(&[first]).expect("sent");
    store
        .queue("second".to_owned(), Delivery::Steer)
        .expect("queued");
    let before = files(place.path());
    store.append(vec![answer("hi")]).expect("appended");
    let after = files(place.path());
    let (name, pending) = (name(&store), name_of_pending(&store));
    assert_eq!(after[&pending], before[&pending], "a message still waits");

    // While the new file is written it has a passing name.
    let persisted = &after[&name];
    for stop in [0, 1, persisted.len() / 2, persisted.len()] {
        let mut torn = before.clone();
        torn.insert(".tmpAbCdEf".to_owned(), persisted[..stop].to_vec());
        let (_folder, again) = reopened(&torn, &name);
        assert!(!again.is_persisted());
        assert_eq!(said(&again), ["system: be brief", "user: first"]);
        assert_eq!(waiting(&again), ["second"]);
    }
    // It has its name, and the pending file is still there.
    let (folder, mut again) = reopened(&after, &name);
    assert!(again.is_persisted());
    assert_eq!(
        said(&again),
        ["system: be brief", "user: first", "assistant: hi"]
    );
    assert_eq!(waiting(&again), ["second"]);
    let second = again.queued()[0].id.clone();
    let sent = again
        .send_queued(std::slice::from_ref(&second))
        .expect("sent");
    assert_eq!(sent, [second]);
    assert_eq!(files(folder.path()).keys().collect::<Vec<_>>(), [&name]);
}

/// Runs `act` on a pending file cut off after each of its bytes, with the messages and the texts of its complete lines.
fn check_every_byte_of_pending(
    files: &BTreeMap<String, Vec<u8>>,
    name: &str,
    pending: &str,
    whole: &[(usize, Vec<String>, Vec<String>)],
) {
    let bytes = &files[pending];
    for stop in 0..=bytes.len() {
        let mut torn = files.clone();
        torn.insert(pending.to_owned(), bytes[..stop].to_vec());
        let folder = crashed(&torn);
        let path = folder.path().join(name);
        // A line needs no newline to be whole.
        let known = whole
            .iter()
            .rev()
            .find(|(end, ..)| *end <= stop || *end == stop + 1 && stop > 0);
        let Some((_, texts, waits)) = known else {
            let error = Live::open(&path).expect_err("no header yet");
            assert_eq!(error.kind(), ErrorKind::Session, "stopped at {stop}");
            continue;
        };
        let mut store = Live::open(&path).expect("it opens");
        assert_eq!(
            (&said(&store), &owned(&store)),
            (texts, waits),
            "stopped at {stop}"
        );
        store
            .queue("next".to_owned(), Delivery::Prompt)
            .expect("queued");
        drop(store);
        let store = Live::open(&path).expect("it opens");
        let mut more = waits.clone();
        more.push("next".to_owned());
        assert_eq!(
            (&said(&store), &owned(&store)),
            (texts, &more),
            "stopped at {stop}"
        );
    }
}

fn owned(store: &Live) -> Vec<String> {
    waiting(store).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_pending_file_of_an_unpersisted_session_that_stops_at_any_byte_loses_nothing() {
    let place = place();
    let mut store = Live::create(place.path(), Path::new("/project"), None);
    let mut whole = Vec::new();
    // Each line of the first write comes by itself: the header, the lines of every start, the prompt.
    store.append(start()).expect("appended");
    store.append(vec![user("hello")]).expect("appended");
    let pending = name_of_pending(&store);
    let first = files(place.path())[&pending].clone();
    let ends = first.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    for ((at, _), line) in ends.zip(0..) {
        let texts = ["system: be brief", "user: hello"];
        let texts = texts[..usize::saturating_sub(line, 2)].iter();
        whole.push((
            at + 1,
            texts.map(|text| (*text).to_owned()).collect(),
            Vec::new(),
        ));
    }
    let mut note = |store: &Live| {
        let length = files(place.path())[&pending].len();
        whole.push((length, said(store), owned(store)));
    };
    for text in ["one", "two \u{1F600}\n\"quoted\"", "three"] {
        store
            .queue(text.to_owned(), Delivery::Steer)
            .expect("queued");
        note(&store);
    }
    let ids: Vec<EntryId> = store
        .queued()
        .iter()
        .map(|queued| queued.id.clone())
        .collect();
    assert!(store.drop_queued(&ids[0]).expect("dropped").is_some());
    note(&store);
    store.send_queued(&ids[1..2]).expect("sent");
    note(&store);
    assert_eq!(waiting(&store), ["three"]);
    check_every_byte_of_pending(&files(place.path()), &name(&store), &pending, &whole);
}

#[test]
fn a_pending_file_of_a_persisted_session_that_stops_at_any_byte_loses_nothing() {
    let place = place();
    let mut store = Live::create(place.path(), Path::new("/project"), None);
    store
        .append(vec![user("hello"), answer("hi")])
        .expect("appended");
    let pending = name_of_pending(&store);
    let mut whole = vec![(0, said(&store), Vec::new())];
    for text in ["one", "two", "three"] {
        store
            .queue(text.to_owned(), Delivery::FollowUp)
            .expect("queued");
        whole.push((
            files(place.path())[&pending].len(),
            said(&store),
            owned(&store),
        ));
    }
    let id = store.queued()[1].id.clone();
    assert!(store.drop_queued(&id).expect("dropped").is_some());
    whole.push((
        files(place.path())[&pending].len(),
        said(&store),
        owned(&store),
    ));
    check_every_byte_of_pending(&files(place.path()), &name(&store), &pending, &whole);
}

#[test]
fn a_message_that_is_sent_while_the_program_ends_is_sent_once() {
    let place = place();
    let mut store = Live::create(place.path(), Path::new("/project"), None);
    store
        .append(vec![user("hello"), answer("hi")])
        .expect("appended");
    let Queued { id, .. } = store
        .queue("next".to_owned(), Delivery::Prompt)
        .expect("queued");
    let before = files(place.path());
    store.send_queued(std::slice::from_ref(&id)).expect("sent");
    let after = files(place.path());
    let (name, pending) = (name(&store), name_of_pending(&store));
    assert!(!after.contains_key(&pending), "nothing waits any more");
    // The append stops at any byte, and the pending file is as it was.
    for stop in before[&name].len()..=after[&name].len() {
        let mut torn = before.clone();
        torn.insert(name.clone(), after[&name][..stop].to_vec());
        let (folder, mut again) = reopened(&torn, &name);
        let whole = stop + 1 >= after[&name].len();
        assert_eq!(again.tree().find(&id).is_some(), whole, "stopped at {stop}");
        assert_eq!(
            again.queued().len(),
            usize::from(!whole),
            "stopped at {stop}"
        );
        let left = files(folder.path());
        assert_eq!(left.contains_key(&pending), !whole, "stopped at {stop}");
        if !whole {
            again.send_queued(std::slice::from_ref(&id)).expect("sent");
        }
        assert!(
            again.send_queued(std::slice::from_ref(&id)).is_err(),
            "not twice"
        );
        let want = ["user: hello", "assistant: hi", "user: next"];
        assert_eq!(said(&again), want, "stopped at {stop}");
    }
}

#[test]
fn the_second_who_opens_a_session_is_refused() {
    let place = place();
    let mut store = Live::create(place.path(), Path::new("/project"), None);
    store.append(vec![user("hello")]).expect("appended");
    let path = store.path().to_owned();
    let refused = || Live::open(&path).expect_err("locked").to_string();
    let unpersisted = refused();
    assert!(unpersisted.contains("locked by process"), "{unpersisted}");
    store.append(vec![answer("hi")]).expect("appended");
    assert_eq!(
        refused(),
        unpersisted,
        "the lock is held while it is persisted"
    );
    drop(store);
    Live::open(&path).expect("it is free");
    assert_eq!(files(place.path()).len(), 1);
}

#[test]
fn nothing_is_attached_under_a_damaged_line() {
    let folder = place();
    let path = folder.path().join("s.jsonl");
    let text = concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#,
        "\n",
        r#"{"type":"message","id":"e1","parentId":null,"message":{"role":"user","content":"x"}}"#,
        "\n",
        r#"{"type":"message","id":"e2","parentId":"e1","message":{"role":"user","content":"y"}}"#,
        "\n",
        r#"{"type":"message","id":"e3","parentId":"e2","message":{"role":"user","con #### :"z"}}"#,
        "\n",
    );
    std::fs::write(&path, text).expect("written");
    let mut store = Live::open(&path).expect("it opens");
    let tree = store.tree();
    let last = tree.find("e3").expect("its head can be read");
    assert!(tree.entry(last).is_err(), "its body cannot");
    let ids = store.append(vec![user("on")]).expect("appended");
    let tree = store.tree();
    let parent = tree.parent(tree.find(&ids[0]).expect("an entry"));
    assert_eq!(parent, tree.find("e2"));
}

#[test]
fn a_fork_copies_the_lines_of_the_path() {
    let folder = place();
    let source = folder.path().join("s.jsonl");
    let mut text = test_support::session("u:5 a:5 u:6 a:7 ^e2 u:8 a:9");
    // Lines stay byte for byte as they were.
    text = text
        .replace("\"e2\",", "\"e2\", ")
        .replace("\"id\":\"e1\"", "\"id\" :\"e1\",\"own\":1.50");
    text.push_str(
        "{\"type\":\"later\",\"id\":\"e7\",\"parentId\":\"e6\",\"\\u0061\":[1e3, 2]}\r\n",
    );
    std::fs::write(&source, &text).expect("written");
    let session = SessionFile::open(&source).expect("it opens");
    let at = Leaf::At(session.tree().find("e4").expect("an entry"));
    let to = folder.path().join("forks/project");
    let cwd = Path::new("/elsewhere");
    for (leaf, lines) in [
        (at, vec![1, 2, 3, 4]),
        (session.tree().leaf(), vec![1, 2, 5, 6, 7]),
        (Leaf::Root, vec![]),
    ] {
        let mut store = Live::fork(&session, leaf, &to, cwd, &nothing).expect("forked");
        assert!(store.is_persisted());
        assert_eq!(store.cwd(), "/elsewhere");
        let header = store.tree().header().expect("a header");
        assert_eq!(header.parent_session.as_deref(), source.to_str());
        let copy = std::fs::read_to_string(store.path()).expect("text");
        let (_, copy) = copy.split_once('\n').expect("a header");
        let all: Vec<&str> = text
            .split('\n')
            .map(|line| line.trim_end_matches('\r'))
            .collect();
        let want: String = lines
            .iter()
            .map(|line| format!("{}\n", all[*line]))
            .collect();
        assert_eq!(copy, want);
        let before = store.tree().len();
        store.append(vec![user("on")]).expect("appended");
        assert_eq!(store.tree().len(), before + 1);
    }
    assert_eq!(std::fs::read_to_string(&source).expect("text"), text);
    let old = folder.path().join("old.jsonl");
    std::fs::write(&old, "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n").expect("written");
    let old = SessionFile::open(&old).expect("it opens");
    let error = Live::fork(&old, old.tree().leaf(), &to, cwd, &nothing).expect_err("version 1");
    assert!(
        error
            .to_string()
            .ends_with("has version 1; migrate it first"),
        "{error}"
    );
}

#[test]
fn a_named_session_is_refused_where_something_stands() {
    let folder = place();
    let path = folder.path().join("mine.jsonl");
    let cwd = Path::new("/project");
    let mut store = Live::create_at(&path, cwd, None).expect("free");
    store.append(vec![user("hello")]).expect("appended");
    assert!(Live::create_at(&path, cwd, None).is_err(), "it was begun");
    store.append(vec![answer("hi")]).expect("appended");
    assert_eq!(store.path(), path);
    drop(store);
    let before = files(folder.path());
    assert!(Live::create_at(&path, cwd, None).is_err(), "it exists");
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_pending_file_of_another_session_is_left_alone() {
    let folder = place();
    let path = folder.path().join("s.jsonl");
    let mut store = Live::create_at(&path, Path::new("/project"), None).expect("free");
    store
        .append(vec![user("one"), answer("two")])
        .expect("appended");
    store
        .queue("three".to_owned(), Delivery::Prompt)
        .expect("queued");
    drop(store);
    std::fs::write(&path, test_support::session("u:5 a:5")).expect("written");
    let before = files(folder.path());
    let error = Live::open(&path).expect_err("not its own");
    assert!(error.to_string().contains("another session"), "{error}");
    assert_eq!(files(folder.path()), before);
}

#[test]
fn f3_a_pending_file_without_an_owner_is_refused_and_left_alone() {
    let folder = place();
    let mut store = Live::create(folder.path(), folder.path(), None);
    store
        .append(vec![user("hi"), answer("hello")])
        .expect("written");
    let path = store.path().to_owned();
    let pending = pending_path(&path);
    drop(store);
    let forged = [
        "{\"queued\":{\"id\":\"deadbeef\",\"text\":\"no\",\"delivery\":\"prompt\"}}\n",
        "{\"queued\":{\"id\":\"deadbeef\",\"text\":\"no\",\"delivery\":\"prompt\"}}",
        "notes of somebody",
        "\n",
    ];
    for forged in forged {
        std::fs::write(&pending, forged).expect("written");
        let refused = Live::open(&path).expect_err("it is nobody's");
        assert!(
            refused.to_string().contains("names no session"),
            "{refused}"
        );
        assert_eq!(std::fs::read_to_string(&pending).expect("kept"), forged);
    }
    // One that was cut off before its first line was whole is our own.
    for torn in ["", "{\"of\""] {
        std::fs::write(&pending, torn).expect("written");
        Live::open(&path).expect("it opens");
        assert!(!pending.exists());
    }
}

#[test]
fn a_pending_file_with_more_than_the_session_is_refused_and_left_alone() {
    let folder = place();
    let mut store = Live::create(folder.path(), folder.path(), None);
    store
        .append(vec![user("hi"), answer("hello")])
        .expect("written");
    let path = store.path().to_owned();
    drop(store);
    let pending = pending_path(&path);
    let session = std::fs::read_to_string(&path).expect("the session");
    let header = session.lines().next().expect("a header");
    let more = r#"{"type":"custom","id":"feed0001","parentId":null,"customType":"x"}"#;
    let queued = r#"{"queued":{"id":"feed0002","text":"x","delivery":"of next year"}}"#;
    for more in [more, queued] {
        let content = format!("{header}\n{more}\n");
        std::fs::write(&pending, &content).expect("written");
        let refused = Live::open(&path).expect_err("it holds more");
        assert!(refused.to_string().contains("move it away"), "{refused}");
        assert_eq!(std::fs::read_to_string(&pending).expect("kept"), content);
    }
    std::fs::write(&pending, session).expect("written");
    Live::open(&path).expect("all of it is in the session");
    crate::check_new(&pending).expect_err("a name for messages that wait");
}

#[cfg(unix)]
#[test]
fn f3_a_pending_file_that_is_a_link_is_not_read() {
    let folder = place();
    let mut store = Live::create(folder.path(), folder.path(), None);
    store
        .append(vec![user("hi"), answer("hello")])
        .expect("written");
    let path = store.path().to_owned();
    drop(store);
    std::os::unix::fs::symlink("elsewhere", pending_path(&path)).expect("a link");
    let refused = Live::open(&path).expect_err("it is refused");
    assert!(
        refused.to_string().contains("not a regular file"),
        "{refused}"
    );
}

#[cfg(unix)]
#[test]
fn f3_a_lock_that_was_replaced_stops_its_holder() {
    let folder = place();
    let mut first = Live::create(folder.path(), folder.path(), None);
    first
        .append(vec![user("hi"), answer("hello")])
        .expect("written");
    let path = first.path().to_owned();
    let lock = crate::SessionLock::path_for(&path);
    // Other content of the same file does not admit a second writer.
    std::fs::write(&lock, "1").expect("written");
    Live::open(&path).expect_err("it is locked");
    first.append(vec![user("more")]).expect("still the holder");
    // Another file at its path admits a second writer, and the first one stops.
    std::fs::write(folder.path().join("new"), "1").expect("written");
    std::fs::rename(folder.path().join("new"), &lock).expect("replaced");
    let mut second = Live::open(&path).expect("nobody holds this file");
    let before = files(folder.path());
    let refused = first.append(vec![user("lost")]).expect_err("it stops");
    assert!(
        refused.to_string().contains("was replaced or removed"),
        "{refused}"
    );
    first
        .queue("waits".to_owned(), Delivery::Prompt)
        .expect_err("nor does it keep messages");
    assert_eq!(files(folder.path()), before);
    // Its end leaves the lock of the second.
    drop(first);
    Live::open(&path).expect_err("it is locked");
    second.append(vec![user("mine")]).expect("written");
}

#[test]
fn a_message_that_waited_before_anything_was_said_leaves_nothing_when_it_is_dropped() {
    let place = place();
    let mut store = Live::create(place.path(), Path::new("/project"), None);
    store.append(start()).expect("appended");
    let Queued { id, .. } = store
        .queue("x".to_owned(), Delivery::Prompt)
        .expect("queued");
    assert_eq!(files(place.path()).len(), 1);
    store.drop_queued(&id).expect("dropped");
    assert_eq!(store.drop_queued(&id).expect("no such message"), None);
    assert_eq!(files(place.path()).len(), 0);
    // What was kept back is written with what comes next.
    store.append(vec![user("hello")]).expect("appended");
    let (_folder, again) = reopened(&files(place.path()), &name(&store));
    assert_eq!(said(&again), ["system: be brief", "user: hello"]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| {
        let metadata = std::fs::metadata(path).expect("it is there");
        metadata.permissions().mode() & 0o777
    };
    let place = place();
    let folder = place.path().join("sessions/project");
    let mut store = Live::create(&folder, Path::new("/project"), None);
    let path = store.path().to_owned();
    store.append(vec![user("hello")]).expect("appended");
    assert_eq!(mode(&pending_path(&path)), 0o600);
    store.append(vec![answer("hi")]).expect("appended");
    store
        .queue("later".to_owned(), Delivery::Prompt)
        .expect("queued");
    assert_eq!((mode(&path), mode(&pending_path(&path))), (0o600, 0o600));
    assert_eq!(
        (mode(&folder), mode(&place.path().join("sessions"))),
        (0o700, 0o700)
    );
    let source = SessionFile::open(&path).expect("it opens");
    let forks = place.path().join("forks");
    let fork = Live::fork(
        &source,
        source.tree().leaf(),
        &forks,
        Path::new("/p"),
        &nothing,
    );
    let fork = fork.expect("forked");
    assert_eq!((mode(fork.path()), mode(&forks)), (0o600, 0o700));
}

/// Returns a session with an answer, in files that may fail, and its entries' ids.
fn answered_in(files: &Files, policy: SyncPolicy) -> (Box<dyn SessionStore>, Vec<EntryId>) {
    let new = NewSession {
        cwd: "/project".to_owned(),
        parent: None,
    };
    let mut store = block_on(files.catalog_of(policy).create(new)).expect("created");
    let ids = block_on(store.append(vec![user("one"), answer("two")]));
    (store, ids.expect("appended"))
}

fn line_of_other(id: &str) -> String {
    format!(r#"{{"type":"custom","id":"{id}","parentId":null,"customType":"other"}}"#)
}

#[test]
fn a_line_that_is_written_between_the_look_and_the_write_joins_the_tree() {
    for policy in [SyncPolicy::Always, SyncPolicy::Never] {
        let files = Files::new();
        let (mut store, ids) = answered_in(&files, policy);
        *files.files.other.lock().expect("free") = Some(line_of_other("f1") + "\n");
        let own = block_on(store.append(vec![user("three")])).expect("appended");
        let more = block_on(store.append(vec![answer("four")])).expect("appended");
        let at = store.locator().cloned().expect("a locator");
        drop(store);
        let opened = SessionFile::open(at.as_path()).expect("it opens");
        assert_eq!(opened.decoded.diagnostics, []);
        let tree = opened.tree();
        let order: Vec<&str> = tree.indices().map(|index| tree.id(index)).collect();
        assert_eq!(order, [&*ids[0], &*ids[1], "f1", &*own[0], &*more[0]]);
        let last = tree.find(&more[0]).map(|index| tree.entry(index));
        assert!(last.is_some_and(|entry| entry.is_ok()));
    }
}

#[test]
fn a_line_that_another_program_has_begun_is_not_written_into() {
    let files = Files::new();
    let (mut store, _) = answered_in(&files, SyncPolicy::Always);
    let (begun, rest) = (line_of_other("f1"), line_of_other("f2"));
    let (begun, end) = begun.split_at(20);
    let at = store.locator().cloned().expect("a locator");
    // It comes between the look at the length and the write.
    *files.files.other.lock().expect("free") = Some(begun.to_owned());
    let refused = block_on(store.append(vec![user("x")])).expect_err("refused");
    assert!(
        refused.to_string().contains("has begun to write a line"),
        "{refused}"
    );
    files.append_as_other(&at, &[end.to_owned(), rest]);
    block_on(store.append(vec![user("three")])).expect("appended");
    drop(store);
    let opened = SessionFile::open(at.as_path()).expect("it opens");
    assert_eq!(opened.decoded.diagnostics, []);
    assert_eq!(opened.tree().len(), 5);
}

#[test]
fn a_session_whose_known_part_changed_is_refused_and_left_alone() {
    let changes: [fn(&mut Vec<u8>); 3] = [
        |bytes| bytes.truncate(bytes.len() - 5),
        |bytes| {
            bytes[30] ^= 1;
            bytes.extend_from_slice(b"{}\n");
        },
        Vec::clear,
    ];
    for change in changes {
        let files = Files::new();
        let (mut store, _) = answered_in(&files, SyncPolicy::Always);
        let at = store.locator().cloned().expect("a locator");
        let before = std::fs::read(at.as_path()).expect("read");
        let mut changed = before.clone();
        change(&mut changed);
        std::fs::write(at.as_path(), &changed).expect("written");
        let refused = block_on(store.append(vec![user("three")])).expect_err("refused");
        assert!(
            refused.to_string().contains("changed while it was open"),
            "{refused}"
        );
        assert_eq!(std::fs::read(at.as_path()).expect("read"), changed);
        std::fs::write(at.as_path(), &before).expect("written");
        block_on(store.append(vec![user("three")])).expect("as before");
    }
}

#[cfg(unix)]
#[test]
fn f12_waiting_for_a_pipe_can_be_cancelled() {
    struct Cancelling;
    impl ReadObserver for Cancelling {
        fn read(&mut self, _: usize) -> Result<(), StoreError> {
            Err(StoreError::Cancelled)
        }
    }
    let place = place();
    let [waiting, pipe] = ["waiting", "pipe"].map(|name| place.path().join(name));
    let made = std::process::Command::new("mkfifo")
        .args([&waiting, &pipe])
        .status();
    assert!(made.expect("mkfifo runs").success());
    let read = SessionFile::open_observed(&waiting, &mut Cancelling);
    assert!(matches!(read, Err(StoreError::Cancelled)));
    let refused = Live::open(&pipe).expect_err("it cannot be appended to");
    assert!(
        refused.to_string().contains("not a regular file"),
        "{refused}"
    );
    // Reads all that the writer of the pipe sends.
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, test_support::session("u:5 a:5"))
    });
    let session = SessionFile::open(&pipe).expect("it opens");
    writer.join().expect("ended").expect("written");
    assert_eq!(session.tree().len(), 2);
}

#[test]
fn f13_temporary_files_of_killed_programs_are_removed() {
    let place = place();
    let path = |name: &str| place.path().join(name);
    let names = [".agent-cli-new-old", ".agent-cli-new-young", "other"];
    for name in names {
        std::fs::write(path(name), "x").expect("written");
    }
    let hours = std::time::Duration::from_secs(2 * 60 * 60);
    for name in [names[0], names[2]] {
        let file = std::fs::File::options().write(true).open(path(name));
        let then = std::time::SystemTime::now() - hours;
        file.expect("a file").set_modified(then).expect("set");
    }
    crate::check_new(&path("new.jsonl")).expect("free");
    let left = files(place.path());
    assert_eq!(left.keys().collect::<Vec<_>>(), [names[1], names[2]]);
}

/// What a user and an agent do.
#[derive(Debug, Clone)]
enum Step {
    Say,
    Answer,
    Queue,
    /// Sends so many of the messages that wait.
    Send(usize),
    Drop,
    /// The program ends, orderly or not, and is started again.
    Reopen,
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Say),
        1 => Just(Step::Answer),
        4 => Just(Step::Queue),
        2 => (1..3_usize).prop_map(Step::Send),
        1 => Just(Step::Drop),
        2 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_happens_every_message_is_there_once(steps in any_steps()) {
        let mut folder = place();
        let mut store = Live::create(folder.path(), Path::new("/project"), None);
        let name = name(&store);
        let (mut texts, mut waits): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (number, step) in steps.iter().enumerate() {
            let text = format!("#{number}");
            match step {
                Step::Say => {
                    store.append(vec![user(&text)]).expect("appended");
                    texts.push(format!("user: {text}"));
                }
                Step::Answer => {
                    store.append(vec![answer(&text)]).expect("appended");
                    texts.push(format!("assistant: {text}"));
                }
                Step::Queue => {
                    store.queue(text.clone(), Delivery::Steer).expect("queued");
                    waits.push(text);
                }
                Step::Send(count) => {
                    let sent = (*count).min(waits.len());
                    let ids: Vec<EntryId> = store.queued()[..sent].iter().map(|queued| queued.id.clone()).collect();
                    prop_assert_eq!(&store.send_queued(&ids).expect("sent"), &ids);
                    texts.extend(waits.drain(..sent).map(|text| format!("user: {text}")));
                }
                Step::Drop => {
                    if let Some(id) = store.queued().last().map(|queued| queued.id.clone()) {
                        store.drop_queued(&id).expect("dropped");
                        waits.pop();
                    }
                }
                Step::Reopen if texts.is_empty() && waits.is_empty() => {}
                Step::Reopen => {
                    let left = crashed(&files(folder.path()));
                    store = Live::open(&left.path().join(&name)).expect("it opens");
                    folder = left;
                }
            }
            prop_assert_eq!(&said(&store), &texts);
            prop_assert_eq!(&owned(&store), &waits);
            // What a crash right now would leave.
            if !texts.is_empty() || !waits.is_empty() {
                let (_left, again) = reopened(&files(folder.path()), &name);
                prop_assert_eq!(&said(&again), &texts);
                prop_assert_eq!(&owned(&again), &waits);
            }
            prop_assert_eq!(store.is_persisted(), texts.iter().any(|text| text.starts_with("assistant")));
        }
    }
}

/// Carries nothing into a fork.
fn nothing(_: &SessionPath<'_>, _: &SessionPath<'_>) -> Vec<NewEntry> {
    Vec::new()
}

/// Records the notices about a read.
#[derive(Default)]
struct Noted(u64, usize);

impl ReadObserver for Noted {
    fn begin(&mut self, total: u64) {
        self.0 = total;
    }

    fn read(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.1 += bytes;
        Ok(())
    }
}

#[test]
fn how_far_the_opening_of_a_session_is_can_be_observed() {
    let folder = place();
    let mut store = Live::create(folder.path(), folder.path(), None);
    store
        .append(vec![user("hi"), answer("hello")])
        .expect("written");
    let path = store.path().to_owned();
    drop(store);
    let length = std::fs::metadata(&path).expect("a file").len();
    let mut noted = Noted::default();
    let opened = block_on(FileCatalog::new("").open(&Locator::of_path(&path), &mut noted));
    opened.expect("a session");
    assert_eq!((noted.0, noted.1 as u64), (length, length));
}
