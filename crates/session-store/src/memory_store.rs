//! The store in memory, and the catalog of sessions in memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session_model::{EntryId, HeaderDraft, Leaf, SessionTree, Timestamp};

use crate::catalog::only_one;
use crate::error::StoreError;
use crate::file::SessionFile;
use crate::in_memory_log::InMemoryLog;
use crate::locator::Locator;
use crate::log::{Lines, SessionLog, Store};
use crate::progress::ReadObserver;
use crate::queue::Queued;
use crate::row::{Page, Query, SessionRow, page_of};
use crate::stamp::{header_now, now};
use crate::traits::{
    Carry, ForkSource, NewSession, OpenSession, SessionCatalog, StoreFuture, list_all,
};

/// A session in memory.
pub type MemoryStore = Store<MemoryLog>;

impl Store<MemoryLog> {
    /// Returns a new session that ends with its store.
    pub fn new(cwd: &str) -> Self {
        let log = MemoryLog {
            log: InMemoryLog::of_header(&header_now(cwd.to_owned(), None)),
            kept: None,
        };
        Self::over(log, Vec::new())
    }

    /// Returns a session that ends with its store and continues from `leaf` of another one, as
    /// [`SessionCatalog::fork`] does.
    ///
    /// # Errors
    /// Those of [`SessionCatalog::fork`].
    pub async fn fork(
        source: ForkSource<'_>,
        leaf: Leaf,
        cwd: &str,
        carry: Carry<'_>,
    ) -> Result<OpenSession, StoreError> {
        let header = header_now(cwd.to_owned(), None);
        let log = InMemoryLog::forked(&header, &source, leaf, carry)?;
        let store = Self::over(MemoryLog { log, kept: None }, Vec::new());
        store.taking_over(source, &MemoryCatalog::new()).await
    }
}

/// The lines of a session in memory.
#[derive(Debug)]
pub struct MemoryLog {
    log: InMemoryLog,
    /// The session in its catalog; `None` for one that ends with this log.
    kept: Option<(Locator, Sessions)>,
}

/// The sessions of a catalog.
pub(crate) type Sessions = Arc<Mutex<BTreeMap<Locator, Kept>>>;

/// The state of a session in a catalog.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) log: InMemoryLog,
    pub(crate) queue: Vec<Queued>,
    pub(crate) modified: Timestamp,
    pub(crate) is_open: bool,
}

pub(crate) fn lock(sessions: &Sessions) -> MutexGuard<'_, BTreeMap<Locator, Kept>> {
    // Nothing that holds the lock can leave a session in between.
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryLog {
    /// Changes the session's state in the catalog; fails if the session was removed there.
    fn change(&self, change: impl FnOnce(&mut Kept)) -> Result<(), StoreError> {
        let Some((locator, sessions)) = &self.kept else {
            return Ok(());
        };
        let mut sessions = lock(sessions);
        let kept = sessions.get_mut(locator).ok_or_else(|| unknown(locator))?;
        change(kept);
        kept.modified = now();
        Ok(())
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        let _ = self.change(|kept| kept.is_open = false);
    }
}

impl SessionLog for MemoryLog {
    fn tree(&self) -> &SessionTree {
        self.log.tree()
    }

    fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    fn locator(&self) -> Option<&Locator> {
        self.kept.as_ref().map(|(locator, _)| locator)
    }

    fn is_persisted(&self) -> bool {
        self.kept.is_some()
    }

