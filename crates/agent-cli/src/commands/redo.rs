//! `redo`: reapplies the last undo, or replaces the newest compaction by one of another strategy.

use std::path::PathBuf;

use clap::Args;

use crate::commands::compact::CompactArgs;
use crate::commands::plan::PlanArgs;
use crate::commands::undo::{Direction, move_leaf};
use crate::commands::{Outcome, compact};
use crate::error::Error;
use crate::models::ModelArgs;
use crate::options::{Global, OutputArgs, SessionArgs, WindowArgs};
use compaction_core::undoable::Later;

/// Reapply the last undo, or replace the newest compaction by one of another strategy.
#[derive(Debug, Args)]
pub struct RedoArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Compact by this strategy in place of the newest compaction, or of the one that was undone last:
    /// comma-separated strategies, tried in order until one succeeds: context-full, restore, extractive, prune-only.
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
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub(super) fn run(args: &RedoArgs, global: &Global) -> Result<Outcome, Error> {
    if let Some(strategy) = &args.strategy {
        return instead(strategy, args, global);
    }
    if !args.model.models.is_empty() {
        return Err(Error::Usage(
            "--model writes a summary, but what was undone has one: leave it out, or give --strategy too"
                .to_owned(),
        ));
    }
    move_leaf(&Direction::Redo, &args.session, &args.output, global)
}

/// Compacts in place of the newest compaction.
fn instead(strategy: &str, args: &RedoArgs, global: &Global) -> Result<Outcome, Error> {
    let later = match args.leave_later {
        true => Later::IsLeft,
        false => Later::Stays,
    };
    let compacting = CompactArgs {
        plan: PlanArgs {
            session: args.session.clone(),
            window: args.window.clone(),
            focus: args.focus.clone(),
            strategy: Some(strategy.to_owned()),
            workspace: args.workspace.clone(),
        },
        model: args.model.clone(),
        output: args.output.clone(),
    };
    compact::run_at(&compacting, "redo", global, Some(later))
}
