//! A session before its file appears.

use std::path::PathBuf;

use super::grown::Grown;
use super::live::Born;
use super::pending::{Pending, make_folder};
use crate::error::Error;
use crate::store::{SessionLock, SessionWriter, SyncPolicy, create_session, folder_of};

/// A session that has no file: in memory and, once there is something worth it, in the pending file.
#[derive(Debug)]
pub(super) struct Unborn {
    pub(super) grown: Grown,
    /// Where the file will be.
    pub(super) path: PathBuf,
    pub(super) pending: Pending,
    /// Held from the first write on.
    pub(super) lock: Option<SessionLock>,
    /// Some entry must not be lost.
    pub(super) worth: bool,
}

impl Unborn {
    /// Makes the folder and takes the lock; where that is done, checks that the lock is still held.
    pub(super) fn hold_lock(&mut self) -> Result<(), Error> {
        if let Some(lock) = &self.lock {
            return lock.check(&self.path);
        }
        make_folder(folder_of(&self.path))?;
        self.lock = Some(SessionLock::acquire_unborn(&self.path)?);
        Ok(())
    }

    /// Appends lines without an answer; `worth` says whether they must not be lost.
    pub(super) fn append(
        &mut self,
        lines: &[String],
        worth: bool,
        policy: SyncPolicy,
    ) -> Result<(), Error> {
        if worth || self.pending.exists() {
            self.hold_lock()?;
            self.pending
                .write(|| self.grown.to_lines(), lines, policy)?;
        }
        self.worth |= worth;
        self.grown.append(lines);
        Ok(())
    }

    /// Writes the session's file with all that there was, and `lines`. After an error it is still unborn.
    pub(super) fn give_birth(
        &mut self,
        lines: &[String],
        policy: SyncPolicy,
    ) -> Result<Born, Error> {
        self.hold_lock()?;
        let session = create_session(
            &self.path,
            |to| {
                self.grown.write_to(to)?;
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
        Ok(Born {
            writer,
            pending,
            read: 0,
        })
    }
}
