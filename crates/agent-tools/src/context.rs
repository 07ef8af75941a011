//! The environment of a tool call, and its limits.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use llm_providers::{CancellationToken, Redactor};
use session_model::{Leaf, SessionTree};

use crate::approval::Approvals;
use crate::live::LiveOutput;
use crate::workspace::Workspace;

/// The environment of a tool call.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The folder that tools stay in.
    pub workspace: Arc<Workspace>,
    /// Ends a running call.
    pub cancel: CancellationToken,
    /// The limits of a call's arguments and result.
    pub limits: ToolLimits,
    /// Decides about calls that have to be allowed.
    pub approvals: Approvals,
    /// The folder for the whole text of output that was cut; without one that text is lost.
    pub overflow: Option<PathBuf>,
    /// Such text, and earlier sessions, in the store of the session.
    pub archive: Option<Arc<dyn Archive>>,
    /// Returns true if a folder holds such text of another session that works in a folder (the second path).
    pub holds_outputs: Option<fn(&Path, &Path) -> bool>,
    /// Environment variables that never reach a command, in addition to those with the name of a secret.
    pub secret_variables: Vec<String>,
    /// Removes keys from the result of a call.
    pub redactor: Arc<Redactor>,
    /// The session as it was when the calls began, for tools that read it; `None` without a session.
    pub history: Option<Arc<History>>,
    /// The receiver of the output of the running call.
    pub live: LiveOutput,
}

impl ToolContext {
    /// Returns a context with the default limits, without an archive and without a receiver of live output.
    pub fn new(workspace: impl Into<Arc<Workspace>>, approvals: Approvals) -> Self {
        Self {
            workspace: workspace.into(),
            cancel: CancellationToken::new(),
            limits: ToolLimits::default(),
            approvals,
            overflow: None,
            archive: None,
            holds_outputs: None,
            secret_variables: Vec::new(),
            redactor: Arc::default(),
            history: None,
            live: LiveOutput::default(),
        }
    }
}

/// What is kept of sessions in their store. Its methods wait for it.
pub trait Archive: fmt::Debug + Send + Sync {
    /// Returns the whole text of an output, by the name of its file; `None` where it is not stored.
    fn output(&self, name: &str) -> Option<Vec<u8>>;

    /// Returns the session at an address; `None` where it cannot be read.
    fn session(&self, at: &str) -> Option<SessionTree>;
}

/// Limits of a call's arguments and result.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// The longest text of a result without notices, in bytes.
    pub output_bytes: usize,
    /// The most lines of a result without notices.
    pub output_lines: usize,
    /// The longest line of a result, in characters.
    pub line_chars: usize,
    /// The most that is kept of a command's output in the overflow folder, in bytes.
    pub full_output_bytes: u64,
    /// The largest image that is shown, in bytes.
    pub image_bytes: u64,
    /// The largest file that is edited, in bytes.
    pub edit_bytes: u64,
    /// The default time limit of a command.
    pub bash_timeout: Duration,
    /// The longest time limit that a call may request.
    pub bash_timeout_most: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            output_bytes: 50_000,
            output_lines: 2000,
            line_chars: 2000,
            full_output_bytes: 100_000_000,
            image_bytes: 5_000_000,
            edit_bytes: 10_000_000,
            bash_timeout: Duration::from_secs(120),
            bash_timeout_most: Duration::from_secs(600),
        }
    }
}

/// A session at one of its entries.
#[derive(Debug, Clone)]
pub struct History {
    /// All entries, including those of other branches and those that compactions removed from the context.
    pub tree: SessionTree,
    /// The current leaf.
    pub leaf: Leaf,
}
