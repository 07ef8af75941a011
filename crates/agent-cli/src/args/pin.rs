//! What is pinned, and what is done again.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{ModelArgs, OutputArgs, SessionArgs, WindowArgs};

/// Arguments of `pin`.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("what").required(true).args(["entry", "text", "list", "remove"])),
    override_usage = "agent-cli pin [OPTIONS] <SESSION> <ENTRY-ID | --text TEXT | --list | --remove ENTRY-ID>"
)]
pub struct PinArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The entry to pin: a message, a tool result or a summary. `agent-cli tree` lists the ids.
    #[arg(value_name = "ENTRY-ID")]
    pub entry: Option<String>,
    /// Pin a text of its own.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// List the pins, with their tokens and how much of the budget is used.
    #[arg(long, conflicts_with = "output")]
    pub list: bool,
    /// Unpin this entry, or the text that it holds.
    #[arg(long, value_name = "ENTRY-ID")]
    pub remove: Option<String>,
    /// The window, of which the budget is a share.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `redo`.
#[derive(Debug, Args)]
pub struct RedoArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Compact by this strategy in the place of the newest compaction, or of the one that was undone last:
    /// context-full, extractive, restore or prune-only; of several, parted by commas, each takes over where the one
    /// before brings nothing.
    #[arg(long, value_name = "NAMES")]
    pub strategy: Option<String>,
    /// Where restore reads the files that were touched; the session's own folder unless given.
    #[arg(long, value_name = "DIR", requires = "strategy")]
    pub workspace: Option<PathBuf>,
    /// What the summary should focus on.
    #[arg(
        long,
        value_name = "TEXT",
        requires = "strategy",
        allow_hyphen_values = true
    )]
    pub focus: Option<String>,
    /// Leave behind what came after the newest compaction; it stays in the file.
    #[arg(long, requires = "strategy")]
    pub leave_later: bool,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Who writes the summary.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}
