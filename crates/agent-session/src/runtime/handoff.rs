//! What a compaction brought is written here: entries into this session, or a document into a new one.

use compaction_core::{HANDOFF_MESSAGE, carry_pins};
use hooks::Notification;
use serde_json::json;
use session_model::json::RawJson;
use session_model::{Content, CustomMessageDraft, EntryDraft};

use crate::event::SessionEvent;
use crate::machine::Ended;
use crate::runtime::AgentSession;
use crate::runtime::compaction::{Document, Product, author};
use crate::runtime::entries::leaf_name;
use crate::summarize::{bill_in_details, seconds_in_details};
use session_store::LiveStore;
use session_store::StoreError;

impl AgentSession {
    /// Writes what a compaction brought.
    pub(super) fn write_product(&mut self, product: Product) -> Ended {
        match product {
            Product::Entries(entries) => {
                let omits_failed = entries.omits_failed;
                self.write_entries(*entries, omits_failed)
            }
            Product::Document(document) => match self.hand_off(*document) {
                Ok(()) => Ended::HandedOff,
                Err(error) => Ended::Failed(error.to_string()),
            },
        }
    }

    /// Begins the session that goes on from a document, and takes over what waits. The old session stays as it is.
    fn hand_off(&mut self, document: Document) -> Result<(), StoreError> {
        let Document {
            text,
            ledger,
            report,
            result,
        } = document;
        // Nothing that was said may stay behind unwritten.
        self.append(Vec::new())?;
        let details = json!({
            "parentSession": self.store.id(),
            "parentLeaf": leaf_name(&self.store),
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
        let mut new = self.successor()?;
        let from = self.store.id().to_owned();
        let pins = carry_pins(&self.path(), &new.tree().path(new.leaf()));
        let entries = std::iter::once(draft).chain(pins);
        new.append(entries.map(Into::into).collect())?;
        // Written immediately: the document is all that the new session has.
        new.persist()?;
        if let Err(error) = new.take_queue(&mut self.store) {
            // Whoever waits there must not be forgotten here.
            self.store.take_queue(&mut new)?;
            if let Some(path) = new.path() {
                let _ = std::fs::remove_file(path);
            }
            return Err(error);
        }
        self.notify(Notification::SessionShutdown { reason: "handoff" });
        self.adopt(new);
        self.notify_start();
        self.result = Some(result);
        self.events.send(SessionEvent::SessionSwitch {
            session_id: self.store.id().to_owned(),
            path: self.store.path().map(|path| path.display().to_string()),
            from,
        });
        Ok(())
    }

    /// Returns the store of the session that comes after this one, in the same place.
    fn successor(&self) -> Result<LiveStore, StoreError> {
        let cwd = std::path::Path::new(self.store.cwd());
        let Some(path) = self.store.path() else {
            let mut new = LiveStore::in_memory(cwd);
            new.set_filter(self.store.filter());
            return Ok(new);
        };
        let folder = self.folder.as_deref().or_else(|| path.parent());
        let folder = folder.unwrap_or_else(|| std::path::Path::new("."));
        let mut new = LiveStore::create(folder, cwd, Some(path));
        new.set_sync(self.store.sync());
        new.set_filter(self.store.filter());
        Ok(new)
    }
}
