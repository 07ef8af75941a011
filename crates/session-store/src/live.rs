//! The store of a living session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_model::{
    AgentMessage, EntryBody, EntryDraft, EntryId, EntryIndex, Leaf, MessageDraft, SessionTree,
    UserMessage, stamp_write,
};

use crate::append::SyncPolicy;
use crate::error::StoreError;
use crate::file::{SessionFile, now};
use crate::filter::{Unfiltered, WriteFilter};
use crate::in_memory_log::InMemoryLog;
use crate::pending::Pending;
use crate::queue::{Delivery, NewEntry, Prompt, Queued};
use crate::unpersisted::Unpersisted;
use crate::writer::SessionWriter;

/// A session while it is lived in: it grows entry by entry, and keeps the messages that wait.
///
/// Nothing that was appended or queued is lost when the program ends at once, wherever it ends; and what
/// fails changes nothing.
#[derive(Debug)]
pub struct LiveStore {
    pub(crate) place: Place,
    leaf: Leaf,
    pub(crate) queue: Vec<Queued>,
    pub(crate) id: String,
    cwd: String,
    policy: SyncPolicy,
    filter: Arc<dyn WriteFilter>,
}

/// Where the entries are.
#[derive(Debug)]
pub(crate) enum Place {
    /// In memory, for good.
    Memory(Box<InMemoryLog>),
    /// In memory and, once there is something worth it, in the pending file.
    Unpersisted(Box<Unpersisted>),
    /// In the session's file.
    Persisted(Box<Persisted>),
}

#[derive(Debug)]
pub(crate) struct Persisted {
    pub(crate) writer: SessionWriter,
    pub(crate) pending: Pending,
    /// How many entries came from elsewhere; lines of others may be damaged.
    pub(crate) read: usize,
}

impl LiveStore {
    pub(crate) fn over(place: Place) -> Self {
        let tree = place.tree();
        let header = tree.header();
        Self {
            leaf: tree.leaf(),
            queue: Vec::new(),
            id: header.map(|header| header.id.clone()).unwrap_or_default(),
            cwd: header.map(|header| header.cwd.clone()).unwrap_or_default(),
            policy: SyncPolicy::Always,
            filter: Arc::new(Unfiltered),
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
            Place::Unpersisted(unpersisted) => Some(&unpersisted.path),
            Place::Persisted(persisted) => Some(&persisted.writer.session.path),
        }
    }

    /// Returns the session's file, once it is there.
    pub fn file(&self) -> Option<&SessionFile> {
        match &self.place {
            Place::Memory(_) | Place::Unpersisted(_) => None,
            Place::Persisted(persisted) => Some(&persisted.writer.session),
        }
    }

    /// Returns true when the session has a file.
    pub fn is_persisted(&self) -> bool {
        match self.place {
            Place::Memory(_) | Place::Unpersisted(_) => false,
            Place::Persisted(_) => true,
        }
    }

    /// Returns how long the session is, in bytes.
    pub fn bytes(&self) -> u64 {
        match &self.place {
            Place::Memory(log) => log.len(),
            Place::Unpersisted(unpersisted) => unpersisted.log.len(),
            Place::Persisted(persisted) => persisted.writer.session.decoded.bytes,
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
        if let Place::Persisted(persisted) = &mut self.place {
            persisted.writer.set_sync(policy);
        }
    }

    /// Returns when appends are forced to the disk.
    pub fn sync(&self) -> SyncPolicy {
        self.policy
    }

    /// Sets what every text passes from now on before it is written.
    pub fn set_filter(&mut self, filter: Arc<dyn WriteFilter>) {
        self.filter = filter;
    }

    /// Returns what every text passes before it is written.
    pub fn filter(&self) -> Arc<dyn WriteFilter> {
        self.filter.clone()
    }

    /// Appends entries as a chain under the leaf, in one write, and returns their ids. The last is the leaf
    /// afterwards. After an error nothing has changed.
    pub fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<EntryId>, StoreError> {
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
    ) -> Result<Vec<EntryId>, StoreError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let parent = self.readable_parent(parent)?;
        let answers = entries.iter().any(|entry| is_answer(&entry.draft));
        let worth = entries.iter().any(|entry| is_worth_a_file(&entry.draft));
        let (lines, ids) = self.stamped(parent, entries)?;
        let policy = self.policy;
        match &mut self.place {
            Place::Memory(log) => log.append(&lines),
            Place::Persisted(persisted) => persisted.writer.append(&lines)?,
            Place::Unpersisted(unpersisted) if answers => {
                let persisted = unpersisted.persist(&lines, policy)?;
                self.place = Place::Persisted(Box::new(persisted));
            }
            Place::Unpersisted(unpersisted) => unpersisted.append(&lines, worth, policy)?,
        }
        self.leaf = self.tree().leaf();
        let sent = self.queue.extract_if(.., |queued| ids.contains(&queued.id));
        let sent: Vec<EntryId> = sent.map(|queued| queued.id).collect();
        if self.is_persisted() {
            // Their ids are in the session, so what the pending file says of them is passed over.
            let _ = self.shrink_pending(&sent);
        }
        Ok(ids)
    }

