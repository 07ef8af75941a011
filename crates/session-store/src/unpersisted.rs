//! A session before its file appears.

use std::path::PathBuf;
use std::sync::Arc;

use session_model::EntryId;

use crate::append::SyncPolicy;
use crate::error::StoreError;
use crate::file_layer::FileLayer;
use crate::in_memory_log::InMemoryLog;
use crate::lock::SessionLock;
use crate::new_file::folder_of;
use crate::off_thread::off_thread;
use crate::pending::{Pending, make_folder};
use crate::persisted::Persisted;
use crate::queue::Queued;
use crate::writer::{SessionWriter, create_session};

/// A session that has no file: in memory and, once there is something worth it, in the pending file.
#[derive(Debug)]
pub(crate) struct Unpersisted {
    pub(crate) log: InMemoryLog,
    /// Where the file will be.
    pub(crate) path: PathBuf,
    pub(crate) pending: Pending,
    /// Held from the first write on.
    pub(crate) lock: Option<SessionLock>,
    /// Some entry must not be lost.
    pub(crate) worth: bool,
}

impl Unpersisted {
    /// Makes the folder and takes the lock; where that is done, checks that the lock is still held.
    fn hold_lock(&mut self) -> Result<(), StoreError> {
        if let Some(lock) = &self.lock {
            return lock.check(&self.path);
        }
        make_folder(folder_of(&self.path))?;
        self.lock = Some(SessionLock::acquire_unpersisted(&self.path)?);
        Ok(())
    }

    /// Appends lines without an answer; `worth` says whether they must not be lost.
    pub(crate) async fn append(
        &mut self,
        lines: Vec<String>,
        worth: bool,
        policy: SyncPolicy,
    ) -> Result<(), StoreError> {
        if worth || self.pending.exists() {
            self.hold_lock()?;
            let before = self.log.to_lines();
            self.pending.write(before, lines.clone(), policy).await?;
        }
        self.worth |= worth;
        self.log.append(&lines);
        Ok(())
    }

    /// Keeps a message that waits.
    pub(crate) async fn keep(
        &mut self,
        queued: &Queued,
        policy: SyncPolicy,
    ) -> Result<(), StoreError> {
        self.hold_lock()?;
        let before = self.log.to_lines();
        self.pending.queue(queued, before, policy).await
    }

    /// Takes messages that wait no longer out of the pending file, or the file away where nothing else is in it.
    pub(crate) async fn forget(
        &mut self,
        gone: &[EntryId],
        left: usize,
        policy: SyncPolicy,
    ) -> Result<(), StoreError> {
        if let Some(lock) = &self.lock {
            lock.check(&self.path)?;
        }
        match left == 0 && !self.worth {
            true => self.pending.remove(),
            false => self.pending.take(gone, policy).await,
        }
    }

    /// Writes the session's file with all that there was, and `lines`. After an error it is still unpersisted.
    pub(crate) async fn persist(
        &mut self,
        lines: &[String],
        policy: SyncPolicy,
        files: &Arc<dyn FileLayer>,
    ) -> Result<Persisted, StoreError> {
        self.hold_lock()?;
        let mut bytes = self.log.to_bytes();
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        let (path, layer) = (self.path.clone(), files.clone());
        let create = move || create_session(&path, &bytes, &*layer);
        let created = match policy {
            SyncPolicy::Always | SyncPolicy::Interval => off_thread(create).await,
            SyncPolicy::Never => Ok(create()),
        };
        let session = created.map_err(|error| StoreError::io("write", &self.path, error))??;
        let Some(lock) = self.lock.take() else {
            unreachable!("it was taken above");
        };
        let mut writer = SessionWriter::over(session, lock, files.clone());
        writer.set_sync(policy);
        let new = Pending::new(&self.path, files.clone());
        Ok(Persisted {
            writer,
            pending: std::mem::replace(&mut self.pending, new),
            read: 0,
        })
    }
}
