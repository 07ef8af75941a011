//! The shared part of all stores: ids, stamping, the leaf and the queue, above a log that only keeps lines.

use std::fmt;
use std::sync::Arc;

use session_model::{
    AgentMessage, Diagnostic, EntryBody, EntryDraft, EntryId, EntryIndex, Leaf, SessionTree,
};

use crate::error::{Advice, StoreError};
use crate::filter::{Unfiltered, WriteFilter};
use crate::locator::Locator;
use crate::queue::Queued;
use crate::stamp::{fresh_id, stamped};
use crate::traits::{
    Batch, ForkSource, LocalFiles, OpenSession, SessionCatalog, SessionStore, StoreFuture,
};

/// The number of times a batch is written again.
const ATTEMPTS: usize = 3;

/// The importance of lines: the harm if they were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Lines that every start writes.
    Start,
    /// Lines that must not be lost, although no answer came.
    Content,
    /// An answer of a model: with it, a session is persisted.
    Answer,
}

impl Weight {
    fn of(draft: &EntryDraft) -> Self {
        match draft {
            EntryDraft::Message(draft) => match draft.message() {
                AgentMessage::Assistant(_) => Self::Answer,
                AgentMessage::System(_) => Self::Start,
                _ => Self::Content,
            },
            EntryDraft::ModelChange(_) | EntryDraft::ThinkingLevelChange(_) => Self::Start,
            _ => Self::Content,
        }
    }
}

/// Keeps the lines of one session: what a new kind of store implements. [`Store`] makes a [`SessionStore`] of it.
///
/// After an error lines may have been kept nevertheless: [`Store`] looks for them after [`SessionLog::refresh`].
pub trait SessionLog: fmt::Debug + Send + Sync {
    /// Returns the tree of all lines.
    fn tree(&self) -> &SessionTree;

    /// Returns what was noticed when the session was read.
    fn diagnostics(&self) -> &[Diagnostic] {
        &[]
    }

    /// Returns how long the session is, in bytes.
    fn bytes(&self) -> u64;

    /// Returns the locator with which the session can be opened again.
    fn locator(&self) -> Option<&Locator>;

    /// Returns true once other programs find the session there.
    fn is_persisted(&self) -> bool;

    /// Returns the files of a session that is a file.
    fn local(&self) -> Option<LocalFiles> {
        None
    }

    /// Returns the nearest readable entry from `parent` on towards the root.
    fn readable_parent(&self, parent: EntryId) -> Option<EntryId> {
        Some(parent)
    }

    /// Returns the number of the lease, in a store that several machines share.
    fn lease(&self) -> Option<i64> {
        None
    }

    /// Reads what other programs stored.
    fn refresh(&mut self) -> StoreFuture<'_, ()>;

    /// Appends lines in one write, after those of other programs. The messages in them no longer wait.
    fn append(&mut self, lines: Lines) -> StoreFuture<'_, ()>;

    /// Keeps a message that waits.
    fn keep<'a>(&'a mut self, queued: &'a Queued) -> StoreFuture<'a, ()>;

    /// Forgets messages that wait no longer; `left` wait on.
    fn forget<'a>(&'a mut self, gone: &'a [EntryId], left: usize) -> StoreFuture<'a, ()>;

    /// Makes the session visible to other programs.
    fn persist(&mut self) -> StoreFuture<'_, ()>;

