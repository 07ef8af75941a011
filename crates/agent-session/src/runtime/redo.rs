//! What a user brings again: what was undone last, or another compaction in the place of the newest.

use compaction_core::{Strategy, leaf_move};
use hooks::Notification;
use session_model::EntryId;

use crate::event::SessionEvent;
use crate::machine::{Event, StrategyChoice};
use crate::runtime::AgentSession;
use crate::runtime::entries::leaf_name;
use crate::runtime::reply::{Redone, Refusal, RefusalKind};
use crate::undoable::{Later, NoReplacing, REDO, Replaceable, id_of, newest_redoable, replaceable};
use session_store::NewEntry;
use session_store::StoreError;

/// The text that reports that what came later is left behind.
const LEAVE: &str = "say leave_later";

impl AgentSession {
    /// Goes forward to where the session stood before the newest undo, where nothing else was done since.
    pub(super) async fn redo(&mut self) -> Result<Redone, Refusal> {
        self.require_idle().await?;
        let found = newest_redoable(&self.path()).map_err(|error| Refusal {
            kind: RefusalKind::NothingToDo,
            message: error.to_string(),
        })?;
        let from = leaf_name(&*self.store);
        let to = id_of(self.store.tree(), found.forward_to);
        let draft = leaf_move(REDO, from.as_deref().map(EntryId::new).as_ref());
        self.store
            .append_under(to, vec![draft.into()])
            .await
            .map_err(|error| unwritten(&error))?;
        self.leaf_moved(from.clone());
        self.feed(Event::Moved).await;
        self.report_context();
        Ok(Redone {
            redone: found.redone.to_string(),
            kind: found.kind,
            leaf: leaf_name(&*self.store),
            from,
        })
    }

    /// Begins a compaction that takes the place of the newest.
    pub(super) async fn compact_instead(
        &mut self,
        strategy: Strategy,
        focus: Option<String>,
        later: Later,
    ) -> Result<(), Refusal> {
        self.require_idle().await?;
        match strategy {
            Strategy::Off => {
                return Err(Refusal::refused(
                    "off is no strategy to compact with; name another",
                ));
            }
            Strategy::Handoff => {
                return Err(Refusal::refused(
                    "a handoff takes the place of nothing; undo, then hand off",
                ));
            }
            Strategy::ContextFull
            | Strategy::Restore
            | Strategy::Extractive
            | Strategy::PruneOnly => {}
        }
        let found = replaceable(&self.path(), later, LEAVE).map_err(|error| Refusal {
            kind: match error {
                NoReplacing::None => RefusalKind::NothingToDo,
                NoReplacing::Later { .. } => RefusalKind::Refused,
            },
            message: error.to_string(),
        })?;
        self.instead = Some(found);
        self.feed(Event::Compact {
            focus,
            choice: StrategyChoice::Instead(strategy),
        })
        .await;
        Ok(())
    }

    /// Writes a compaction in the place of another one: where it was planned, after the move to there.
    pub(super) async fn write_instead(
        &mut self,
        instead: &Replaceable,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, StoreError> {
        let lead: Vec<NewEntry> = instead.lead().into_iter().map(Into::into).collect();
        let moves = lead.len();
        let from = leaf_name(&*self.store);
        let base = id_of(self.store.tree(), instead.base);
        let all = lead.into_iter().chain(entries).collect();
        let mut ids = self.store.append_under(base, all).await?;
        if moves > 0 {
            self.leaf_moved(from);
        }
        Ok(ids.split_off(moves))
    }

    /// Follows the leaf to where it was moved, and tells of it.
    pub(super) fn leaf_moved(&mut self, from: Option<String>) {
        self.failed = None;
        self.follow_branch();
        let leaf = leaf_name(&*self.store);
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

fn unwritten(error: &StoreError) -> Refusal {
    Refusal::failed(format!("cannot write the session: {error}"))
}
