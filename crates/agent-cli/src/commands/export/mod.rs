//! `export`: a session as a page for a browser, or for another agent.

mod page;
mod resumable;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use session_import::Target;

use crate::commands::Outcome;
use crate::error::Error;
use crate::options::{Global, SessionArgs};

#[cfg(feature = "tui")]
pub(super) use page::write_page;

/// Write a session as one page for a browser, or so that pi, Codex or opencode resumes it.
///
/// The page is one file that loads nothing from elsewhere: the tree, the conversation, its compactions, and the size of
/// the context. Keys that are known and <private> spans are left out; everything else that the session says is in it, so
/// read it before you share it. Another agent resumes with the context that the session has here; the report says what
/// that agent cannot be told. The same session gives the same file each time.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Write a page to this new file.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "to",
        conflicts_with_all = ["to", "out"]
    )]
    pub html: Option<PathBuf>,
    /// The agent that resumes it.
    #[arg(long, value_name = "AGENT", requires = "out")]
    pub to: Option<To>,
    /// With --to: write to this new file.
    #[arg(long, value_name = "FILE", requires = "to")]
    pub out: Option<PathBuf>,
}

/// An agent that resumes sessions of others.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum To {
    /// pi, and oh-my-pi.
    Pi,
    /// Codex.
    Codex,
    /// Claude Code.
    Claude,
    /// opencode.
    Opencode,
}

impl To {
    fn target(self) -> Target {
        match self {
            Self::Pi => Target::Pi,
            Self::Codex => Target::Codex,
            Self::Claude => Target::Claude,
            Self::Opencode => Target::Opencode,
        }
    }
}

pub(super) fn run(args: &ExportArgs, global: &Global) -> Result<Outcome, Error> {
    match (&args.html, args.to, &args.out) {
        (Some(file), _, _) => page::run(args, file, global),
        (None, Some(to), Some(out)) => resumable::run(args, to, out, global.output_filter()),
        (None, _, _) => Err(Error::Usage(
            "say where to write with --html FILE, or --to AGENT --out FILE".to_owned(),
        )),
    }
}
