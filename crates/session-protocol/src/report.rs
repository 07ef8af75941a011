//! How a session is at a moment, for a caller that asks.

use std::sync::Arc;

use compaction_core::{Settings, TokenCount};
use schemars::JsonSchema;
use serde::Serialize;
use session_model::{Diagnostic, Leaf, SessionTree};
use session_store::OutputStore;
use session_tools::restoring::Disk;

use crate::event::TokenUsage;
use crate::settings::SessionCompaction;

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StateReport {
    /// The session.
    pub session_id: String,
    /// Where it is, or will be after the first answer; null if it is never written.
    pub path: Option<String>,
    /// Whether its file exists.
    pub written: bool,
    /// The folder that the tools work in.
    pub cwd: String,
    /// The model that answers next, as `provider/model`.
    pub model: String,
    /// Its window in tokens; 0 when unknown.
    pub window: u64,
    /// `idle`, `checking`, `promoting`, `storing`, `asking`, `tools`, `stopping`, `compacting`, `navigating` or
    /// `closed`.
    pub state: &'static str,
    /// Whether a turn runs.
    pub in_turn: bool,
    /// How full the window is.
    pub context: ContextReport,
    /// Waiting messages, the oldest first.
    pub queue: Vec<Waiting>,
    /// Whether automatic compactions are switched on.
    pub auto_compaction: bool,
    /// Whether they pause, because three in a row failed.
    pub auto_compaction_stopped: bool,
    /// Tool calls that wait for approval.
    pub approvals: Vec<WaitingCall>,
    /// The leaf; null before all entries.
    pub leaf: Option<String>,
    /// Its entries.
    pub entries: usize,
    /// Billed tokens of this run.
    pub usage: TokenUsage,
    /// Their price in USD, if known.
    pub cost_usd: Option<f64>,
}

/// How full the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextReport {
    /// Tokens of the context.
    pub tokens: u64,
    /// Compaction is due above this; null when the window is unknown.
    pub threshold: Option<u64>,
    /// Whether `tokens` is an estimate; else it was billed.
    pub estimated: bool,
}

/// A waiting message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The id of its future entry.
    pub id: String,
    /// Its text.
    pub text: String,
    /// When it is sent: `prompt`, `steer` or `follow_up`.
    pub delivery: &'static str,
}

/// A tool call that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitingCall {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it would do, such as the command.
    pub subject: String,
}

/// A snapshot of a session, to look into while the session continues.
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
    /// The whole outputs that were cut, where they are in its store.
    pub outputs: Option<Arc<dyn OutputStore>>,
}

/// Snapshots are not compared.
impl PartialEq for Snapshot {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}
