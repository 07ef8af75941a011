//! What a compaction brought is written here: entries into this session, or a document into a new one.

use compaction_core::{HANDOFF_MESSAGE, LedgerReader, carry_pins};
use hooks::Notification;
use serde_json::json;
use session_model::json::RawJson;
use session_model::{Content, CustomMessageDraft, EntryDraft};

use crate::machine::JobEnd;
use crate::runtime::AgentSession;
use crate::runtime::compaction::{CompactionOutput, HandoffDocument, author};
use crate::runtime::pins::follow_with_pins;
use session_protocol::event::SessionEvent;
use session_store::{MemoryStore, NewSession, OpenSession, StoreError, move_queue};
use summarize::{bill_in_details, seconds_in_details};

impl AgentSession {
    /// Writes what a compaction brought.
    pub(super) async fn write_product(&mut self, product: CompactionOutput) -> JobEnd {
        match product {
            CompactionOutput::Entries(entries) => self.write_entries(*entries).await,
            CompactionOutput::Document(document) => match self.hand_off(*document).await {
                Ok(()) => JobEnd::HandedOff,
                Err(error) => JobEnd::Failed(error.to_string()),
            },
        }
    }

    /// Begins the session that goes on from a document, and takes over what waits. The old session stays as it is.
    async fn hand_off(&mut self, document: HandoffDocument) -> Result<(), StoreError> {
        let HandoffDocument {
            mut text,
            ledger,
            report,
            mut result,
            pinned,
        } = document;
        // Nothing that was said may stay behind unwritten.
        self.append(Vec::new()).await?;
        let new_pins = self.pins_without(&pinned);
        follow_with_pins(&mut text, &mut result, new_pins, LedgerReader::NextSession);
        let details = json!({
            "parentSession": self.store.id(),
            "parentLeaf": self.leaf_name(),
            "summarizer": author(&report),
            "ledger": ledger,
        });
        let mut draft = EntryDraft::CustomMessage(CustomMessageDraft {
            custom_type: HANDOFF_MESSAGE.to_owned(),
            content: Content::Text(text),
            display: true,
            details: RawJson::of(&details).ok(),
        });
        bill_in_details(&mut draft, &report);
        seconds_in_details(&mut draft, result.seconds);
        let mut new = self.successor().await?;
        let from = self.store.id().to_owned();
        let pins = carry_pins(&self.path(), &new.tree().path(new.leaf()));
        let entries = std::iter::once(draft).chain(pins);
        // Written immediately: the document is all that the new session has.
        let path = self.store_path();
        let entries = entries.map(Into::into).collect();
        let write = async {
            new.append(entries).await?;
            new.persist().await
        };
        if let Err(error) = self.work.written(path, write).await {
            self.remove_successor(new).await;
            return Err(error);
        }
        let new = self.with_queue(new).await?;
        self.notify(Notification::SessionShutdown { reason: "handoff" });
        self.switch_store(new);
        self.notify_start();
        self.compaction_run.result = Some(result);
        self.events.send(SessionEvent::SessionSwitch {
            session_id: self.store.id().to_owned(),
            path: self.path_name(),
            from,
        });
        Ok(())
    }

    /// Returns the store of the session that comes after this one, in the same place.
    async fn successor(&mut self) -> Result<OpenSession, StoreError> {
        let cwd = self.store.cwd().to_owned();
        let mut new: OpenSession = match self.store.locator().cloned() {
            None => Box::new(MemoryStore::new(&cwd)),
            parent => {
                let path = self.store_path();
                let created = self.catalog.create(NewSession { cwd, parent });
                self.work.written(path, created).await?
            }
        };
        new.set_filter(self.store.filter());
        Ok(new)
    }

    /// Returns `new` with the messages that wait in this session. Where they cannot be moved, they wait here, and the
    /// new session is removed.
    pub(super) async fn with_queue(
        &mut self,
        mut new: OpenSession,
    ) -> Result<OpenSession, StoreError> {
        let path = self.store_path();
        let moved = move_queue(&mut *self.store, &mut *new);
        let Err(error) = self.work.written(path.clone(), moved).await else {
            return Ok(new);
        };
        let moved_back = move_queue(&mut *new, &mut *self.store);
        self.work.written(path, moved_back).await?;
        self.remove_successor(new).await;
        Err(error)
    }

    /// Removes a new session that cannot take over.
    async fn remove_successor(&mut self, new: OpenSession) {
        if let Some(locator) = new.locator().cloned() {
            drop(new);
            let path = locator.as_path().to_owned();
            let _ = self.work.written(path, self.catalog.remove(&locator)).await;
        }
    }
}