    /// Returns the parent that entries get which belong under `parent`.
    fn readable_parent(&self, parent: Option<&EntryId>) -> Result<Option<EntryId>, StoreError> {
        let Some(id) = parent else {
            return Ok(None);
        };
        let Some(index) = self.tree().find(id) else {
            let text = format!("no entry {id} in this session; agent-cli tree lists the ids");
            return Err(StoreError::Usage(text));
        };
        match &self.place {
            Place::Persisted(persisted) if index.as_usize() < persisted.read => {
                Ok(persisted.writer.session.readable_parent(parent).0)
            }
            Place::Memory(_) | Place::Unpersisted(_) | Place::Persisted(_) => Ok(parent.cloned()),
        }
    }

    fn stamped(
        &self,
        parent: Option<EntryId>,
        entries: Vec<NewEntry>,
    ) -> Result<(Vec<String>, Vec<EntryId>), StoreError> {
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
                    return Err(StoreError::Usage(text));
                }
                Some(id) => id,
            };
            ids.push(id.clone());
            named.push((id, entry.draft));
        }
        let lines = stamp_write(&named, parent, now()).into_iter();
        let lines = lines.map(|line| self.filter.line(line));
        Ok((lines.collect(), ids))
    }

    /// Keeps a message until it is sent, and returns it. It is on the disk by then, except in memory.
    pub fn queue(
        &mut self,
        prompt: impl Into<Prompt>,
        delivery: Delivery,
    ) -> Result<Queued, StoreError> {
        let Prompt { text, images } = prompt.into();
        let queued = Queued {
            id: self.fresh_id(),
            text,
            images,
            delivery,
        };
        self.keep(queued)
    }

    fn keep(&mut self, queued: Queued) -> Result<Queued, StoreError> {
        let queued = Queued {
            text: self.filter.text(&queued.text),
            ..queued
        };
        match &mut self.place {
            Place::Memory(_) => {}
            Place::Unpersisted(unpersisted) => {
                unpersisted.hold_lock()?;
                let Unpersisted { log, pending, .. } = &mut **unpersisted;
                pending.queue(&queued, || log.to_lines(), self.policy)?;
            }
            Place::Persisted(persisted) => {
                persisted.writer.check_lock()?;
                let owner = || Pending::owned_by(&self.id);
                persisted.pending.queue(&queued, owner, self.policy)?;
            }
        }
        self.queue.push(queued.clone());
        Ok(queued)
    }

    /// Takes over the messages that wait in another session, under the ids that they have. One that cannot be taken
    /// over waits there.
    pub fn take_queue(&mut self, other: &mut Self) -> Result<(), StoreError> {
        while let Some(queued) = other.queue.first().cloned() {
            let id = queued.id.clone();
            self.keep(queued)?;
            other.drop_queued(&id)?;
        }
        Ok(())
    }

    /// Writes the session's file now: for one that is worth it before there is an answer.
    pub fn persist(&mut self) -> Result<(), StoreError> {
        let policy = self.policy;
        if let Place::Unpersisted(unpersisted) = &mut self.place {
            let persisted = unpersisted.persist(&[], policy)?;
            self.place = Place::Persisted(Box::new(persisted));
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
            Place::Unpersisted(_) => tree.indices().filter(is_user).count(),
            Place::Memory(_) | Place::Persisted(_) => 0,
        };
        self.queue.len() + unanswered
    }

    /// Appends messages that wait as messages of the user, each under its own id, and takes them off the queue.
    pub fn send_queued(&mut self, ids: &[EntryId]) -> Result<Vec<EntryId>, StoreError> {
        let entries = ids.iter().map(|id| self.queued_entry(id));
        let entries = entries.collect::<Result<Vec<NewEntry>, StoreError>>()?;
        self.append(entries)
    }

    /// Returns a message that waits as the entry that it will be; appended, it waits no longer.
    pub fn queued_entry(&self, id: &EntryId) -> Result<NewEntry, StoreError> {
        let found = self.queue.iter().find(|queued| queued.id == *id);
        let queued = found.ok_or_else(|| {
            StoreError::Usage(format!(
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

    /// Takes a message off the queue for good and returns it; `None` when it does not wait.
    pub fn drop_queued(&mut self, id: &EntryId) -> Result<Option<Queued>, StoreError> {
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
    fn shrink_pending(&mut self, gone: &[EntryId]) -> Result<(), StoreError> {
        let policy = self.policy;
        match &mut self.place {
            Place::Memory(_) => Ok(()),
            Place::Unpersisted(unpersisted) => {
                if let Some(lock) = &unpersisted.lock {
                    lock.check(&unpersisted.path)?;
                }
                match self.queue.is_empty() && !unpersisted.worth {
                    true => unpersisted.pending.remove(),
                    false => unpersisted.pending.take(gone, policy),
                }
            }
            Place::Persisted(persisted) if !persisted.pending.exists() => Ok(()),
            Place::Persisted(_) if !self.queue.is_empty() && gone.is_empty() => Ok(()),
            Place::Persisted(persisted) => {
                // What another program waits with is not taken away, and what is taken away here must be safe there.
                persisted.writer.check_lock()?;
                persisted.writer.sync()?;
                match self.queue.is_empty() {
                    true => persisted.pending.remove(),
                    false => persisted.pending.take(gone, policy),
                }
            }
        }
    }
}

impl Place {
    fn tree(&self) -> &SessionTree {
        match self {
            Self::Memory(log) => log.tree(),
            Self::Unpersisted(unpersisted) => unpersisted.log.tree(),
            Self::Persisted(persisted) => persisted.writer.session.tree(),
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
        | EntryDraft::SessionInfo(_)
        | EntryDraft::Custom(_) => true,
        EntryDraft::ModelChange(_) | EntryDraft::ThinkingLevelChange(_) => false,
    }
}
