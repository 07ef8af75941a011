//! How a session is at a moment, for a caller that asks.

use session_protocol::{ContextReport, Snapshot, StateReport, Waiting, WaitingCall};

use crate::machine::State;
use crate::runtime::AgentSession;

impl AgentSession {
    /// Returns how the session is.
    pub(super) fn report(&self) -> StateReport {
        let spent = self.events.spent();
        let memory = &self.machine.memory;
        let waiting = self.store.queued().iter().map(|message| Waiting {
            id: message.id.to_string(),
            text: message.text.clone(),
            delivery: message.delivery.name(),
        });
        let asked = self.events.questions().into_iter();
        let asked = asked.map(|question| WaitingCall {
            call_id: question.call_id,
            tool: question.tool,
            subject: question.subject,
        });
        StateReport {
            session_id: self.store.id().to_owned(),
            path: self.path_name(),
            written: self.store.is_persisted(),
            cwd: self.tool_folder(),
            model: self.models.model.name(),
            window: self.models.model.window.0,
            state: state_name(&self.machine.state),
            in_turn: memory.in_turn,
            context: self.context_report(),
            queue: waiting.collect(),
            auto_compaction: memory.policy.automatic,
            auto_compaction_stopped: memory.is_stopped(),
            approvals: asked.collect(),
            leaf: self.leaf_name(),
            entries: self.store.tree().len(),
            usage: spent.usage,
            cost_usd: spent.cost_usd,
        }
    }

    /// Returns how full the window is.
    pub(super) fn context_report(&self) -> ContextReport {
        let measured = self.view().measured(&self.path());
        ContextReport {
            tokens: measured.tokens.0,
            threshold: self.threshold().map(|threshold| threshold.tokens.0),
            estimated: measured.billed.is_none(),
        }
    }

    /// Returns the session as it is.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            tree: self.store.tree().clone(),
            leaf: self.store.leaf(),
            diagnostics: self.store.diagnostics().to_vec(),
            settings: self.settings.clone(),
            compaction: self.compaction.clone(),
            window: self.models.model.window,
            disk: self.disk(),
            outputs: self.store.locator().and_then(|at| self.catalog.outputs(at)),
        }
    }
}

/// Returns the name of what goes on.
const fn state_name(state: &State) -> &'static str {
    match state {
        State::Idle => "idle",
        State::Checking { .. } => "checking",
        State::Promoting { .. } => "promoting",
        State::Storing { .. } => "storing",
        State::Asking(_) => "asking",
        State::RunningTools(_) => "tools",
        State::Stopping(_) => "stopping",
        State::Compacting(_) => "compacting",
        State::Navigating(_) => "navigating",
        State::Closed => "closed",
    }
}
