//! What a compaction brought is written here: entries into this session, or a document into a new one.

use compaction_core::{HANDOFF_MESSAGE, LedgerReader, carry_pins};
use hooks::Notification;
use serde_json::json;
use session_model::json::RawJson;
use session_model::{Content, CustomMessageDraft, EntryDraft, Leaf, SessionPath};

use crate::machine::JobEnd;
use crate::runtime::AgentSession;
use crate::runtime::compaction::{CompactionOutput, HandoffDocument, author};
use crate::runtime::pins::follow_with_pins;
use session_protocol::event::SessionEvent;
use session_store::StoreError;
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
        let from = self.store.id().to_owned();
        let at = self.store.leaf();
        let carry = |source: &SessionPath<'_>, new: &SessionPath<'_>| {
            let pins = carry_pins(&source.tree().path(at), new);
            let entries = std::iter::once(draft.clone()).chain(pins);
            entries.map(Into::into).collect()
        };
        let new = self.continued_at(Leaf::Root, &carry).await?;
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
}
