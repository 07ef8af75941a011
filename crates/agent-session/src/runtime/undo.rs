//! Undo, redo, and another compaction in place of the newest.

use compaction_core::{Strategy, leaf_move};
use hooks::Notification;
use session_model::{EntryId, Leaf};

use crate::machine::Event;
use crate::runtime::AgentSession;
use compaction_core::undoable::{
    Later, NoReplacing, NoUndo, REDO, Replaceable, UNDO, Whose, newest_redoable, replaceable,
    undoable,
};
use session_protocol::event::SessionEvent;
use session_protocol::{Redone, Refusal, Undone};
use session_store::NewEntry;
use session_store::StoreError;

/// The text that reports that what came later is left behind.
const LEAVE: &str = "set leave_later to true";

/// The text that asks for an undo of what another program wrote.
const ANY: &str = "say any (/undo any)";

impl AgentSession {
    /// Goes back to before the newest compaction, pruning or move. Nothing is deleted.
    pub(super) async fn undo(&mut self, whose: Whose) -> Result<Undone, Refusal> {
        self.require_idle().await?;
        let path = self.path();
        let found = undoable(&path, whose, ANY).map_err(|error| match error {
            NoUndo::None => Refusal::nothing_to_do(error.to_string()),
            NoUndo::NotOurs { .. } => Refusal::refused(error.to_string()),
        })?;
        let undone = path.tree().id(path.entries()[found.place]).to_owned();
        let (from, leaf) = self.move_leaf(UNDO, found.back_to).await?;
        Ok(Undone {
            undone,
            kind: found.kind,
            is_ours: found.is_ours,
            leaf,
            from,
        })
    }

    /// Goes forward to where the session stood before the newest undo, where nothing else was done since.
    pub(super) async fn redo(&mut self) -> Result<Redone, Refusal> {
        self.require_idle().await?;
        let found = newest_redoable(&self.path())
            .map_err(|error| Refusal::nothing_to_do(error.to_string()))?;
        let (from, leaf) = self.move_leaf(REDO, found.forward_to).await?;
        Ok(Redone {
            redone: found.redone.to_string(),
            kind: found.kind,
            leaf,
            from,
        })
    }

    /// Moves the leaf for this reason; returns where it was and where it is.
    async fn move_leaf(
        &mut self,
        reason: &str,
        to: Leaf,
    ) -> Result<(Option<String>, Option<String>), Refusal> {
        let from = self.leaf_name();
        let to = self.store.tree().leaf_id(to).map(EntryId::new);
        let draft = leaf_move(reason, from.as_deref().map(EntryId::new).as_ref());
        self.append_under(to, vec![draft.into()]).await?;
        self.leaf_moved(from.clone());
        let leaf = self.leaf_name();
        self.feed(Event::Moved).await;
        self.report_context();
        Ok((from, leaf))
    }

    /// Prepares a compaction that takes the place of the newest.
    pub(super) async fn prepare_replacement(
        &mut self,
        strategy: Strategy,
        later: Later,
    ) -> Result<Replaceable, Refusal> {
        self.require_idle().await?;
        let refused = match strategy {
            Strategy::Off => Some("off is not a strategy to compact with; name another"),
            Strategy::Handoff => Some("a handoff takes the place of nothing; undo, then hand off"),
            Strategy::ContextFull
            | Strategy::Restore
            | Strategy::Extractive
            | Strategy::PruneOnly => None,
        };
        if let Some(why) = refused {
            return Err(Refusal::refused(why));
        }
        let found = replaceable(&self.path(), later, LEAVE);
        found.map_err(|error| match error {
            NoReplacing::None => Refusal::nothing_to_do(error.to_string()),
            NoReplacing::Later { .. } => Refusal::refused(error.to_string()),
        })
    }

    /// Writes a compaction in place of another one: where it was planned, after the move to there.
    pub(super) async fn write_instead(
        &mut self,
        instead: &Replaceable,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, StoreError> {
        let lead: Vec<NewEntry> = instead.lead().into_iter().map(Into::into).collect();
        let moves = lead.len();
        let from = self.leaf_name();
        let base = self.store.tree().leaf_id(instead.base).map(EntryId::new);
        let all = lead.into_iter().chain(entries).collect();
        let mut ids = self.append_under(base, all).await?;
        if moves > 0 {
            self.leaf_moved(from);
        }
        Ok(ids.split_off(moves))
    }

    /// Follows the leaf to where it was moved, and tells of it.
    pub(super) fn leaf_moved(&mut self, from: Option<String>) {
        self.turn.failed_answer = None;
        self.follow_branch();
        let leaf = self.leaf_name();
        self.notify(Notification::SessionTree {
            new_leaf: leaf.clone(),
            old_leaf: from.clone(),
            summary_entry: None,
        });
        self.events.send(SessionEvent::Navigated {
            leaf,
            from,
            summary_entry_id: None,
            editor_text: None,
            cancelled: false,
        });
    }
}