    /// Lets other programs write. A log that is dropped does the same as far as it can.
    fn close(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Lines of entries that are written together.
#[derive(Debug, Clone)]
pub struct Lines {
    /// The lines, without line feeds.
    pub lines: Vec<String>,
    /// The importance of the lines.
    pub weight: Weight,
    /// The messages that wait no longer.
    pub sent: Vec<EntryId>,
    /// The number of messages that still wait.
    pub left: usize,
}

/// A session that is open for writing, over its log.
#[derive(Debug)]
pub struct Store<L> {
    pub(crate) log: L,
    leaf: Leaf,
    queue: Vec<Queued>,
    id: String,
    cwd: String,
    filter: Arc<dyn WriteFilter>,
    /// Lines of writes since the last good one, any of which may have been kept.
    unconfirmed: Vec<(EntryId, String)>,
}

impl<L: SessionLog> Store<L> {
    /// Returns the store over `log`, for whose session the messages in `queue` wait.
    pub fn over(log: L, queue: Vec<Queued>) -> Self {
        let tree = log.tree();
        let header = tree.header();
        Self {
            leaf: tree.leaf(),
            queue,
            id: header.map(|header| header.id.clone()).unwrap_or_default(),
            cwd: header.map(|header| header.cwd.clone()).unwrap_or_default(),
            filter: Arc::new(Unfiltered),
            unconfirmed: Vec::new(),
            log,
        }
    }

    /// Returns the parent that entries get which belong under `parent`.
    fn readable_parent(&self, parent: Option<EntryId>) -> Result<Option<EntryId>, StoreError> {
        match parent {
            None => Ok(None),
            Some(id) if self.log.tree().find(&id).is_none() => {
                let text = format!("no entry {id} in this session");
                Err(StoreError::usage(text).advising(Advice::ListEntries))
            }
            Some(id) => Ok(self.log.readable_parent(id)),
        }
    }

    /// Writes a batch, and again if a write without an answer was stored meanwhile.
    async fn append_batch(&mut self, batch: Batch) -> Result<Vec<EntryId>, StoreError> {
        for _ in 1..ATTEMPTS {
            match self.try_batch(batch.clone()).await {
                Err(StoreError::Conflict { .. }) if batch.expected.is_none() => {}
                done => return done,
            }
        }
        self.try_batch(batch).await
    }

    async fn try_batch(&mut self, batch: Batch) -> Result<Vec<EntryId>, StoreError> {
        let Batch {
            mut parent,
            entries,
            expected,
        } = batch;
        let Some(weight) = entries.iter().map(|entry| Weight::of(&entry.draft)).max() else {
            return Ok(Vec::new());
        };
        self.log.refresh().await?;
        if expected.is_some_and(|expected| expected != self.log.tree().len()) {
            let at = self.log.locator().map(|at| at.as_path().to_owned());
            let path = at.unwrap_or_default();
            return Err(StoreError::Conflict { path });
        }
        parent = self.readable_parent(parent)?;
        let mut ids: Vec<Option<EntryId>> = Vec::new();
        let mut new = Vec::new();
        for entry in entries {
            let landed = entry.id.clone().filter(|id| self.has_landed(id));
            if landed.is_some() {
                parent.clone_from(&landed);
            } else {
                new.push(entry);
            }
            ids.push(landed);
        }
        let (lines, fresh) = stamped(self.log.tree(), &self.queue, parent, new)?;
        let mut unused = fresh.iter().cloned();
        let ids = ids
            .into_iter()
            .filter_map(|id| id.or_else(|| unused.next()));
        let ids: Vec<EntryId> = ids.collect();
        let waits = |id: &EntryId| self.queue.iter().any(|queued| queued.id == *id);
        let sent: Vec<EntryId> = ids.iter().filter(|id| waits(id)).cloned().collect();
        let lines = lines.into_iter().map(|line| self.filter.line(line));
        let lines = Lines {
            lines: lines.collect(),
            weight,
            left: self.queue.len() - sent.len(),
            sent,
        };
        self.append_lines(lines, &fresh).await?;
        self.unconfirmed.clear();
        if let Some(index) = ids.last().and_then(|id| self.log.tree().find(id)) {
            self.leaf = Leaf::At(index);
        }
        self.queue.retain(|queued| !ids.contains(&queued.id));
        Ok(ids)
    }

    /// Appends lines, and succeeds if they are stored although the log reports an error.
    async fn append_lines(&mut self, lines: Lines, fresh: &[EntryId]) -> Result<(), StoreError> {
        // Before the write: the caller may stop waiting for it.
        let both = fresh.iter().cloned().zip(lines.lines.iter().cloned());
        self.unconfirmed.extend(both);
        let Err(error) = self.log.append(lines).await else {
            return Ok(());
        };
        let read = self.log.refresh().await;
        match read.is_ok() && fresh.iter().all(|id| self.has_landed(id)) {
            true => Ok(()),
            false => Err(error),
        }
    }

    /// Returns true if the session has an entry of a write without an answer, byte for byte.
    fn has_landed(&self, id: &EntryId) -> bool {
        let tree = self.log.tree();
        let mut lines = self.unconfirmed.iter().filter(|(of, _)| of == id);
        tree.find(id)
            .and_then(|index| tree.raw_line(index).ok())
            .is_some_and(|kept| lines.any(|(_, line)| kept == line.as_bytes()))
    }

    async fn drop_one(&mut self, id: &EntryId) -> Result<Option<Queued>, StoreError> {
        let Some(place) = self.queue.iter().position(|queued| queued.id == *id) else {
            return Ok(None);
        };
        let left = self.queue.len() - 1;
        self.log.forget(std::slice::from_ref(id), left).await?;
        Ok(Some(self.queue.remove(place)))
    }
}

impl<L: SessionLog + 'static> Store<L> {
    /// Returns the store of a new session in `catalog`, which takes over what waits for `source`. Where that fails, the
    /// new session is removed.
    pub(crate) async fn taking_over(
        mut self,
        mut source: ForkSource<'_>,
        catalog: &dyn SessionCatalog,
    ) -> Result<OpenSession, StoreError> {
        let queue = source.queue().to_vec();
        let taken = async {
            for queued in queue {
                self.keep(queued).await?;
            }
            source.release_queue().await
        };
        if let Err(error) = taken.await {
            if let Some(at) = self.locator().cloned() {
                drop(self);
                let _ = catalog.remove(&at).await;
            }
            return Err(error);
        }
        if let Some(source) = source.open() {
            self.filter = source.filter();
        }
        Ok(Box::new(self))
    }
}

impl<L: SessionLog + 'static> SessionStore for Store<L> {
    fn tree(&self) -> &SessionTree {
        self.log.tree()
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        self.log.diagnostics()
    }

