//! A session before its file appears.

use std::path::PathBuf;

use crate::append::SyncPolicy;
use crate::error::StoreError;
use crate::in_memory_log::InMemoryLog;
use crate::live::Persisted;
use crate::lock::SessionLock;
use crate::new_file::folder_of;
use crate::pending::{Pending, make_folder};
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
    pub(crate) fn hold_lock(&mut self) -> Result<(), StoreError> {
        if let Some(lock) = &self.lock {
            return lock.check(&self.path);
        }
        make_folder(folder_of(&self.path))?;
        self.lock = Some(SessionLock::acquire_unpersisted(&self.path)?);
        Ok(())
    }

    /// Appends lines without an answer; `worth` says whether they must not be lost.
    pub(crate) fn append(
        &mut self,
        lines: &[String],
        worth: bool,
        policy: SyncPolicy,
    ) -> Result<(), StoreError> {
        if worth || self.pending.exists() {
            self.hold_lock()?;
            self.pending.write(|| self.log.to_lines(), lines, policy)?;
        }
        self.worth |= worth;
        self.log.append(lines);
        Ok(())
    }

    /// Writes the session's file with all that there was, and `lines`. After an error it is still unpersisted.
    pub(crate) fn persist(
        &mut self,
        lines: &[String],
        policy: SyncPolicy,
    ) -> Result<Persisted, StoreError> {
        self.hold_lock()?;
        let session = create_session(
            &self.path,
            |to| {
                self.log.write_to(to)?;
                lines.iter().try_for_each(|line| writeln!(to, "{line}"))
            },
            |_| Ok(()),
        )?;
        let Some(lock) = self.lock.take() else {
            unreachable!("it was taken above");
        };
        let mut writer = SessionWriter::over(session, lock);
        writer.set_sync(policy);
        let pending = std::mem::replace(&mut self.pending, Pending::new(&self.path));
        Ok(Persisted {
            writer,
            pending,
            read: 0,
        })
    }
}
