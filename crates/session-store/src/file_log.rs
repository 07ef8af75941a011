//! The log of a session in a file, from before the file appears.

use std::path::Path;
use std::sync::Arc;

use session_model::{Diagnostic, EntryId, SessionTree};

use crate::append::{OffThread, SyncPolicy};
use crate::error::StoreError;
use crate::file::{SessionFile, readable_parent};
use crate::file_layer::FileLayer;
use crate::in_memory_log::InMemoryLog;
use crate::locator::Locator;
use crate::lock::SessionLock;
use crate::log::{Lines, SessionLog, Weight};
use crate::new_file::folder_of;
use crate::pending::{Note, Pending, make_folder};
use crate::queue::Queued;
use crate::sidecars::{outputs_path, sidecars};
use crate::traits::{LocalFiles, StoreFuture};
use crate::writer::{SessionWriter, create_session};

/// The lines of a session in a file. There is no session file before the first answer, and no file at all before the
/// first content worth keeping.
#[derive(Debug)]
pub struct FileLog {
    place: Place,
    /// The state that is not in the session's file.
    pending: Pending,
    locator: Locator,
    policy: SyncPolicy,
    /// The session's file, while it is made.
    creating: OffThread<Result<SessionFile, StoreError>>,
    /// Lines of entries that are being written to the pending file.
    writing: Vec<String>,
    files: Arc<dyn FileLayer>,
}

/// The place of the entries.
#[derive(Debug)]
pub(crate) enum Place {
    /// In memory and, once there is something worth it, in the pending file.
    Unpersisted {
        log: Box<InMemoryLog>,
        /// Held from the first write on.
        lock: Option<SessionLock>,
        /// Some entry must not be lost.
        is_worth_keeping: bool,
    },
    /// In the session's file.
    Persisted {
        writer: Box<SessionWriter>,
        /// The number of entries that this store did not append last: lines of other programs may be damaged.
        read: usize,
    },
}

impl Place {
    /// Returns the place of a session in its file.
    pub(crate) fn persisted(writer: SessionWriter) -> Self {
        Self::Persisted {
            read: writer.session.tree().len(),
            writer: Box::new(writer),
        }
    }
}

impl FileLog {
    /// Returns the log of the session at `path`.
    pub(crate) fn over(
        path: &Path,
        place: Place,
        pending: Pending,
        files: Arc<dyn FileLayer>,
    ) -> Self {
        Self {
            place,
            pending,
            locator: Locator::of_path(path),
            policy: SyncPolicy::Always,
            creating: OffThread::default(),
            writing: Vec::new(),
            files,
        }
    }

    /// Returns the path of the file, which may not exist yet.
    pub fn path(&self) -> &Path {
        self.locator.as_path()
    }

    /// Takes the lock where that was not done yet, and makes the folder for it; otherwise checks that it is still held.
    fn hold_lock(&mut self) -> Result<SessionLock, StoreError> {
        let path = self.locator.as_path();
        let lock = match &mut self.place {
            Place::Persisted { writer, .. } => &writer.lock,
            Place::Unpersisted {
                lock: Some(lock), ..
            } => lock,
            Place::Unpersisted { lock, .. } => {
                make_folder(folder_of(path))?;
                lock.insert(SessionLock::acquire_unpersisted(path)?)
            }
        };
        lock.check(path)?;
        Ok(lock.clone())
    }

    /// Writes lines to the pending file.
    async fn write_pending(&mut self, lines: &[String]) -> Result<(), StoreError> {
        let lock = self.hold_lock()?;
        let before = match &self.place {
            _ if self.pending.exists() => Vec::new(),
            Place::Unpersisted { log, .. } => log.to_lines(),
            Place::Persisted { writer, .. } => {
                let header = writer.session.tree().header();
                let id = header.map(|header| header.id.clone());
                vec![Note::Of(id.unwrap_or_default()).line()]
            }
        };
        self.pending.write(before, lines, self.policy, lock).await
    }

    /// Sets when lines are forced to the disk.
    pub(crate) fn set_sync_policy(&mut self, policy: SyncPolicy) {
        self.policy = policy;
        if let Place::Persisted { writer, .. } = &mut self.place {
            writer.policy = policy;
        }
    }

