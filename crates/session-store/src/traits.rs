//! The contract of stores: a session that is open for writing, and a catalog of sessions.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use session_model::{
    AgentMessage, Diagnostic, EntryDraft, EntryId, Leaf, MessageDraft, SessionPath, SessionTree,
    UserMessage,
};

use crate::error::StoreError;
use crate::file::SessionFile;
use crate::filter::WriteFilter;
use crate::locator::Locator;
use crate::progress::ReadObserver;
use crate::queue::{Delivery, NewEntry, Prompt, Queued};
use crate::row::{Page, Query, SessionRow};

/// A future that a trait returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of a write of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A session that is open for writing: it grows entry by entry, and keeps the messages that wait.
///
/// **Invariants.** Nothing that was appended or queued is lost when the program ends at any moment. A write whose error
/// is not [`StoreError::Unknown`] stored nothing. The same entries with the same ids, written again after an error, are
/// in the session once. One store at a time has a session open for writing.
///
/// **Other programs.** To a file, one that knows no lock may append whole lines. Its entries join the tree before the
/// next append, and nothing of them is changed. Entries of this store follow its own [`leaf`](Self::leaf): where the
/// other one appended under the same entry, they are branches of it. Readers take the last entry of a session for its
/// leaf, so after the next append they follow this store. A session whose known part changed or got shorter is refused.
pub trait SessionStore: fmt::Debug + Send + Sync {
    /// Returns the tree.
    fn tree(&self) -> &SessionTree;

    /// Returns what was noticed when the session was read.
    fn diagnostics(&self) -> &[Diagnostic];

    /// Returns the leaf: the entry that this store appended last; until then the last one of the session.
    fn leaf(&self) -> Leaf;

    /// Returns the session's id.
    fn id(&self) -> &str;

    /// Returns the folder that the session works in.
    fn cwd(&self) -> &str;

    /// Returns the locator with which the session can be opened again; `None` when it ends with this store.
    fn locator(&self) -> Option<&Locator>;

    /// Returns true once other programs find the session at its locator.
    fn is_persisted(&self) -> bool;

    /// Returns how long the session is, in bytes.
    fn bytes(&self) -> u64;

    /// Returns the files of a session that is a file.
    fn local(&self) -> Option<LocalFiles>;

    /// Returns the messages that wait, the oldest first.
    fn queued(&self) -> &[Queued];

    /// Returns how many messages of the user wait: to be sent or, until the session is persisted, to be answered.
    fn waiting(&self) -> usize;

    /// Returns an id that no entry has and no message that waits.
    fn fresh_id(&self) -> EntryId;

    /// Sets what every text passes from now on before it is written.
    fn set_filter(&mut self, filter: Arc<dyn WriteFilter>);

    /// Returns what every text passes before it is written.
    fn filter(&self) -> Arc<dyn WriteFilter>;

    /// Writes a batch whole or not at all, and returns the ids of its entries. The last is the leaf afterwards. A
    /// queued message whose id is appended no longer waits. Entries that an earlier write without an answer has stored
    /// are recognized by their ids and not written again.
    fn write(&mut self, batch: Batch) -> StoreFuture<'_, Vec<EntryId>>;

    /// Keeps a message until it is sent, under its id, and returns it as it was written.
    fn keep(&mut self, queued: Queued) -> StoreFuture<'_, Queued>;

    /// Takes a message off the queue for good and returns it; `None` when it does not wait.
    fn drop_queued<'a>(&'a mut self, id: &'a EntryId) -> StoreFuture<'a, Option<Queued>>;

    /// Takes all messages off the queue in one write: they wait for another session.
    fn release_queue(&mut self) -> StoreFuture<'_, ()>;

    /// Returns the number of the lease that it writes with, in a store that several machines share.
    fn lease(&self) -> Option<i64>;

    /// Makes the session visible to other programs, if it is worth keeping before there is an answer.
    fn persist(&mut self) -> StoreFuture<'_, ()>;

