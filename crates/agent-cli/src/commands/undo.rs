//! `undo`: goes back to before the newest compaction or change of branch. Nothing is deleted.

use clap::Args;
use compaction_core::{TokenCount, leaf_move, measure};
use serde::Serialize;
use serde_json::json;
use session_model::{Diagnostic, EntryId, Leaf, build_context};

use crate::commands::{Opened, Outcome};
use crate::error::Error;
use crate::options::{Global, OutputArgs, SessionArgs};
use crate::ui::{BOLD, clean, counted, styled, tokens};
use agent_session::undoable::{UNDO, id_of, newest_undoable};

/// Go back to before the newest compaction or change of branch.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    undone: EntryId,
    kind: &'static str,
    leaf: Option<EntryId>,
    leaf_entry_id: Option<EntryId>,
    left_behind: Vec<EntryId>,
    tokens_before: TokenCount,
    tokens_after: TokenCount,
    diagnostics: &'a [Diagnostic],
}

pub(super) fn run(args: &UndoArgs, global: &Global) -> Result<Outcome, Error> {
    let destination = args.output.destination("undo")?;
    let mut opened = Opened::open(&args.session.session, &destination)?;
    let profile = global.profile();
    let tree = opened.session().tree();
    let path = tree.path(args.session.leaf(tree)?);
    let Some(found) = newest_undoable(&path) else {
        let reason = "no compaction, pruning or change of branch on the path".to_owned();
        return Ok(Outcome::nothing_to_do(
            reason,
            json!({ "diagnostics": opened.session().decoded.diagnostics }),
        ));
    };
    let tokens_at = |leaf: Leaf| {
        let path = tree.path(leaf);
        let context = build_context(&path, profile.context_rules());
        measure(&path, &context, profile).tokens
    };
    let id_at = |place: usize| EntryId::new(tree.id(path.entries()[place]));
    let back_to = id_of(tree, found.back_to);
    let mut document = Document {
        undone: id_at(found.place),
        kind: found.kind,
        leaf: back_to.clone(),
        leaf_entry_id: None,
        left_behind: (found.place + 1..path.entries().len()).map(id_at).collect(),
        tokens_before: tokens_at(path.leaf()),
        tokens_after: tokens_at(found.back_to),
        diagnostics: &[],
    };
    let from = path.leaf_id().map(EntryId::new);
    let draft = leaf_move(UNDO, from.as_ref());
    let ids = opened.commit(&destination, &[draft], back_to.as_ref())?;
    document.leaf_entry_id = ids.first().cloned();
    document.diagnostics = &opened.session().decoded.diagnostics;
    let text = text(&document, !ids.is_empty());
    Ok(Outcome::done(&document, text))
}

fn text(document: &Document<'_>, written: bool) -> String {
    let verb = if written { "undone" } else { "would be undone" };
    let what = match document.kind {
        "compaction" => "compaction",
        "pruning" => "pruning",
        _ => "change of branch",
    };
    let headline = format!(
        "{verb}: {what} {}   {} -> {} tokens",
        clean(&document.undone),
        tokens(document.tokens_before),
        tokens(document.tokens_after)
    );
    let mut out = format!("{}\n", styled(BOLD, &headline));
    let place = document
        .leaf
        .as_ref()
        .map_or("the beginning", |id| id.as_str());
    out.push_str(&format!("   back at      {}\n", clean(place)));
    if !document.left_behind.is_empty() {
        out.push_str(&format!(
            "   left behind  {} that came after it; still in the file, agent-cli tree shows them\n",
            counted(document.left_behind.len(), "entry")
        ));
    }
    out
}