    fn refresh(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn append(&mut self, lines: Lines) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.change(|kept| kept.queue.retain(|queued| !lines.sent.contains(&queued.id)))?;
            self.log.append(&lines.lines);
            Ok(())
        })
    }

    fn keep<'a>(&'a mut self, queued: &'a Queued) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.change(|kept| kept.queue.push(queued.clone())) })
    }

    fn forget<'a>(&'a mut self, gone: &'a [EntryId], _: usize) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.change(|kept| kept.queue.retain(|queued| !gone.contains(&queued.id)))
        })
    }

    fn persist(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Sessions that last as long as the catalog.
#[derive(Debug, Clone, Default)]
pub struct MemoryCatalog {
    pub(crate) sessions: Sessions,
}

impl MemoryCatalog {
    /// Returns a catalog without a session.
    pub fn new() -> Self {
        Self::default()
    }

    fn begin(&self, header: &HeaderDraft, log: InMemoryLog) -> MemoryStore {
        let locator = Locator::new(format!("memory:{}", header.id));
        let kept = Kept {
            log: log.read_again(),
            queue: Vec::new(),
            modified: header.timestamp,
            is_open: true,
        };
        lock(&self.sessions).insert(locator.clone(), kept);
        let log = MemoryLog {
            log,
            kept: Some((locator, self.sessions.clone())),
        };
        Store::over(log, Vec::new())
    }
}

impl SessionCatalog for MemoryCatalog {
    fn create(&self, new: NewSession) -> StoreFuture<'_, OpenSession> {
        Box::pin(async move {
            let header = header_now(new.cwd, new.parent.map(|parent| parent.to_string()));
            Ok(Box::new(self.begin(&header, InMemoryLog::of_header(&header))) as OpenSession)
        })
    }

    fn open<'a>(
        &'a self,
        at: &'a Locator,
        _: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, OpenSession> {
        Box::pin(async move {
            let mut sessions = lock(&self.sessions);
            let kept = sessions.get_mut(at).ok_or_else(|| unknown(at))?;
            if std::mem::replace(&mut kept.is_open, true) {
                let reason = "locked by this process; continue in a copy";
                return Err(StoreError::session(at.as_path(), reason));
            }
            let log = kept.log.read_again();
            let waiting = kept.queue.iter();
            let waiting = waiting.filter(|queued| log.tree().find(&queued.id).is_none());
            let queue = waiting.cloned().collect();
            let log = MemoryLog {
                log,
                kept: Some((at.clone(), self.sessions.clone())),
            };
            Ok(Box::new(Store::over(log, queue)) as OpenSession)
        })
    }

    fn read<'a>(
        &'a self,
        at: &'a Locator,
        _: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, SessionFile> {
        Box::pin(async move {
            let bytes = lock(&self.sessions).get(at).map(|kept| kept.log.to_bytes());
            SessionFile::of_memory(at.as_path(), bytes.ok_or_else(|| unknown(at))?)
        })
    }

    fn fork<'a>(
        &'a self,
        source: ForkSource<'a>,
        leaf: Leaf,
        cwd: &'a str,
        carry: Carry<'a>,
    ) -> StoreFuture<'a, OpenSession> {
        Box::pin(async move {
            let parent = source.locator().map(Locator::to_string);
            let header = header_now(cwd.to_owned(), parent);
            let log = InMemoryLog::forked(&header, &source, leaf, carry)?;
            self.begin(&header, log).taking_over(source, self).await
        })
    }

    fn adopt<'a>(&'a self, session: &'a SessionFile) -> StoreFuture<'a, Locator> {
        Box::pin(async move {
            let header = session.tree().header();
            let id = header.map(|header| header.id.clone()).unwrap_or_default();
            let contents = session.contents()?.read();
            let bytes = contents.map_err(|error| StoreError::io("read", &session.path, error))?;
            let locator = Locator::new(format!("memory:{id}"));
            let kept = Kept {
                log: InMemoryLog::of(bytes),
                queue: Vec::new(),
                modified: now(),
                is_open: false,
            };
            match lock(&self.sessions).entry(locator.clone()) {
                Entry::Occupied(_) => Err(StoreError::AlreadyThere { id }),
                Entry::Vacant(free) => {
                    free.insert(kept);
                    Ok(locator)
                }
            }
        })
    }

    fn list<'a>(&'a self, query: Query<'a>) -> StoreFuture<'a, Page> {
        Box::pin(async move {
            let sessions = lock(&self.sessions);
            let rows = sessions
                .iter()
                .filter_map(|(locator, kept)| row(locator, kept));
            let mut rows: Vec<SessionRow> = rows
                .filter(|row| query.cwd.is_none_or(|cwd| cwd == row.cwd))
                .collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.modified));
            Ok(page_of(rows, query))
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Locator> {
        Box::pin(async move { only_one(list_all(self, None).await?, id, "memory") })
    }

    fn remove<'a>(&'a self, at: &'a Locator) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut sessions = lock(&self.sessions);
            if sessions.get(at).is_some_and(|kept| kept.is_open) {
                return Err(StoreError::session(at.as_path(), "locked by this process"));
            }
            sessions.remove(at).map(drop).ok_or_else(|| unknown(at))
        })
    }
}

fn row(locator: &Locator, kept: &Kept) -> Option<SessionRow> {
    let log = kept.log.read_again();
    let row = SessionRow::of(locator.clone(), log.tree(), kept.modified, log.bytes())?;
    Some(SessionRow {
        locked: kept.is_open,
        ..row.with_queue(&kept.queue)
    })
}

fn unknown(at: &Locator) -> StoreError {
    StoreError::session(at.as_path(), "no such session; check its name")
}