    async fn append_lines(&mut self, lines: Vec<String>, weight: Weight) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        if let Place::Persisted { writer, read } = &mut self.place {
            let before = writer.session.tree().len();
            writer.append_behind(&lines).await?;
            let after = writer.session.tree().len();
            if after != before + lines.len() {
                *read = after;
            }
            return Ok(());
        }
        if weight == Weight::Answer {
            return self.persist_with(&lines).await;
        }
        if weight != Weight::Start || self.pending.exists() {
            self.writing.clone_from(&lines);
            let written = self.write_pending(&lines).await;
            self.writing.clear();
            written?;
        }
        if let Place::Unpersisted {
            log,
            is_worth_keeping,
            ..
        } = &mut self.place
        {
            *is_worth_keeping |= weight != Weight::Start;
            log.append(&lines);
        }
        Ok(())
    }

    /// Writes the session's file with all that there was, and `lines`. After an error it is still unpersisted.
    async fn persist_with(&mut self, lines: &[String]) -> Result<(), StoreError> {
        let lock = self.hold_lock()?;
        let path = self.path().to_owned();
        let Place::Unpersisted { log, .. } = &self.place else {
            return Ok(());
        };
        let mut bytes = log.to_bytes();
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        let (to, files) = (path.clone(), self.files.clone());
        let create = move || {
            let _lock = lock;
            create_session(&to, &bytes, &*files)
        };
        let session = match self.policy {
            SyncPolicy::Always => {
                let created = self.creating.run(create).await;
                created.map_err(|error| StoreError::io("write", path, error))??
            }
            SyncPolicy::Never => create()?,
        };
        self.persisted_as(session);
        Ok(())
    }

    /// Continues in the session's file, which was made.
    fn persisted_as(&mut self, session: SessionFile) {
        if let Place::Unpersisted { lock, .. } = &mut self.place
            && let Some(lock) = lock.take()
        {
            let mut writer = SessionWriter::over(session, lock, self.files.clone());
            writer.policy = self.policy;
            self.place = Place::Persisted {
                writer: Box::new(writer),
                read: 0,
            };
        }
    }

    /// Waits for writes that their callers did not wait for, and takes in what they wrote.
    async fn settle(&mut self) {
        if let Some(Ok(Ok(session))) = self.creating.abandoned().await {
            self.persisted_as(session);
        }
        let is_written = self.pending.settle().await;
        let lines = std::mem::take(&mut self.writing);
        if let Place::Unpersisted {
            log,
            is_worth_keeping,
            ..
        } = &mut self.place
            && is_written
            && !lines.is_empty()
        {
            *is_worth_keeping = true;
            log.append(&lines);
        }
    }

    async fn forget_queued(&mut self, gone: &[EntryId], left: usize) -> Result<(), StoreError> {
        if !self.pending.exists() || left > 0 && gone.is_empty() {
            return Ok(());
        }
        // Messages that wait in another program are not removed, and removed messages must be safe in this file.
        self.hold_lock()?;
        let holds_more = match &self.place {
            Place::Unpersisted {
                is_worth_keeping, ..
            } => *is_worth_keeping,
            Place::Persisted { .. } => false,
        };
        match left == 0 && !holds_more {
            true => self.pending.remove(),
            false => {
                self.write_pending(&[Note::Taken(gone.to_vec()).line()])
                    .await
            }
        }
    }
}

impl SessionLog for FileLog {
    fn tree(&self) -> &SessionTree {
        match &self.place {
            Place::Unpersisted { log, .. } => log.tree(),
            Place::Persisted { writer, .. } => writer.session.tree(),
        }
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        match &self.place {
            Place::Unpersisted { .. } => &[],
            Place::Persisted { writer, .. } => &writer.session.decoded.diagnostics,
        }
    }

    fn bytes(&self) -> u64 {
        match &self.place {
            Place::Unpersisted { log, .. } => log.bytes(),
            Place::Persisted { writer, .. } => writer.session.decoded.bytes,
        }
    }

    fn locator(&self) -> Option<&Locator> {
        Some(&self.locator)
    }

    fn is_persisted(&self) -> bool {
        matches!(self.place, Place::Persisted { .. })
    }

    fn local(&self) -> Option<LocalFiles> {
        let path = self.path().to_owned();
        let mut protected = vec![path.clone()];
        protected.extend(sidecars(&path));
        Some(LocalFiles {
            outputs: outputs_path(&path),
            path,
            protected,
        })
    }

    fn readable_parent(&self, parent: EntryId) -> Option<EntryId> {
        match &self.place {
            Place::Persisted { writer, read } => match writer.session.tree().find(&parent) {
                Some(index) if index.as_usize() < *read => {
                    readable_parent(writer.session.tree(), Some(&parent)).0
                }
                Some(_) | None => Some(parent),
            },
            Place::Unpersisted { .. } => Some(parent),
        }
    }

    fn refresh(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.settle().await;
            let Place::Persisted { writer, read } = &mut self.place else {
                return Ok(());
            };
            let before = writer.session.decoded.bytes;
            let reloaded = writer.reload().await;
            if writer.session.decoded.bytes != before {
                *read = writer.session.tree().len();
            }
            reloaded
        })
    }

    fn append(&mut self, lines: Lines) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.append_lines(lines.lines, lines.weight).await?;
            if self.is_persisted() {
                // Their ids are in the session, so messages that cannot be removed from the pending file are ignored.
                let _ = self.forget_queued(&lines.sent, lines.left).await;
            }
            Ok(())
        })
    }

    fn keep<'a>(&'a mut self, queued: &'a Queued) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let line = Note::Queued(queued.clone()).line();
            self.write_pending(&[line]).await
        })
    }

    fn forget<'a>(&'a mut self, gone: &'a [EntryId], left: usize) -> StoreFuture<'a, ()> {
        Box::pin(self.forget_queued(gone, left))
    }

    fn persist(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(self.persist_with(&[]))
    }
}
