//! The suite of stores: what [`SessionStore`] and [`SessionCatalog`] promise, seen through the traits.
//!
//! A new store implements [`Backend`] and calls [`check`], the part that every store passes. Stores that several
//! machines use pass [`check_shared`](crate::conformance_shared_tests::check_shared) too, and files their own part.

use std::sync::Arc;

use session_model::{
    AgentMessage, AssistantMessage, Block, Content, EntryBody, EntryDraft, EntryId, Leaf,
    MessageDraft, SessionPath, StopReason,
};

use crate::error::{ErrorKind, StoreError};
use crate::in_memory_log::InMemoryLog;
use crate::memory_store::{Kept, lock};
use crate::{
    Batch, Delivery, ForkSource, Locator, MemoryCatalog, NewEntry, NewSession, OpenSession, Query,
    SessionCatalog, SessionFile, SessionStore, is_sidecar, list_all,
};

/// A kind of store, with all that the suite needs to disturb it.
pub trait Backend {
    /// Returns the catalog.
    fn catalog(&self) -> Arc<dyn SessionCatalog>;

    /// Returns the lines of a session, as any reader sees them.
    fn lines(&self, at: &Locator) -> Vec<String>;

    /// Returns what a program finds that starts after this one was killed.
    fn killed(&self) -> Box<dyn Backend>;
}

/// Checks all that stores promise, each on a new backend.
///
/// # Panics
/// The stores of the backend break a promise.
pub async fn check(new: impl Fn() -> Box<dyn Backend>) {
    appended_entries_are_a_chain_and_a_move_is_another_parent(&*new()).await;
    a_message_that_waits_is_sent_once_or_dropped(&*new()).await;
    a_session_that_continues_another_takes_over_what_waits(&*new()).await;
    a_search_finds_the_sessions_that_have_a_text(&*new()).await;
    a_fork_has_the_lines_of_the_path_and_what_is_carried(&*new()).await;
    a_second_writer_is_refused(&*new()).await;
    a_killed_program_loses_nothing(&*new()).await;
    a_removed_session_is_gone(&*new()).await;
    an_output_is_there_for_every_program(&*new()).await;
    what_others_wrote_is_a_conflict_where_the_caller_says_so(&*new()).await;
    pages_have_every_session_once(&*new()).await;
    a_session_is_adopted_byte_for_byte(&*new(), &*new()).await;
}

pub(crate) fn user(text: &str) -> NewEntry {
    EntryDraft::Message(Box::new(MessageDraft::user(text))).into()
}

