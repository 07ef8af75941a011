//! How a session is at a moment: for whoever asks.

use compaction_core::{Settings, TokenCount};
use schemars::JsonSchema;
use serde::Serialize;
use session_model::{Diagnostic, Leaf, SessionTree};

use crate::event::TokenUsage;
use crate::machine::State;
use crate::runtime::AgentSession;
use crate::runtime::entries::leaf_name;
use crate::settings::SessionCompaction;
use session_tools::restoring::Disk;

/// How a session is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StateReport {
    /// The session's id.
    pub session_id: String,
    /// Where it is, or will be once the model has answered; none for one that is never written.
    pub path: Option<String>,
    /// Whether its file is there.
    pub written: bool,
    /// The folder that the tools work in.
    pub cwd: String,
    /// The model that answers next, as `provider/model`.
    pub model: String,
    /// Its window in tokens; 0 when unknown.
    pub window: u64,
    /// What goes on: `idle`, `checking`, `promoting`, `storing`, `asking`, `tools`, `stopping`, `compacting`,
    /// `navigating` or `closed`.
    pub state: &'static str,
    /// Whether a turn is under way.
    pub in_turn: bool,
    /// How full the window is.
    pub context: ContextReport,
    /// Messages that wait to be sent, the oldest first.
    pub queue: Vec<Waiting>,
    /// Whether automatic compactions are switched on.
    pub auto_compaction: bool,
    /// Whether they wait for another context, because three in a row failed.
    pub auto_compaction_stopped: bool,
    /// Tool calls that wait to be allowed.
    pub approvals: Vec<WaitingCall>,
    /// The entry at which the session stands; none before everything.
    pub leaf: Option<String>,
    /// Entries in it.
    pub entries: usize,
    /// Tokens that were billed in this run.
    pub usage: TokenUsage,
    /// What they cost in USD, where prices are known.
    pub cost_usd: Option<f64>,
}

/// How full the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextReport {
    /// Tokens of the context.
    pub tokens: u64,
    /// Compaction is due above this; none when the window is unknown.
    pub threshold: Option<u64>,
    /// Whether the figure is an estimate; else the provider has billed it.
    pub estimated: bool,
}

/// A message that waits to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The id that it will have in the session.
    pub id: String,
    /// What it says.
    pub text: String,
    /// When it is sent: `prompt`, `steer` or `follow_up`.
    pub delivery: &'static str,
}

/// A tool call that waits to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitingCall {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it would do: the command, for `bash`.
    pub subject: String,
}

/// A session as it is, to look into while it goes on.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The entries.
    pub tree: SessionTree,
    /// Where it stands.
    pub leaf: Leaf,
    /// What was noticed when it was read.
    pub diagnostics: Vec<Diagnostic>,
    /// How compaction and branch summaries are done.
    pub settings: Settings,
    /// When the session is compacted.
    pub compaction: SessionCompaction,
    /// The window of the model; zero when unknown.
    pub window: TokenCount,
    /// Where the files are that it has touched.
    pub disk: Disk,
}

/// Snapshots are not compared.
impl PartialEq for Snapshot {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

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
            leaf: leaf_name(&*self.store),
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
