//! The arguments of `hooks`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hooks::HookPoint;

/// Arguments of `hooks`.
#[derive(Debug, Args)]
pub struct HooksArgs {
    /// What to do with hooks.
    #[command(subcommand)]
    pub command: HooksCommand,
}

/// What to do with hooks.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// List the hooks of the settings: where each is asked, what it runs, and where it is set.
    List,
    /// Run the hooks of one point with an example, and show what they answer and what would come of it.
    Test(HooksTestArgs),
}

/// Arguments of `hooks test`.
#[derive(Debug, Args)]
pub struct HooksTestArgs {
    /// The point, for example tool_call or session_before_compact.
    pub point: HookPoint,
    /// Run only this hook, whether or not its pattern and folder fit.
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Take the example from this session instead of a made-up one.
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Give the hooks this JSON object as it stands, from a file or, for -, from standard input.
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
}
