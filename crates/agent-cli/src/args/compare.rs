//! Options of `loss` and `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ModelArgs, SessionArgs, WindowArgs};

/// Options of `loss`.
#[derive(Debug, Args)]
pub struct LossArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Show what other summaries would keep in as many tokens as the session's own: `extractive` for the built-in
    /// rules with a ledger.
    #[arg(long, value_enum, value_name = "WHOSE")]
    pub against: Option<AgainstArg>,
}

/// Whose summaries the session's own are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgainstArg {
    /// Those of the built-in rules, with a ledger.
    Extractive,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The strategies, parted by commas: context-full, restore, extractive, prune-only.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "context-full,extractive,prune-only"
    )]
    pub strategies: Vec<String>,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// What the summaries should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    /// Where restore reads the files that were touched; the session's own folder unless given.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Who writes the summaries of context-full and restore.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Write the comparison to this new file, as a page for a browser.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