    /// Reads what other programs stored, and what an earlier write without an answer has stored. Every write does so
    /// first.
    fn refresh(&mut self) -> StoreFuture<'_, ()>;

    /// Lets other programs write. A store that is dropped does the same as far as it can.
    fn close(self: Box<Self>) -> StoreFuture<'static, ()>;

    /// Appends entries as a chain under the leaf.
    fn append(&mut self, entries: Vec<NewEntry>) -> StoreFuture<'_, Vec<EntryId>> {
        let leaf = self.tree().leaf_id(self.leaf()).map(EntryId::new);
        self.append_under(leaf, entries)
    }

    /// Appends entries as a chain under a parent; `None` is the root.
    fn append_under(
        &mut self,
        parent: Option<EntryId>,
        entries: Vec<NewEntry>,
    ) -> StoreFuture<'_, Vec<EntryId>> {
        self.write(Batch {
            parent,
            entries,
            expected: None,
        })
    }

    /// Keeps a new message until it is sent, and returns it.
    fn queue(&mut self, prompt: Prompt, delivery: Delivery) -> StoreFuture<'_, Queued> {
        let id = self.fresh_id();
        let Prompt { text, images } = prompt;
        self.keep(Queued {
            id,
            text,
            images,
            delivery,
        })
    }

    /// Returns a message that waits as the entry that it will be; appended, it waits no longer.
    ///
    /// # Errors
    /// No such message waits.
    fn queued_entry(&self, id: &EntryId) -> Result<NewEntry, StoreError> {
        let found = self.queued().iter().find(|queued| queued.id == *id);
        let queued = found.ok_or_else(|| {
            StoreError::usage(format!(
                "no message {id} waits to be sent; it may be sent already"
            ))
        })?;
        let draft = MessageDraft::new(AgentMessage::User(UserMessage {
            content: queued.content(),
            timestamp: None,
        }))?;
        Ok(NewEntry {
            draft: EntryDraft::Message(Box::new(draft)),
            id: Some(id.clone()),
        })
    }
}

/// Entries that are written together.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The entry that they follow; `None` is the root. Where its line is damaged, they follow the nearest entry before
    /// it that can be read.
    pub parent: Option<EntryId>,
    /// The entries, each the parent of the next. An entry without an id gets one, so it may be stored twice when it is
    /// written again after [`StoreError::Unknown`].
    pub entries: Vec<NewEntry>,
    /// The number of entries in the session; [`StoreError::Conflict`] if other programs wrote meanwhile. `None` accepts
    /// that.
    pub expected: Option<usize>,
}

/// The files of a session that is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFiles {
    /// The session.
    pub path: PathBuf,
    /// The folder for the whole text of output that was cut.
    pub outputs: PathBuf,
    /// The files that this store alone reads and writes; tools leave them alone.
    pub protected: Vec<PathBuf>,
}

/// The beginning of a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The folder that it works in.
    pub cwd: String,
    /// The session that it continues.
    pub parent: Option<Locator>,
}

/// The session that a new one continues.
#[derive(Debug)]
pub enum ForkSource<'a> {
    /// One that was read: what waits for it stays there.
    Read {
        /// Its tree.
        tree: &'a SessionTree,
        /// Its location.
        locator: Option<&'a Locator>,
    },
    /// One that is open: what waits for it waits for the new session afterwards.
    Open(&'a mut dyn SessionStore),
}

impl ForkSource<'_> {
    /// Returns its tree.
    pub fn tree(&self) -> &SessionTree {
        match self {
            Self::Read { tree, .. } => tree,
            Self::Open(store) => store.tree(),
        }
    }

    /// Returns its location.
    pub fn locator(&self) -> Option<&Locator> {
        match self {
            Self::Read { locator, .. } => *locator,
            Self::Open(store) => store.locator(),
        }
    }

    /// Returns it where it is open.
    pub fn open(&self) -> Option<&dyn SessionStore> {
        match self {
            Self::Read { .. } => None,
            Self::Open(store) => Some(&**store),
        }
    }

    /// Returns the messages that go along.
    pub fn queue(&self) -> &[Queued] {
        self.open().map_or(&[], |store| store.queued())
    }

    /// Takes the messages off its queue.
    ///
    /// # Errors
    /// A write that failed; then all of them wait there.
    pub async fn release_queue(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Read { .. } => Ok(()),
            Self::Open(store) => store.release_queue().await,
        }
    }
}

