//! The store of a living session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::PIN_ENTRY;
use llm_providers::Redactor;
use session_model::{
    AgentMessage, EntryBody, EntryDraft, EntryId, EntryIndex, Leaf, MessageDraft, SessionTree,
    stamp_write,
};

use super::grown::Grown;
use super::pending::Pending;
use super::unborn::Unborn;
use super::{Delivery, NewEntry, Queued};
use crate::error::Error;
use crate::session::keys::{Signed, clean_json};
use crate::store::{SessionFile, SessionWriter, SyncPolicy, now};

/// A session while it is lived in: it grows entry by entry, and keeps the messages that wait.
///
/// Nothing that was appended or queued is lost when the program ends at once, wherever it ends; and what
/// fails changes nothing.
#[derive(Debug)]
pub struct LiveStore {
    pub(super) place: Place,
    leaf: Leaf,
    pub(super) queue: Vec<Queued>,
    pub(super) id: String,
    cwd: String,
    policy: SyncPolicy,
    redactor: Arc<Redactor>,
}

/// Where the entries are.
#[derive(Debug)]
pub(super) enum Place {
    /// In memory, for good.
    Memory(Box<Grown>),
    /// In memory and, once there is something worth it, in the pending file.
    Unborn(Box<Unborn>),
    /// In the session's file.
    Born(Box<Born>),
}

#[derive(Debug)]
pub(super) struct Born {
    pub(super) writer: SessionWriter,
    pub(super) pending: Pending,
    /// How many entries came from elsewhere; lines of others may be damaged.
    pub(super) read: usize,
}

impl LiveStore {
    pub(super) fn over(place: Place) -> Self {
        let tree = place.tree();
        let header = tree.header();
        Self {
            leaf: tree.leaf(),
            queue: Vec::new(),
            id: header.map(|header| header.id.clone()).unwrap_or_default(),
            cwd: header.map(|header| header.cwd.clone()).unwrap_or_default(),
            policy: SyncPolicy::Always,
            redactor: Arc::default(),
            place,
        }
    }

    /// Returns the tree.
    pub fn tree(&self) -> &SessionTree {
        self.place.tree()
    }

