//! Arguments of `servers`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `servers`.
#[derive(Debug, Args)]
pub struct ServersArgs {
    /// The folder that they run in; this one unless given.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}
