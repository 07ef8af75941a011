//! A session that has its file.

use session_model::EntryId;

use crate::append::SyncPolicy;
use crate::error::StoreError;
use crate::pending::Pending;
use crate::queue::Queued;
use crate::writer::SessionWriter;

/// A session in its file, and what waits for it in the pending file.
#[derive(Debug)]
pub(crate) struct Persisted {
    pub(crate) writer: SessionWriter,
    pub(crate) pending: Pending,
    /// How many entries this store did not append last: lines of others may be damaged.
    pub(crate) read: usize,
}

impl Persisted {
    /// Takes in what another program appended.
    pub(crate) fn reload(&mut self) -> Result<(), StoreError> {
        let before = self.writer.session.decoded.bytes;
        let reloaded = self.writer.reload();
        if self.writer.session.decoded.bytes != before {
            self.read = self.writer.session.tree().len();
        }
        reloaded
    }

    /// Appends lines.
    pub(crate) async fn append(&mut self, lines: &[String]) -> Result<(), StoreError> {
        let before = self.writer.session.tree().len();
        self.writer.append_behind(lines).await?;
        let after = self.writer.session.tree().len();
        if after != before + lines.len() {
            self.read = after;
        }
        Ok(())
    }

    /// Returns the nearest readable entry from `parent` on towards the root.
    pub(crate) fn readable_parent(&self, parent: EntryId) -> Option<EntryId> {
        let session = &self.writer.session;
        match session.tree().find(&parent) {
            Some(index) if index.as_usize() < self.read => session.readable_parent(Some(&parent)).0,
            Some(_) | None => Some(parent),
        }
    }

    /// Keeps a message that waits for the session of this id.
    pub(crate) async fn keep(
        &mut self,
        queued: &Queued,
        session: &str,
        policy: SyncPolicy,
    ) -> Result<(), StoreError> {
        self.writer.check_lock()?;
        let owner = Pending::owned_by(session);
        self.pending.queue(queued, owner, policy).await
    }

    /// Takes messages that wait no longer out of the pending file, or the file away.
    pub(crate) async fn forget(
        &mut self,
        gone: &[EntryId],
        left: usize,
        policy: SyncPolicy,
    ) -> Result<(), StoreError> {
        if !self.pending.exists() || left > 0 && gone.is_empty() {
            return Ok(());
        }
        // What another program waits with is not taken away, and what is taken away here must be safe there.
        self.writer.check_lock()?;
        self.writer.sync()?;
        match left {
            0 => self.pending.remove(),
            _ => self.pending.take(gone, policy).await,
        }
    }
}
