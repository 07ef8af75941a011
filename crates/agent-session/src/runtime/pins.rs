//! What the user of a running session pins, and what is pinned.

use compaction_core::{PinError, PinTarget, Pins, Profile};
use session_model::{EntryDraft, EntryId};

use crate::machine::State;
use crate::runtime::AgentSession;
use session_protocol::event::SessionEvent;
use session_protocol::{PinReport, Pinned, PinsReport, Refusal, RefusalKind, Unpinned};

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

    async fn write_pin(&mut self, draft: EntryDraft) -> Result<Option<EntryId>, Refusal> {
        let ids = self.append(vec![draft.into()]).await?;
        Ok(ids.into_iter().next())
    }
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