/// Makes the entries that a new session gets in addition, of the path of the source and that of the copy.
pub type Carry<'a> =
    &'a (dyn Fn(&SessionPath<'_>, &SessionPath<'_>) -> Vec<NewEntry> + Send + Sync);

/// An open session of any catalog.
pub type OpenSession = Box<dyn SessionStore>;

/// Creates, finds and removes sessions.
pub trait SessionCatalog: fmt::Debug + Send + Sync {
    /// Returns a new session. Others find it once something is worth keeping.
    fn create(&self, new: NewSession) -> StoreFuture<'_, OpenSession>;

    /// Opens a session for writing, which no other program can do meanwhile. Its waiting messages keep waiting.
    /// `observer` gets the progress and may stop it.
    fn open<'a>(
        &'a self,
        at: &'a Locator,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, OpenSession>;

    /// Reads a session, which other programs may write meanwhile.
    fn read<'a>(
        &'a self,
        at: &'a Locator,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, SessionFile>;

    /// Returns a new session that continues from `leaf` of another one: with the lines of the path to the leaf as they
    /// are, what `carry` adds, and the messages that wait. After an error there is no new session, and they wait where
    /// they did.
    fn fork<'a>(
        &'a self,
        source: ForkSource<'a>,
        leaf: Leaf,
        cwd: &'a str,
        carry: Carry<'a>,
    ) -> StoreFuture<'a, OpenSession>;

    /// Copies a session of any store to this one, byte for byte, and returns its locator. The store must not have a
    /// session of this id.
    fn adopt<'a>(&'a self, session: &'a SessionFile) -> StoreFuture<'a, Locator>;

    /// Returns a page of the sessions, the last written first.
    fn list<'a>(&'a self, query: Query<'a>) -> StoreFuture<'a, Page>;

    /// Returns the session whose id is `id`, or the only one whose id has this prefix.
    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Locator>;

    /// Removes a session that no program has open, what waits for it, and its outputs.
    fn remove<'a>(&'a self, at: &'a Locator) -> StoreFuture<'a, ()>;

    /// Returns the sessions in which some of the words of a search may be, the best first, by an index of the store;
    /// `None` where it has none or the index cannot tell. `observer` may stop it.
    fn candidates<'a>(
        &'a self,
        words: &'a str,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, Option<Vec<SessionRow>>> {
        let _ = (words, observer);
        Box::pin(async { Ok(None) })
    }

    /// Returns the whole outputs of a session that were cut; `None` where the store keeps none.
    fn outputs(&self, at: &Locator) -> Option<Arc<dyn OutputStore>> {
        let _ = at;
        None
    }
}

/// The whole text of outputs of a session that were cut.
pub trait OutputStore: fmt::Debug + Send + Sync {
    /// Keeps an output; the same one again changes nothing.
    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()>;

    /// Returns an output, also one of a session that this one continues; `None` where there is none of this name.
    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>>;

    /// Returns the names of those that are kept.
    fn names(&self) -> StoreFuture<'_, Vec<String>>;
}

/// Returns all sessions of a catalog, the last written first: those that work in `cwd`, or all.
///
/// # Errors
/// Those of the catalog.
pub async fn list_all(
    catalog: &dyn SessionCatalog,
    cwd: Option<&str>,
) -> Result<Vec<SessionRow>, StoreError> {
    let mut rows = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let query = Query {
            cwd,
            after: after.as_deref(),
            limit: None,
        };
        let page = catalog.list(query).await?;
        rows.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return Ok(rows);
        }
    }
}