    /// Returns the leaf: the entry that was appended last, or the last one of the file.
    pub fn leaf(&self) -> Leaf {
        self.leaf
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the folder that the session works in.
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Returns the folder for the whole text of output that was cut; `None` in memory.
    pub fn outputs(&self) -> Option<PathBuf> {
        let mut name = self.path()?.as_os_str().to_owned();
        name.push(".outputs");
        Some(PathBuf::from(name))
    }

    /// Returns where the session's file is, or will be; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Memory(_) => None,
            Place::Unborn(unborn) => Some(&unborn.path),
            Place::Born(born) => Some(&born.writer.session.path),
        }
    }

    /// Returns the session's file, once it is there.
    pub fn file(&self) -> Option<&SessionFile> {
        match &self.place {
            Place::Memory(_) | Place::Unborn(_) => None,
            Place::Born(born) => Some(&born.writer.session),
        }
    }

    /// Returns true when the session has a file.
    pub fn is_born(&self) -> bool {
        match self.place {
            Place::Memory(_) | Place::Unborn(_) => false,
            Place::Born(_) => true,
        }
    }

    /// Returns how long the session is, in bytes.
    pub fn bytes(&self) -> u64 {
        match &self.place {
            Place::Memory(grown) => grown.len(),
            Place::Unborn(unborn) => unborn.grown.len(),
            Place::Born(born) => born.writer.session.decoded.bytes,
        }
    }

    /// Returns an id that no entry has and no message that waits.
    pub fn fresh_id(&self) -> EntryId {
        self.fresh_id_beside(&[])
    }

    fn fresh_id_beside(&self, taken: &[EntryId]) -> EntryId {
        loop {
            let text = uuid::Uuid::new_v4().simple().to_string();
            let id = EntryId::new(&text[..8]);
            let waits = self.queue.iter().any(|queued| queued.id == id);
            if self.tree().find(&id).is_none() && !waits && !taken.contains(&id) {
                return id;
            }
        }
    }

    /// Sets when appends are forced to the disk; until then every one is. What waits to be sent always is,
    /// unless the policy is never.
    pub fn set_sync(&mut self, policy: SyncPolicy) {
        self.policy = policy;
        if let Place::Born(born) = &mut self.place {
            born.writer.set_sync(policy);
        }
    }

    /// Returns when appends are forced to the disk.
    pub fn sync(&self) -> SyncPolicy {
        self.policy
    }

    /// Sets what takes keys out of all that is written from now on.
    pub fn set_redactor(&mut self, redactor: Arc<Redactor>) {
        self.redactor = redactor;
    }

    /// Returns what takes keys out of all that is written.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.redactor.clone()
    }

    /// Appends entries as a chain under the leaf, in one write, and returns their ids. The last is the leaf
    /// afterwards. After an error nothing has changed.
    pub fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<EntryId>, Error> {
        let leaf = match self.leaf {
            Leaf::At(index) => Some(EntryId::new(self.tree().id(index))),
            Leaf::Root => None,
        };
        self.append_under(leaf.as_ref(), entries)
    }

    /// Appends entries as a chain under another parent, `None` being before everything: a move of the leaf.
    /// Where the line of the parent is damaged, they go under the nearest entry before it that can be read.
    pub fn append_under(
        &mut self,
        parent: Option<&EntryId>,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, Error> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let parent = self.readable_parent(parent)?;
        let answers = entries.iter().any(|entry| is_answer(&entry.draft));
        let worth = entries.iter().any(|entry| is_worth_a_file(&entry.draft));
        let (lines, ids) = self.stamped(parent, entries)?;
        let policy = self.policy;
        match &mut self.place {
            Place::Memory(grown) => grown.append(&lines),
            Place::Born(born) => born.writer.append(&lines)?,
            Place::Unborn(unborn) if answers => {
                let born = unborn.give_birth(&lines, policy)?;
                self.place = Place::Born(Box::new(born));
            }
            Place::Unborn(unborn) => unborn.append(&lines, worth, policy)?,
        }
        self.leaf = self.tree().leaf();
        let sent = self.queue.extract_if(.., |queued| ids.contains(&queued.id));
        let sent: Vec<EntryId> = sent.map(|queued| queued.id).collect();
        if self.is_born() {
            // Their ids are in the session, so what the pending file says of them is passed over.
            let _ = self.shrink_pending(&sent);
        }
        Ok(ids)
    }

    /// Returns the parent that entries get which belong under `parent`.
    fn readable_parent(&self, parent: Option<&EntryId>) -> Result<Option<EntryId>, Error> {
        let Some(id) = parent else {
            return Ok(None);
        };
        let Some(index) = self.tree().find(id) else {
            let text = format!("no entry {id} in this session; agent-cli tree lists the ids");
            return Err(Error::Usage(text));
        };
        match &self.place {
            Place::Born(born) if index.as_usize() < born.read => {
                Ok(born.writer.session.readable_parent(parent).0)
            }
            Place::Memory(_) | Place::Unborn(_) | Place::Born(_) => Ok(parent.cloned()),
        }
    }

    fn stamped(
        &self,
        parent: Option<EntryId>,
        entries: Vec<NewEntry>,
    ) -> Result<(Vec<String>, Vec<EntryId>), Error> {
        let mut named = Vec::new();
        let mut ids: Vec<EntryId> = Vec::new();
        for entry in entries {
            let id = match entry.id {
                None => self.fresh_id_beside(&ids),
                Some(id)
                    if id.is_empty() || self.tree().find(&id).is_some() || ids.contains(&id) =>
                {
                    let text = format!(
                        "an entry cannot have the id {:?}: it is empty or in use",
                        id.as_str()
                    );
                    return Err(Error::Usage(text));
                }
                Some(id) => id,
            };
            ids.push(id.clone());
            named.push((id, entry.draft));
        }
        let lines = stamp_write(&named, parent, now()).into_iter();
        let lines = lines.map(|line| clean_json(line, &self.redactor, Signed::Kept));
        Ok((lines.collect(), ids))
    }

    /// Keeps a message until it is sent, and returns it. It is on the disk by then, except in memory.
    pub fn queue(&mut self, text: String, delivery: Delivery) -> Result<Queued, Error> {
        let queued = Queued {
            id: self.fresh_id(),
            text,
            delivery,
        };
        self.keep(queued)
    }

    fn keep(&mut self, queued: Queued) -> Result<Queued, Error> {
        let queued = Queued {
            text: self.redactor.clean_answer(&queued.text),
            ..queued
        };
        match &mut self.place {
            Place::Memory(_) => {}
            Place::Unborn(unborn) => {
                unborn.hold_lock()?;
                let Unborn { grown, pending, .. } = &mut **unborn;
                pending.queue(&queued, || grown.to_lines(), self.policy)?;
            }
            Place::Born(born) => {
                let owner = || Pending::owned_by(&self.id);
                born.pending.queue(&queued, owner, self.policy)?;
            }
        }
        self.queue.push(queued.clone());
        Ok(queued)
    }

    /// Takes over the messages that wait in another session, under the ids that they have. One that cannot be taken
    /// over waits there.
    pub fn take_queue(&mut self, other: &mut Self) -> Result<(), Error> {
        while let Some(queued) = other.queue.first().cloned() {
            let id = queued.id.clone();
            self.keep(queued)?;
            other.drop_queued(&id)?;
        }
        Ok(())
    }

    /// Writes the session's file now: for one that is worth it before there is an answer.
    pub fn bear(&mut self) -> Result<(), Error> {
        let policy = self.policy;
        if let Place::Unborn(unborn) = &mut self.place {
            let born = unborn.give_birth(&[], policy)?;
            self.place = Place::Born(Box::new(born));
            // What it says is in the session, so it does no harm where it cannot be removed.
            let _ = self.shrink_pending(&[]);
        }
        Ok(())
    }

    /// Returns the messages that wait, the oldest first.
    pub fn queued(&self) -> &[Queued] {
        &self.queue
    }

    /// Returns how many messages of the user wait: to be sent or, while there is no file, to be answered.
    pub fn waiting(&self) -> usize {
        let tree = self.tree();
        let is_user = |index: &EntryIndex| {
            let Ok(entry) = tree.entry(*index) else {
                return false;
            };
            matches!(&entry.body, EntryBody::Message(message) if matches!(**message, AgentMessage::User(_)))
        };
        let unanswered = match self.place {
            Place::Unborn(_) => tree.indices().filter(is_user).count(),
            Place::Memory(_) | Place::Born(_) => 0,
        };
        self.queue.len() + unanswered
    }

    /// Appends messages that wait as messages of the user, each under its own id, and takes them off the queue.
    pub fn send_queued(&mut self, ids: &[EntryId]) -> Result<Vec<EntryId>, Error> {
        let entries = ids.iter().map(|id| self.queued_entry(id));
        let entries = entries.collect::<Result<Vec<NewEntry>, Error>>()?;
        self.append(entries)
    }

    /// Returns a message that waits as the entry that it will be; appended, it waits no longer.
    pub fn queued_entry(&self, id: &EntryId) -> Result<NewEntry, Error> {
        let found = self.queue.iter().find(|queued| queued.id == *id);
        let queued = found.ok_or_else(|| {
            Error::Usage(format!(
                "no message {id} waits to be sent; it may be sent already"
            ))
        })?;
        let draft = MessageDraft::user(&queued.text);
        Ok(NewEntry {
            draft: EntryDraft::Message(Box::new(draft)),
            id: Some(id.clone()),
        })
    }

    /// Takes a message off the queue for good and returns it; `None` when it does not wait.
    pub fn drop_queued(&mut self, id: &EntryId) -> Result<Option<Queued>, Error> {
        let place = self.queue.iter().position(|queued| queued.id == *id);
        let Some(place) = place else {
            return Ok(None);
        };
        let queued = self.queue.remove(place);
        match self.shrink_pending(std::slice::from_ref(id)) {
            Ok(()) => Ok(Some(queued)),
            Err(error) => {
                self.queue.insert(place, queued);
                Err(error)
            }
        }
    }

    /// Takes messages that wait no longer out of the pending file, or the file away.
    fn shrink_pending(&mut self, gone: &[EntryId]) -> Result<(), Error> {
        let policy = self.policy;
        match &mut self.place {
            Place::Memory(_) => Ok(()),
            Place::Unborn(unborn) if self.queue.is_empty() && !unborn.worth => {
                unborn.pending.remove()
            }
            Place::Unborn(unborn) => unborn.pending.take(gone, policy),
            Place::Born(born) if !born.pending.exists() => Ok(()),
            Place::Born(_) if !self.queue.is_empty() && gone.is_empty() => Ok(()),
            Place::Born(born) => {
                // What is taken away here must be safe there.
                born.writer.sync()?;
                match self.queue.is_empty() {
                    true => born.pending.remove(),
                    false => born.pending.take(gone, policy),
                }
            }
        }
    }
}

impl Place {
    fn tree(&self) -> &SessionTree {
        match self {
            Self::Memory(grown) => grown.tree(),
            Self::Unborn(unborn) => unborn.grown.tree(),
            Self::Born(born) => born.writer.session.tree(),
        }
    }
}

/// Returns true for what makes a session's file appear: an answer of a model.
fn is_answer(draft: &EntryDraft) -> bool {
    matches!(draft, EntryDraft::Message(draft) if matches!(draft.message(), AgentMessage::Assistant(_)))
}

/// Returns true for what must not be lost although no answer came: all but what every start writes.
fn is_worth_a_file(draft: &EntryDraft) -> bool {
    match draft {
        EntryDraft::Message(draft) => !matches!(draft.message(), AgentMessage::System(_)),
        EntryDraft::CustomMessage(_)
        | EntryDraft::Compaction(_)
        | EntryDraft::BranchSummary(_)
        | EntryDraft::ContextEdit(_)
        | EntryDraft::Label(_)
        | EntryDraft::SessionInfo(_) => true,
        EntryDraft::Custom(draft) => draft.custom_type == PIN_ENTRY,
        EntryDraft::ModelChange(_) | EntryDraft::ThinkingLevelChange(_) => false,
    }
}