    fn leaf(&self) -> Leaf {
        self.leaf
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn cwd(&self) -> &str {
        &self.cwd
    }

    fn locator(&self) -> Option<&Locator> {
        self.log.locator()
    }

    fn is_persisted(&self) -> bool {
        self.log.is_persisted()
    }

    fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    fn local(&self) -> Option<LocalFiles> {
        self.log.local()
    }

    fn queued(&self) -> &[Queued] {
        &self.queue
    }

    fn waiting(&self) -> usize {
        let tree = self.tree();
        let is_user = |index: &EntryIndex| {
            let Ok(entry) = tree.entry(*index) else {
                return false;
            };
            matches!(&entry.body, EntryBody::Message(message) if matches!(**message, AgentMessage::User(_)))
        };
        let unanswered = match self.is_persisted() || self.locator().is_none() {
            true => 0,
            false => tree.indices().filter(is_user).count(),
        };
        self.queue.len() + unanswered
    }

    fn fresh_id(&self) -> EntryId {
        fresh_id(self.tree(), &self.queue, &[])
    }

    fn set_filter(&mut self, filter: Arc<dyn WriteFilter>) {
        self.filter = filter;
    }

    fn filter(&self) -> Arc<dyn WriteFilter> {
        self.filter.clone()
    }

    fn write(&mut self, batch: Batch) -> StoreFuture<'_, Vec<EntryId>> {
        Box::pin(self.append_batch(batch))
    }

    fn keep(&mut self, queued: Queued) -> StoreFuture<'_, Queued> {
        Box::pin(async move {
            let queued = Queued {
                text: self.filter.text(&queued.text),
                ..queued
            };
            self.log.keep(&queued).await?;
            self.queue.push(queued.clone());
            Ok(queued)
        })
    }

    fn drop_queued<'a>(&'a mut self, id: &'a EntryId) -> StoreFuture<'a, Option<Queued>> {
        Box::pin(self.drop_one(id))
    }

    fn release_queue(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let gone: Vec<EntryId> = self.queue.iter().map(|it| it.id.clone()).collect();
            if !gone.is_empty() {
                self.log.forget(&gone, 0).await?;
            }
            self.queue.clear();
            Ok(())
        })
    }

    fn lease(&self) -> Option<i64> {
        self.log.lease()
    }

    fn persist(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            if !self.log.is_persisted() {
                self.log.persist().await?;
                // Its entries are in the session already, so it does no harm if it cannot be removed.
                let _ = self.log.forget(&[], self.queue.len()).await;
            }
            Ok(())
        })
    }

    fn refresh(&mut self) -> StoreFuture<'_, ()> {
        self.log.refresh()
    }

    fn close(mut self: Box<Self>) -> StoreFuture<'static, ()> {
        Box::pin(async move { self.log.close().await })
    }
}
