//! `undo`: goes back to before the newest compaction or change of branch. Nothing is deleted.

use clap::Args;
use compaction_core::{leaf_move, measure};
use serde_json::json;
use session_model::{EntryId, Leaf, SessionPath, build_context};

use crate::commands::{Opened, Outcome};
use crate::error::Error;
use crate::options::{Global, OutputArgs, SessionArgs};
use crate::ui::{BOLD, clean, counted, styled, tokens};
use compaction_core::undoable::{NoUndo, REDO, UNDO, Whose, newest_redoable, undoable};

/// Go back to before the newest compaction or change of branch that agent-cli wrote.
#[derive(Debug, Args)]
pub struct UndoArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Go back also where another program wrote the newest.
    #[arg(long)]
    pub any: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which way the leaf moves.
pub(super) enum Direction {
    /// To before what is undone.
    Undo(Whose),
    /// To where the session stood before the undo.
    Redo,
}

/// The move of the leaf that an undo or a redo writes.
struct Step {
    /// What is undone or redone.
    of: EntryId,
    /// `compaction`, `pruning` or `branch`.
    kind: &'static str,
    /// Whose it is, where an undo takes it back.
    is_ours: Option<bool>,
    to: Leaf,
    left_behind: Vec<EntryId>,
}

pub(super) fn run(args: &UndoArgs, global: &Global) -> Result<Outcome, Error> {
    let whose = if args.any { Whose::Any } else { Whose::Ours };
    move_leaf(&Direction::Undo(whose), &args.session, &args.output, global)
}

fn step(path: &SessionPath<'_>, direction: &Direction) -> Result<Result<Step, String>, Error> {
    let id_at = |place: usize| EntryId::new(path.tree().id(path.entries()[place]));
    Ok(match direction {
        Direction::Undo(whose) => match undoable(path, *whose, "give --any") {
            Err(error @ NoUndo::NotOurs { .. }) => return Err(Error::Usage(error.to_string())),
            Err(error) => Err(error.to_string()),
            Ok(found) => Ok(Step {
                of: id_at(found.place),
                kind: found.kind,
                is_ours: Some(found.is_ours),
                to: found.back_to,
                left_behind: (found.place + 1..path.entries().len()).map(id_at).collect(),
            }),
        },
        Direction::Redo => match newest_redoable(path) {
            Err(error) => Err(error.to_string()),
            Ok(found) => Ok(Step {
                of: found.redone,
                kind: found.kind,
                is_ours: None,
                to: found.forward_to,
                left_behind: Vec::new(),
            }),
        },
    })
}

/// Undoes or redoes the newest step.
pub(super) fn move_leaf(
    direction: &Direction,
    session: &SessionArgs,
    output: &OutputArgs,
    global: &Global,
) -> Result<Outcome, Error> {
    let (reason, done, arrived) = match direction {
        Direction::Undo(_) => (UNDO, "undone", "back at"),
        Direction::Redo => (REDO, "redone", "forward to"),
    };
    let destination = output.destination(reason)?;
    let mut opened = Opened::open(&session.session, &destination)?;
    let profile = global.profile();
    let tree = opened.tree();
    let path = tree.path(session.leaf(tree)?);
    let step = match step(&path, direction)? {
        Ok(step) => step,
        Err(reason) => {
            let document = json!({ "diagnostics": opened.diagnostics() });
            return Ok(Outcome::nothing_to_do(reason, document).of(opened.report()));
        }
    };
    let tokens_at = |leaf: Leaf| {
        let path = tree.path(leaf);
        let context = build_context(&path, profile.context_rules());
        measure(&path, &context, profile).estimated
    };
    let to = tree.leaf_id(step.to).map(EntryId::new);
    let (before, after) = (tokens_at(path.leaf()), tokens_at(step.to));
    let draft = leaf_move(reason, path.leaf_id().map(EntryId::new).as_ref());
    let ids = opened.commit(&destination, &[draft], to.as_ref(), global.output_filter())?;
    let mut document = json!({
        "kind": step.kind,
        "leaf": to,
        "leaf_entry_id": ids.first(),
        "tokens_before": before,
        "tokens_after": after,
        "diagnostics": opened.diagnostics(),
    });
    document[done] = json!(step.of);
    if let Some(is_ours) = step.is_ours {
        document["left_behind"] = json!(step.left_behind);
        document["is_ours"] = json!(is_ours);
    }
    let verb = if ids.is_empty() { "would be " } else { "" };
    let what = match step.kind {
        "branch" => "change of branch",
        other => other,
    };
    let whose = match step.is_ours {
        Some(true) => " of agent-cli",
        Some(false) => " of another program",
        None => "",
    };
    let headline = format!(
        "{verb}{done}: {what} {}{whose}   {} -> {} tokens",
        clean(&step.of),
        tokens(before),
        tokens(after)
    );
    let place = to.as_deref().unwrap_or("the beginning");
    let mut text = format!(
        "{}\n   {arrived:<12} {}\n",
        styled(BOLD, &headline),
        clean(place)
    );
    if !step.left_behind.is_empty() {
        text.push_str(&format!(
            "   left behind  {} that came after it; still in the file, agent-cli tree shows them\n",
            counted(step.left_behind.len(), "entry")
        ));
    }
    Ok(Outcome::done(&document, text).of(opened.report()))
}