pub(crate) fn answer(text: &str) -> NewEntry {
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

pub(crate) async fn begun(backend: &dyn Backend) -> OpenSession {
    let new = NewSession {
        cwd: "/project".to_owned(),
        parent: None,
    };
    backend.catalog().create(new).await.expect("created")
}

/// Returns a session that has an answer, and the ids of its two entries.
pub(crate) async fn answered(backend: &dyn Backend) -> (OpenSession, Vec<EntryId>, Locator) {
    let mut store = begun(backend).await;
    let entries = vec![user("one"), answer("two")];
    let ids = store.append(entries).await.expect("appended");
    let at = store.locator().cloned().expect("a locator");
    (store, ids, at)
}

/// Returns the texts of the path to the leaf.
pub(crate) fn said(store: &dyn SessionStore) -> Vec<String> {
    let tree = store.tree();
    let path = tree.path(store.leaf());
    let bodies = path.entries().iter().map(|index| tree.entry(*index));
    let texts = bodies.filter_map(|entry| match entry.expect("readable").body {
        EntryBody::Message(message) => Some(message.display_text()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn waiting(store: &dyn SessionStore) -> Vec<String> {
    let queued = store.queued().iter();
    queued.map(|queued| queued.text.clone()).collect()
}

pub(crate) fn parent(store: &dyn SessionStore, id: &EntryId) -> Option<EntryId> {
    let tree = store.tree();
    let parent = tree.parent(tree.find(id).expect("an entry"));
    parent.map(|parent| EntryId::new(tree.id(parent)))
}

/// Checks that opening the session now finds the entries of the store.
pub(crate) async fn same_when_killed(backend: &dyn Backend, store: &dyn SessionStore) {
    let killed = backend.killed();
    let found = killed.catalog().find(store.id()).await.expect("found");
    let again = killed
        .catalog()
        .open(&found, &mut ())
        .await
        .expect("it opens");
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

async fn a_session_that_continues_another_takes_over_what_waits(backend: &dyn Backend) {
    let (mut one, ..) = answered(backend).await;
    for text in ["first", "second"] {
        let queued = one.queue(text.into(), Delivery::FollowUp).await;
        queued.expect("queued");
    }
    let queued = one.queued().to_vec();
    let catalog = backend.catalog();
    let source = ForkSource::Open(&mut *one);
    let carry = |_: &SessionPath<'_>, _: &SessionPath<'_>| vec![user("carried")];
    let other = catalog.fork(source, Leaf::Root, "/project", &carry).await;
    let mut other = other.expect("forked");
    assert_eq!((one.queued(), other.queued()), (&[][..], &*queued));
    assert_eq!(said(&*other), ["carried"]);
    same_when_killed(backend, &*one).await;
    same_when_killed(backend, &*other).await;
    let first = other.queued_entry(&queued[0].id).expect("it waits");
    other.append(vec![first]).await.expect("sent");
    assert_eq!(waiting(&*other), ["second"]);
    same_when_killed(backend, &*other).await;
}

async fn a_search_finds_the_sessions_that_have_a_text(backend: &dyn Backend) {
    let catalog = backend.catalog();
    if catalog
        .candidates("text", &mut ())
        .await
        .expect("an answer")
        .is_none()
    {
        return;
    }
    let texts = [
        "open src/Parse.rs: no such file or directory",
        "the file reparsed; the directory is open",
        "nichts davon, 修复缓存",
    ];
    let (mut ids, mut stores) = (Vec::new(), Vec::new());
    for text in texts {
        let (mut store, ..) = answered(backend).await;
        store.append(vec![user(text)]).await.expect("appended");
        ids.push(store.id().to_owned());
        stores.push(store);
    }
    // One is closed, one is open, one was killed.
    stores.swap_remove(1).close().await.expect("closed");
    for (words, found) in [
        ("parse", &[0, 1][..]),
        ("SRC/parse.rs", &[0]),
        ("\"no such file\" nichts", &[0]),
        ("directory unknown", &[0, 1]),
        ("缓存", &[2]),
        ("unknown", &[]),
    ] {
        let rows = catalog.candidates(words, &mut ()).await;
        let rows = rows.expect("an answer").expect("words");
        let mut of: Vec<&str> = rows.iter().map(|row| &*row.id).collect();
        if found.len() > 1 && words == "parse" {
            assert_eq!(of[0], ids[0], "what begins a word comes first");
        }
        let mut wanted: Vec<&str> = found.iter().map(|at| &*ids[*at]).collect();
        of.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(of, wanted, "{words}");
    }
    stores[0]
        .append(vec![user("zebra")])
        .await
        .expect("appended");
    let rows = catalog
        .candidates("zebra", &mut ())
        .await
        .expect("an answer");
    assert_eq!(rows.expect("words").len(), 1, "what was written since");
    let rows = catalog.candidates("\"->\"", &mut ()).await;
    assert_eq!(rows.expect("an answer"), None, "no index can tell");
}

async fn a_fork_has_the_lines_of_the_path_and_what_is_carried(backend: &dyn Backend) {
    let (mut store, ids, at) = answered(backend).await;
    let first = Some(ids[0].clone());
    let other = store.append_under(first, vec![answer("other")]).await;
    other.expect("appended");
    let leaf = Leaf::At(store.tree().find(&ids[1]).expect("an entry"));
    let source = ForkSource::Read {
        tree: store.tree(),
        locator: store.locator(),
    };
    let catalog = backend.catalog();
    let carry = |source: &SessionPath<'_>, copy: &SessionPath<'_>| {
        assert_eq!(source.entries().len(), copy.entries().len());
        vec![user("carried")]
    };
    let forked = catalog.fork(source, leaf, "/elsewhere", &carry).await;
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

async fn a_second_writer_is_refused(backend: &dyn Backend) {
    let (store, _, at) = answered(backend).await;
    let catalog = backend.catalog();
    let refused = catalog.open(&at, &mut ()).await.expect_err("it is open");
    assert_eq!(refused.kind(), ErrorKind::Session);
    let refused = catalog.remove(&at).await.expect_err("it is open");
    assert_eq!(refused.kind(), ErrorKind::Session);
    let read = catalog
        .read(&at, &mut ())
        .await
        .expect("reading takes no lock");
    assert_eq!(read.tree().len(), store.tree().len());
    store.close().await.expect("closed");
    drop(catalog.open(&at, &mut ()).await.expect("it is free"));
    catalog.open(&at, &mut ()).await.expect("it is free again");
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
    let rows = list_all(&*backend.catalog(), Some("/project")).await;
    let rows = rows.expect("a list");
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].locked, rows[0].pending), (true, 1));
    assert_eq!(rows[0].first_prompt.as_deref(), Some("hello"));
}

async fn a_removed_session_is_gone(backend: &dyn Backend) {
    let (mut store, _, at) = answered(backend).await;
    let queued = store.queue("later".into(), Delivery::Prompt).await;
    queued.expect("queued");
    let catalog = backend.catalog();
    let outputs = catalog.outputs(&at);
    if let Some(outputs) = &outputs {
        outputs.put("a", vec![1, 0]).await.expect("kept");
    }
    drop(store);
    catalog.remove(&at).await.expect("removed");
    assert_eq!(list_all(&*catalog, None).await.expect("a list"), []);
    catalog.open(&at, &mut ()).await.expect_err("it is gone");
    if let Some(outputs) = &outputs {
        assert_eq!(outputs.get("a").await.expect("an answer"), None);
    }
}

async fn an_output_is_there_for_every_program(backend: &dyn Backend) {
    let (store, _, at) = answered(backend).await;
    let Some(outputs) = backend.catalog().outputs(&at) else {
        return;
    };
    let local = store.local().map(|files| files.outputs.join("a.txt"));
    assert!(local.is_none_or(|file| is_sidecar(&file)));
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    assert_eq!(outputs.names().await.expect("names"), [""; 0]);
    for _ in 0..2 {
        let kept = outputs.put("bash-1.txt", bytes.clone()).await;
        kept.expect("kept, and kept again");
    }
    let killed = backend.killed();
    let at = killed.catalog().find(store.id()).await.expect("found");
    let theirs = killed.catalog().outputs(&at).expect("outputs");
    assert_eq!(theirs.names().await.expect("names"), ["bash-1.txt"]);
    let found = theirs.get("bash-1.txt").await.expect("an answer");
    assert!(found == Some(bytes), "byte for byte");
    for name in ["bash-2.txt", "", "it's/\0", "../bash-1.txt"] {
        assert_eq!(theirs.get(name).await.expect("an answer"), None, "{name:?}");
    }
}

async fn what_others_wrote_is_a_conflict_where_the_caller_says_so(backend: &dyn Backend) {
    let (mut store, ids, at) = answered(backend).await;
    let before = backend.lines(&at);
    let batch = |expected, text: &str| Batch {
        parent: Some(ids[1].clone()),
        entries: vec![user(text)],
        expected: Some(expected),
    };
    let refused = store.write(batch(1, "x")).await.expect_err("it has more");
    assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
    assert_eq!(backend.lines(&at), before);
    store.write(batch(2, "three")).await.expect("written");
    assert_eq!(said(&*store), ["one", "two", "three"]);
}

async fn pages_have_every_session_once(backend: &dyn Backend) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(answered(backend).await.0.id().to_owned());
    }
    let (catalog, mut found, mut after) = (backend.catalog(), Vec::new(), None::<String>);
    loop {
        let query = Query {
            cwd: Some("/project"),
            after: after.as_deref(),
            limit: Some(2),
        };
        let page = catalog.list(query).await.expect("a page");
        assert!(page.rows.len() <= 2);
        found.extend(page.rows.into_iter().map(|row| row.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    found.sort();
    ids.sort();
    assert_eq!(found, ids);
    let query = Query {
        cwd: Some("/elsewhere"),
        ..Query::default()
    };
    assert_eq!(catalog.list(query).await.expect("a page").rows, []);
}

async fn a_session_is_adopted_byte_for_byte(from: &dyn Backend, to: &dyn Backend) {
    let (mut store, _, at) = answered(from).await;
    let damaged = [
        "not JSON",
        "{\"type\":\"custom\",\"id\":\"a\\u0000b\",\"parentId\":null}",
        "",
        "caf\u{e9}\r",
        "{\"type\":\"custom\",\"id\":\"twice\"}",
        "{\"type\":\"custom\",\"id\":\"twice\"}",
        "torn",
    ];
    let text = format!("{}\n{}", from.lines(&at).join("\n"), damaged.join("\n"));
    let session = SessionFile::of_memory(at.as_path(), text.clone().into_bytes());
    let session = session.expect("a session");
    let copy = to.catalog().adopt(&session).await.expect("adopted");
    let read = to
        .catalog()
        .read(&copy, &mut ())
        .await
        .expect("it can be read");
    let bytes = read
        .contents()
        .map(|contents| contents.read().expect("bytes"));
    assert_eq!(bytes.expect("bytes"), text.as_bytes());
    to.catalog().adopt(&session).await.expect_err("it is there");
    let mut opened = to.catalog().open(&copy, &mut ()).await.expect("it opens");
    opened.append(vec![user("more")]).await.expect("appended");
    let lines = to.lines(&copy);
    assert_eq!(
        lines[lines.len() - 2],
        "torn",
        "a line that was cut off stays separate"
    );
    store
        .append(vec![user("on")])
        .await
        .expect("the source is as it was");
}

/// Sessions in memory.
#[derive(Debug, Default)]
pub struct Memory(MemoryCatalog);

impl Backend for Memory {
    fn catalog(&self) -> Arc<dyn SessionCatalog> {
        Arc::new(self.0.clone())
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
