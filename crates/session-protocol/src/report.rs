//! How a session is at a moment, for a caller that asks.

use compaction_core::{Settings, TokenCount};
use schemars::JsonSchema;
use serde::Serialize;
use session_model::{Diagnostic, Leaf, SessionTree};
use session_tools::restoring::Disk;

use crate::event::TokenUsage;
use crate::settings::SessionCompaction;

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
