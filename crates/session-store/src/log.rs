//! What every store shares: ids, stamping, the leaf and the queue, above a log that only keeps lines.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use session_model::{
    AgentMessage, Diagnostic, EntryBody, EntryDraft, EntryId, EntryIndex, Leaf, SessionTree,
};

use crate::append::SyncPolicy;
use crate::error::{Advice, StoreError};
use crate::filter::{Unfiltered, WriteFilter};
use crate::locator::Locator;
use crate::queue::{NewEntry, Queued};
use crate::stamp::{fresh_id, stamped};
use crate::traits::{SessionStore, StoreFuture};

/// How much would be lost with lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// What every start writes.
    Start,
    /// What must not be lost although no answer came.
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
/// After an error lines may have been kept all the same: [`Store`] looks for them after [`SessionLog::reload`].
pub trait SessionLog: fmt::Debug + Send + Sync {
    /// Returns the tree of all lines.
    fn tree(&self) -> &SessionTree;

    /// Returns what was noticed when the session was read.
    fn diagnostics(&self) -> &[Diagnostic] {
        &[]
    }

    /// Returns how long the session is, in bytes.
    fn bytes(&self) -> u64;

    /// Returns where the session can be opened again.
    fn locator(&self) -> Option<&Locator>;

    /// Returns true once others find the session there.
    fn is_persisted(&self) -> bool;

    /// Returns the folder for output that was cut.
    fn outputs(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the files that only this log reads and writes.
    fn protected_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the nearest readable entry from `parent` on towards the root.
    fn readable_parent(&self, parent: EntryId) -> Option<EntryId> {
        Some(parent)
    }

    /// Sets when lines are forced to the disk.
    fn set_sync_policy(&mut self, policy: SyncPolicy) {
        let _ = policy;
    }

    /// Takes in what another program appended.
    fn reload(&mut self) -> StoreFuture<'_, ()>;

    /// Appends lines of entries in one write, behind what another program appended.
    fn append(&mut self, lines: Vec<String>, weight: Weight) -> StoreFuture<'_, ()>;

    /// Keeps a message that waits.
    fn keep<'a>(&'a mut self, queued: &'a Queued) -> StoreFuture<'a, ()>;

    /// Forgets messages that wait no longer; `left` wait on.
    fn forget<'a>(&'a mut self, gone: &'a [EntryId], left: usize) -> StoreFuture<'a, ()>;

    /// Makes the session one that others find.
    fn persist(&mut self) -> StoreFuture<'_, ()>;

    /// Forces to the disk what the policy let wait.
    fn sync(&mut self) -> StoreFuture<'_, ()>;
}

/// A session that is open for writing, over its log.
#[derive(Debug)]
pub struct Store<L> {
    pub(crate) log: L,
    leaf: Leaf,
    queue: Vec<Queued>,
    id: String,
    cwd: String,
    policy: SyncPolicy,
    filter: Arc<dyn WriteFilter>,
    /// Lines of failed writes since the last good one, any of which may have been kept.
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
            policy: SyncPolicy::Always,
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

    async fn append_lines(
        &mut self,
        parent: Option<EntryId>,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, StoreError> {
        let Some(weight) = entries.iter().map(|entry| Weight::of(&entry.draft)).max() else {
            return Ok(Vec::new());
        };
        self.log.reload().await?;
        let mut parent = self.readable_parent(parent)?;
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
        let lines = lines.into_iter().map(|line| self.filter.line(line));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty()
            && let Err(error) = self.log.append(lines.clone(), weight).await
        {
            self.unconfirmed.extend(fresh.iter().cloned().zip(lines));
            let read = self.log.reload().await;
            if read.is_err() || !fresh.iter().all(|id| self.has_landed(id)) {
                return Err(error);
            }
        }
        self.unconfirmed.clear();
        let mut fresh = fresh.into_iter();
        let ids = ids.into_iter().filter_map(|id| id.or_else(|| fresh.next()));
        let ids: Vec<EntryId> = ids.collect();
        if let Some(index) = ids.last().and_then(|id| self.log.tree().find(id)) {
            self.leaf = Leaf::At(index);
        }
        let sent = self.queue.extract_if(.., |queued| ids.contains(&queued.id));
        let sent: Vec<EntryId> = sent.map(|queued| queued.id).collect();
        if self.log.is_persisted() {
            // Their ids are in the session, so what is kept of them is passed over where it cannot be removed.
            let _ = self.log.forget(&sent, self.queue.len()).await;
        }
        Ok(ids)
    }

    /// Returns whether the session has an entry of a failed write, byte for byte.
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

impl<L: SessionLog> SessionStore for Store<L> {
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

    fn outputs(&self) -> Option<PathBuf> {
        self.log.outputs()
    }

    fn protected_files(&self) -> Vec<PathBuf> {
        self.log.protected_files()
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

    fn set_sync_policy(&mut self, policy: SyncPolicy) {
        self.policy = policy;
        self.log.set_sync_policy(policy);
    }

    fn sync_policy(&self) -> SyncPolicy {
        self.policy
    }

    fn set_filter(&mut self, filter: Arc<dyn WriteFilter>) {
        self.filter = filter;
    }

    fn filter(&self) -> Arc<dyn WriteFilter> {
        self.filter.clone()
    }

    fn append_under<'a>(
        &'a mut self,
        parent: Option<EntryId>,
        entries: Vec<NewEntry>,
    ) -> StoreFuture<'a, Vec<EntryId>> {
        Box::pin(self.append_lines(parent, entries))
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

    fn persist(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            if !self.log.is_persisted() {
                self.log.persist().await?;
                // What is kept of its entries is in the session, so it does no harm where it cannot be removed.
                let _ = self.log.forget(&[], self.queue.len()).await;
            }
            Ok(())
        })
    }

    fn reload(&mut self) -> StoreFuture<'_, ()> {
        self.log.reload()
    }

    fn sync(&mut self) -> StoreFuture<'_, ()> {
        self.log.sync()
    }
}
