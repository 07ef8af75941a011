//! What the user of a running session pins, and what is pinned.

use std::collections::BTreeSet;

use compaction_core::{
    LedgerReader, Pin, PinError, PinTarget, Pins, Profile, ledger_of_pins, pins_of,
};
use serde_json::json;
use session_model::{EntryDraft, EntryId, EntryKind, FirstKept, SessionPath};

use crate::machine::State;
use crate::runtime::AgentSession;
use crate::runtime::compaction::CompactionEntries;
use session_protocol::event::{CompactionResult, SessionEvent};
use session_protocol::{PinReport, Pinned, PinsReport, Refusal, RefusalKind, Unpinned};
use summarize::{add_details, summary_draft};

impl AgentSession {
    /// Keeps something verbatim from now on, where there is room for it.
    pub(super) async fn pin(&mut self, target: &PinTarget) -> Result<Pinned, Refusal> {
        self.is_open()?;
        // What is counted is what will be written.
        let target = match target {
            PinTarget::Entry(id) => PinTarget::Entry(id.clone()),
            PinTarget::Text(text) => PinTarget::Text(self.events.without_keys(text)),
            PinTarget::TextOfModel(text) => PinTarget::TextOfModel(self.events.without_keys(text)),
        };
        let pins = self.pins();
        let new = pins.add(&self.path(), &target, Profile::Own.counter());
        let new = new.map_err(|error| refused(&error))?;
        let written = self.write_pin(new.draft).await?;
        let pinned = Pinned {
            entry_id: new
                .entry_id
                .or(written)
                .map_or_else(String::new, |id| id.to_string()),
            tokens: new.tokens.0,
            used_tokens: (pins.used() + new.tokens).0,
            budget_tokens: pins.budget.0,
        };
        self.events.send(SessionEvent::Pinned {
            entry_id: pinned.entry_id.clone(),
            text: new.text,
            tokens: pinned.tokens,
            used_tokens: pinned.used_tokens,
            budget_tokens: pinned.budget_tokens,
        });
        Ok(pinned)
    }

    /// Lets something that was pinned go.
    pub(super) async fn unpin(&mut self, id: &EntryId) -> Result<Unpinned, Refusal> {
        self.is_open()?;
        let pins = self.pins();
        let removed = pins.remove(&self.path(), id);
        let ((pin, freed), draft) = removed.map_err(|error| refused(&error))?;
        self.write_pin(draft).await?;
        let unpinned = Unpinned {
            entry_id: pin.entry_id.to_string(),
            used_tokens: pins.used().saturating_sub(*freed).0,
            budget_tokens: pins.budget.0,
        };
        self.events.send(SessionEvent::Unpinned {
            entry_id: unpinned.entry_id.clone(),
            used_tokens: unpinned.used_tokens,
            budget_tokens: unpinned.budget_tokens,
        });
        Ok(unpinned)
    }

    /// Returns what is pinned.
    pub(super) fn pins_report(&self) -> PinsReport {
        let pins = self.pins();
        PinsReport {
            used_tokens: pins.used().0,
            budget_tokens: pins.budget.0,
            pins: pins
                .pins
                .into_iter()
                .map(|(pin, tokens)| PinReport {
                    entry_id: pin.entry_id.to_string(),
                    tokens: tokens.0,
                    text: pin.text,
                })
                .collect(),
        }
    }

    fn pins(&self) -> Pins {
        let window = self.models.model.window;
        let settings = &self.settings.compaction.pins;
        let budget = settings.budget(window, self.threshold().as_ref());
        Pins::of(&self.path(), budget, Profile::Own.counter())
    }

    fn is_open(&self) -> Result<(), Refusal> {
        match self.machine.state {
            State::Closed => Err(Refusal::refused("the session has ended")),
            _ => Ok(()),
        }
    }

    /// Returns what is pinned and is not among these.
    pub(super) fn pins_without(&self, known: &BTreeSet<EntryId>) -> Vec<Pin> {
        let mut pins = pins_of(&self.path());
        pins.retain(|pin| !known.contains(&pin.entry_id));
        pins
    }

    /// Keeps what was pinned while a compaction ran: whole where it stays in context, else behind the summary.
    pub(super) fn keep_new_pins(&self, entries: &mut CompactionEntries) {
        let mut pins = self.pins_without(&entries.pinned);
        let edits = entries.drafts.len();
        entries.drafts.retain(|draft| match draft {
            EntryDraft::ContextEdit(edit) => pins.iter().all(|pin| pin.entry_id != edit.target),
            _ => true,
        });
        let result = &mut entries.result;
        result.shortened_entries -= (edits - entries.drafts.len()).min(result.shortened_entries);
        let Some(EntryDraft::Compaction(compaction)) = summary_draft(&mut entries.drafts) else {
            return;
        };
        let path = self.path();
        let first = match &compaction.first_kept {
            FirstKept::Entry(first) => path.place_of(first),
            FirstKept::None => None,
        };
        pins.retain(|pin| {
            let place = path.place_of(&pin.entry_id);
            let is_message = place
                .is_some_and(|place| path.tree().kind(path.entries()[place]) != EntryKind::Custom);
            !is_message || place < first || first.is_none()
        });
        follow_with_pins(&mut compaction.summary, result, pins, LedgerReader::Session);
        let after = json!(result.tokens_after);
        if let Some(draft) = summary_draft(&mut entries.drafts) {
            add_details(draft, &[("estimatedTokensAfter", after)]);
        }
    }

    async fn write_pin(&mut self, draft: EntryDraft) -> Result<Option<EntryId>, Refusal> {
        let ids = self.append(vec![draft.into()]).await?;
        Ok(ids.into_iter().next())
    }
}

/// Returns the ids of what is pinned on a path.
pub(super) fn pinned_on(path: &SessionPath<'_>) -> BTreeSet<EntryId> {
    pins_of(path).into_iter().map(|pin| pin.entry_id).collect()
}

/// Puts pins behind a summary, and counts them.
pub(super) fn follow_with_pins(
    summary: &mut String,
    result: &mut CompactionResult,
    pins: Vec<Pin>,
    reader: LedgerReader,
) {
    let block = ledger_of_pins(pins, reader, Profile::Own.counter());
    summary.push_str(&block.text);
    result.summary = Some(summary.clone());
    result.tokens_after += block.tokens.0;
    result.ledger_tokens += block.tokens.0;
}

fn refused(error: &PinError) -> Refusal {
    let kind = match error {
        PinError::Twice(_) | PinError::NotPinned(_) => RefusalKind::NothingToDo,
        PinError::Unknown(_)
        | PinError::Elsewhere(_)
        | PinError::NoText(_)
        | PinError::Empty
        | PinError::OverBudget { .. } => RefusalKind::Refused,
    };
    let message = match error {
        PinError::Unknown(_) => format!("{error}; agent-cli tree lists the ids"),
        _ => error.to_string(),
    };
    Refusal { kind, message }
}
