//! `undo`: goes back to before the newest compaction or change of branch. Nothing is deleted.

use compaction_core::{LEAF_ENTRY, PRUNE_ENTRY, TokenCount, leaf_move, measure};
use serde::Serialize;
use serde_json::{Value, json};
use session_model::{
    Diagnostic, EntryBody, EntryId, EntryKind, Leaf, SessionPath, SessionTree, build_context,
    json::RawJson,
};

use crate::args::{Global, UndoArgs};
use crate::commands::{Opened, Outcome};
use crate::error::Error;
use crate::ui::{BOLD, clean, counted, styled, tokens};

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

/// What an undo takes back.
struct Undoable {
    /// Its place on the path.
    place: usize,
    kind: &'static str,
    /// Where the session stood before.
    back_to: Leaf,
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
    let back_to = match found.back_to {
        Leaf::At(index) => Some(EntryId::new(tree.id(index))),
        Leaf::Root => None,
    };
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
    let draft = leaf_move("undo", from.as_ref());
    let ids = opened.commit(&destination, &[draft], back_to.as_ref())?;
    document.leaf_entry_id = ids.first().cloned();
    document.diagnostics = &opened.session().decoded.diagnostics;
    let text = text(&document, !ids.is_empty());
    Ok(Outcome::done(&document, text))
}

/// Returns the newest entry of the path that can be taken back. Only entries that may be one are read.
fn newest_undoable(path: &SessionPath<'_>) -> Option<Undoable> {
    let tree = path.tree();
    let places = path.entries().iter().enumerate().rev();
    let mut candidates = places.filter(|(_, index)| {
        matches!(
            tree.kind(**index),
            EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Custom
        )
    });
    candidates.find_map(|(place, index)| {
        let entry = tree.entry(*index).ok()?;
        let parent = tree.parent(*index).map_or(Leaf::Root, Leaf::At);
        let value = |raw: &RawJson| raw.to_value();
        let (kind, back_to) = match &entry.body {
            EntryBody::Compaction(compaction) => {
                let details = compaction.details.as_ref().map(value);
                let named = named_by(tree, details, "undoTo");
                ("compaction", named.unwrap_or(parent))
            }
            EntryBody::BranchSummary(branch) => {
                let left = tree.find(&branch.from).map(Leaf::At);
                ("branch", left.unwrap_or(parent))
            }
            EntryBody::Custom { custom_type, data } if custom_type == PRUNE_ENTRY => {
                let named = named_by(tree, data.as_ref().map(value), "undoTo");
                ("pruning", named?)
            }
            EntryBody::Custom { custom_type, data } if custom_type == LEAF_ENTRY => {
                let data = data.as_ref().map(value);
                // An undo is not undone by another: the next older step is.
                if data.as_ref().is_some_and(|data| data["reason"] == "undo") {
                    return None;
                }
                ("branch", named_by(tree, data, "from")?)
            }
            _ => return None,
        };
        Some(Undoable {
            place,
            kind,
            back_to,
        })
    })
}

/// Returns the leaf that the member `key` of `data` names, if it names an entry.
fn named_by(tree: &SessionTree, data: Option<Value>, key: &str) -> Option<Leaf> {
    let data = data?;
    let id = data.get(key)?.as_str()?;
    tree.find(id).map(Leaf::At)
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
