//! `redo`: brings again what was undone last, or compacts by another strategy in the place of the newest compaction.

use std::path::PathBuf;

use clap::Args;
use compaction_core::{TokenCount, leaf_move, measure};
use serde::Serialize;
use serde_json::json;
use session_model::{Diagnostic, EntryId, Leaf, build_context};

use crate::commands::compact::CompactArgs;
use crate::commands::plan::PlanArgs;
use crate::commands::{Opened, Outcome, compact};
use crate::error::Error;
use crate::models::ModelArgs;
use crate::options::{Global, OutputArgs, SessionArgs, WindowArgs};
use crate::ui::{BOLD, clean, styled, tokens};
use agent_session::undoable::{Later, NoReplacing, REDO, id_of, newest_redoable, replaceable};

/// Bring again what was undone last, or compact by another strategy in the place of the newest compaction.
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

/// How it is said that what came later is left behind.
const LEAVE: &str = "give --leave-later";

#[derive(Serialize)]
struct Document<'a> {
    redone: EntryId,
    kind: &'static str,
    leaf: Option<EntryId>,
    leaf_entry_id: Option<EntryId>,
    tokens_before: TokenCount,
    tokens_after: TokenCount,
    diagnostics: &'a [Diagnostic],
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
    let destination = args.output.destination("redo")?;
    let mut opened = Opened::open(&args.session.session, &destination)?;
    let profile = global.profile();
    let tree = opened.session().tree();
    let path = tree.path(args.session.leaf(tree)?);
    let found = match newest_redoable(&path) {
        Ok(found) => found,
        Err(error) => {
            let diagnostics = &opened.session().decoded.diagnostics;
            return Ok(Outcome::nothing_to_do(
                error.to_string(),
                json!({ "diagnostics": diagnostics }),
            ));
        }
    };
    let tokens_at = |leaf: Leaf| {
        let path = tree.path(leaf);
        let context = build_context(&path, profile.context_rules());
        measure(&path, &context, profile).tokens
    };
    let forward_to = id_of(tree, found.forward_to);
    let mut document = Document {
        redone: found.redone,
        kind: found.kind,
        leaf: forward_to.clone(),
        leaf_entry_id: None,
        tokens_before: tokens_at(path.leaf()),
        tokens_after: tokens_at(found.forward_to),
        diagnostics: &[],
    };
    let from = path.leaf_id().map(EntryId::new);
    let draft = leaf_move(REDO, from.as_ref());
    let ids = opened.commit(&destination, &[draft], forward_to.as_ref())?;
    document.leaf_entry_id = ids.first().cloned();
    document.diagnostics = &opened.session().decoded.diagnostics;
    let text = text(&document);
    Ok(Outcome::done(&document, text))
}

fn text(document: &Document<'_>) -> String {
    let verb = match document.leaf_entry_id {
        Some(_) => "redone",
        None => "would be redone",
    };
    let what = match document.kind {
        "branch" => "change of branch",
        other => other,
    };
    let headline = format!(
        "{verb}: {what} {}   {} -> {} tokens",
        clean(&document.redone),
        tokens(document.tokens_before),
        tokens(document.tokens_after)
    );
    let place = document
        .leaf
        .as_ref()
        .map_or("the beginning", |id| id.as_str());
    format!(
        "{}\n   forward to   {}\n",
        styled(BOLD, &headline),
        clean(place)
    )
}

/// Compacts in the place of the newest compaction.
fn instead(strategy: &str, args: &RedoArgs, global: &Global) -> Result<Outcome, Error> {
    let later = match args.leave_later {
        true => Later::IsLeft,
        false => Later::Stays,
    };
    let compacting = CompactArgs {
        plan: PlanArgs {
            session: SessionArgs {
                session: args.session.session.clone(),
                leaf: args.session.leaf.clone(),
            },
            window: WindowArgs {
                window: args.window.window,
            },
            focus: args.focus.clone(),
            strategy: Some(strategy.to_owned()),
            workspace: args.workspace.clone(),
        },
        model: args.model.clone(),
        output: OutputArgs {
            out: args.output.out.clone(),
            in_place: args.output.in_place,
            dry_run: args.output.dry_run,
        },
    };
    compact::run_at(&compacting, "redo", global, |path| {
        let found = replaceable(path, later, LEAVE);
        found.map(Some).map_err(|error| match error {
            NoReplacing::None => compact::NoPlace::Nothing(error.to_string()),
            NoReplacing::Later { .. } => compact::NoPlace::Refused(error.to_string()),
        })
    })
}
