//! The changes that an undo takes back and a redo restores: one rule for session files and for a running session.

use crate::{LEAF_ENTRY, PRUNE_ENTRY, RESTORED_CONTEXT, leaf_move};
use serde_json::Value;
use session_model::{
    AgentMessage, EntryBody, EntryDraft, EntryId, EntryIndex, EntryKind, Leaf, SessionPath,
    SessionTree, json::RawJson,
};

/// The reason of the move that an undo writes.
pub const UNDO: &str = "undo";

/// The reason of the move that a redo writes.
pub const REDO: &str = "redo";

/// The reason of the move to the leaf of an imported session.
const IMPORT: &str = "import";

/// The change that an undo takes back.
#[derive(Debug)]
pub struct Undoable {
    /// Its place on the path.
    pub place: usize,
    /// `compaction`, `pruning` or `branch`.
    pub kind: &'static str,
    /// The leaf before the change.
    pub back_to: Leaf,
    /// True if agent-cli wrote it; otherwise another program did.
    pub is_ours: bool,
}

/// The author of the changes that an undo takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those that agent-cli wrote.
    Ours,
    /// Also those of other programs.
    Any,
}

/// The reason why there is nothing to undo.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoUndo {
    /// There is nothing.
    #[error("no compaction, pruning or change of branch on the path")]
    None,
    /// Another program wrote it.
    #[error(
        "the newest {kind} on the path, {id}, was not written by agent-cli; {how} to take it back anyway"
    )]
    NotOurs {
        /// The kind of the change.
        kind: &'static str,
        /// The entry.
        id: EntryId,
        /// What to do to take it back.
        how: &'static str,
    },
}

/// The change that a redo restores.
#[derive(Debug)]
pub struct Redoable {
    /// The leaf before the undo.
    pub forward_to: Leaf,
    /// The entry of the change that was taken back.
    pub redone: EntryId,
    /// `compaction`, `pruning` or `branch`.
    pub kind: &'static str,
}

/// The reason why there is nothing to redo.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRedo {
    /// Nothing was taken back.
    #[error("nothing was undone on the path")]
    NoUndo,
    /// Other work came since.
    #[error(
        "the session has gone on since the newest undo; what was undone ends in entry {0}; go to that entry to continue from it"
    )]
    GoneOn(EntryId),
    /// The undo does not say from where.
    #[error("the newest undo names no entry of this session that it came from")]
    Lost,
}

/// A compaction in whose place another one can be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Replaceable {
    /// The compaction, or the mark of the pruning.
    pub replaced: EntryId,
    /// The leaf at which the other one is planned.
    pub base: Leaf,
    /// The leaf that is left for it; none if the session is already at `base`, by an undo.
    pub from: Option<EntryId>,
    /// The later entries, besides metadata, that are left behind.
    pub left_behind: Vec<EntryId>,
    /// The newest model and thinking level that were set after the base: they stay set.
    pub carried: Vec<EntryDraft>,
}

/// What happens to the entries after a compaction that another one replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// It is not left: there must be none of it.
    Stays,
    /// It is left behind; it is still in the session.
    IsLeft,
}

/// The reason why a compaction cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoReplacing {
    /// There is none.
    #[error("no compaction or pruning on the path")]
    None,
    /// Something came after it.
    #[error(
        "{count} came after {replaced} and would be left behind, as by undo; {how} to do it anyway"
    )]
    Later {
        /// The number of later entries.
        count: String,
        /// The compaction.
        replaced: EntryId,
        /// The text that reports that it is to be left.
        how: &'static str,
    },
}

/// Returns the newest entry of the path that can be taken back. Only entries that may be one are read. `how` says how
/// changes of other programs are asked for.
///
/// # Errors
/// [`NoUndo`] when there is none, or it is not for this user.
pub fn undoable(
    path: &SessionPath<'_>,
    whose: Whose,
    how: &'static str,
) -> Result<Undoable, NoUndo> {
    let found = newest(path, |_| true).ok_or(NoUndo::None)?;
    match found.is_ours || whose == Whose::Any {
        true => Ok(found),
        false => Err(NoUndo::NotOurs {
            kind: found.name(),
            id: EntryId::new(path.tree().id(path.entries()[found.place])),
            how,
        }),
    }
}

impl Undoable {
    /// Returns what it is, as people call it.
    pub fn name(&self) -> &'static str {
        match self.kind {
            "branch" => "change of branch",
            other => other,
        }
    }
}

fn newest(path: &SessionPath<'_>, wanted: impl Fn(&Undoable) -> bool) -> Option<Undoable> {
    let tree = path.tree();
    let places = path.entries().iter().enumerate().rev();
    let mut found = places.filter_map(|(place, index)| undoable_at(tree, place, *index));
    found.find(wanted)
}

fn undoable_at(tree: &SessionTree, place: usize, index: EntryIndex) -> Option<Undoable> {
    let may_be = matches!(
        tree.kind(index),
        EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Custom
    );
    let entry = may_be.then(|| tree.entry(index).ok()).flatten()?;
    let parent = tree.parent(index).map_or(Leaf::Root, Leaf::At);
    // Every summary of agent-cli says where an undo leads.
    let is_ours = |details: Option<&Value>| details.is_some_and(|own| own.get("undoTo").is_some());
    let (kind, back_to, is_ours) = match &entry.body {
        EntryBody::Compaction(compaction) => {
            let details = compaction.details.as_ref().map(RawJson::to_value);
            let named = named_by(tree, details.as_ref(), "undoTo");
            (
                "compaction",
                named.unwrap_or(parent),
                is_ours(details.as_ref()),
            )
        }
        EntryBody::BranchSummary(branch) => {
            let details = branch.details.as_ref().map(RawJson::to_value);
            let left = tree.find(&branch.from).map(Leaf::At);
            ("branch", left.unwrap_or(parent), is_ours(details.as_ref()))
        }
        EntryBody::Custom { custom_type, data } if custom_type == PRUNE_ENTRY => {
            let data = data.as_ref().map(RawJson::to_value);
            ("pruning", named_by(tree, data.as_ref(), "undoTo")?, true)
        }
        EntryBody::Custom { custom_type, data } if custom_type == LEAF_ENTRY => {
            let data = data.as_ref().map(RawJson::to_value);
            // Neither an undo nor a redo is undone by an undo: the next older step is.
            match reason_of(data.as_ref()) {
                Some(UNDO | REDO) => return None,
                reason => {
                    let is_ours = reason != Some(IMPORT);
                    ("branch", named_by(tree, data.as_ref(), "from")?, is_ours)
                }
            }
        }
        _ => return None,
    };
    Some(Undoable {
        place,
        kind,
        back_to,
        is_ours,
    })
}

/// Returns what the newest undo took back, where nothing but metadata came after it.
///
/// # Errors
/// [`NoRedo`] when nothing was undone, or other work came since.
pub fn newest_redoable(path: &SessionPath<'_>) -> Result<Redoable, NoRedo> {
    let tree = path.tree();
    let mut gone_on = false;
    for index in path.entries().iter().rev() {
        let Some(data) = move_at(tree, *index) else {
            gone_on |= !is_metadata(tree, *index);
            continue;
        };
        match reason_of(Some(&data)) {
            Some(REDO) => {}
            Some(UNDO) => {
                let from = named_by(tree, Some(&data), "from").ok_or(NoRedo::Lost)?;
                if gone_on {
                    return Err(NoRedo::GoneOn(
                        tree.leaf_id(from).map(EntryId::new).ok_or(NoRedo::Lost)?,
                    ));
                }
                let before = tree.path(from);
                let undone = newest(&before, |_| true).ok_or(NoRedo::Lost)?;
                return Ok(Redoable {
                    forward_to: from,
                    redone: EntryId::new(tree.id(before.entries()[undone.place])),
                    kind: undone.kind,
                });
            }
            Some(_) | None => gone_on = true,
        }
    }
    Err(NoRedo::NoUndo)
}

/// Returns the compaction in whose place another one is written: the one that was undone last, where nothing came
/// after that, or else the newest on the path. `how` says how it is asked for that later entries are left.
///
/// # Errors
/// [`NoReplacing`] when the path has no compaction, or entries that stay came after it.
pub fn replaceable(
    path: &SessionPath<'_>,
    later: Later,
    how: &'static str,
) -> Result<Replaceable, NoReplacing> {
    let tree = path.tree();
    if let Ok(undone) = newest_redoable(path)
        && matches!(undone.kind, "compaction" | "pruning")
    {
        return Ok(Replaceable {
            replaced: undone.redone,
            base: path.leaf(),
            from: None,
            left_behind: Vec::new(),
            carried: Vec::new(),
        });
    }
    let found = newest(path, |found| found.kind == "compaction")
        .or_else(|| newest(path, |found| found.kind == "pruning"))
        .ok_or(NoReplacing::None)?;
    let replaced = EntryId::new(tree.id(path.entries()[found.place]));
    let after = path.entries()[found.place + 1..].iter();
    let after = after.filter(|index| !is_part_of_compactions(tree, **index));
    let left_behind: Vec<EntryId> = after.map(|index| EntryId::new(tree.id(*index))).collect();
    if later == Later::Stays && !left_behind.is_empty() {
        return Err(NoReplacing::Later {
            count: match left_behind.len() {
                1 => "1 entry".to_owned(),
                count => format!("{count} entries"),
            },
            replaced,
            how,
        });
    }
    Ok(Replaceable {
        replaced,
        base: found.back_to,
        from: path.leaf_id().map(EntryId::new),
        left_behind,
        carried: set_since(path, found.back_to, found.place),
    })
}

/// Returns the newest model and thinking level that the path sets after `base`; after `place` where it leads past that.
fn set_since(path: &SessionPath<'_>, base: Leaf, place: usize) -> Vec<EntryDraft> {
    let (tree, entries) = (path.tree(), path.entries());
    let begin = match base {
        Leaf::Root => 0,
        Leaf::At(base) => entries
            .iter()
            .position(|index| *index == base)
            .unwrap_or(place),
    };
    let newest = |kind: EntryKind| {
        let mut later = entries[begin..].iter().rev();
        let index = later.find(|index| tree.kind(**index) == kind)?;
        match tree.entry(*index).ok()?.body {
            _ if base == Leaf::At(*index) => None,
            EntryBody::ModelChange(model) => Some(EntryDraft::ModelChange(model)),
            EntryBody::ThinkingLevelChange(level) => Some(EntryDraft::ThinkingLevelChange(level)),
            _ => None,
        }
    };
    let kinds = [EntryKind::ModelChange, EntryKind::ThinkingLevelChange];
    kinds.into_iter().filter_map(newest).collect()
}

impl Replaceable {
    /// Returns what precedes the other compaction, in the same write: the move to where it is planned, and what
    /// stays set.
    pub fn lead(&self) -> Vec<EntryDraft> {
        let moved = self.from.as_ref();
        let moved = moved.map(|from| leaf_move(REDO, Some(from)));
        moved.into_iter().chain(self.carried.clone()).collect()
    }

    /// Returns what stays set although it was set after the compaction, in words.
    pub fn carried_names(&self) -> Vec<&'static str> {
        let name = |draft: &EntryDraft| match draft {
            EntryDraft::ModelChange(_) => Some("model"),
            EntryDraft::ThinkingLevelChange(_) => Some("thinking level"),
            _ => None,
        };
        self.carried.iter().filter_map(name).collect()
    }
}

/// Returns true for what says nothing to the model: labels, names, state of extensions, the model that answers; and
/// for what the agent says anew by itself.
fn is_metadata(tree: &SessionTree, index: EntryIndex) -> bool {
    match tree.kind(index) {
        EntryKind::Label
        | EntryKind::SessionInfo
        | EntryKind::ModelChange
        | EntryKind::ThinkingLevelChange
        | EntryKind::Usage => true,
        EntryKind::Custom => !matches!(
            tree.entry(index).map(|entry| entry.body),
            Ok(EntryBody::Custom { custom_type, .. }) if custom_type == PRUNE_ENTRY
        ),
        EntryKind::Message => matches!(
            tree.entry(index).map(|entry| entry.body),
            Ok(EntryBody::Message(message)) if matches!(*message, AgentMessage::System(_))
        ),
        _ => false,
    }
}

/// Returns true for what is made anew with a compaction: metadata, prunings of the context, what was brought back.
fn is_part_of_compactions(tree: &SessionTree, index: EntryIndex) -> bool {
    match tree.kind(index) {
        EntryKind::ContextEdit => true,
        EntryKind::Custom => match move_at(tree, index) {
            Some(data) => matches!(reason_of(Some(&data)), Some(UNDO | REDO)),
            None => true,
        },
        EntryKind::CustomMessage => matches!(
            tree.entry(index).map(|entry| entry.body),
            Ok(EntryBody::CustomMessage(message)) if message.custom_type == RESTORED_CONTEXT
        ),
        _ => is_metadata(tree, index),
    }
}

/// Returns what a move of the leaf says of itself; nothing for any other entry.
fn move_at(tree: &SessionTree, index: EntryIndex) -> Option<Value> {
    if tree.kind(index) != EntryKind::Custom {
        return None;
    }
    match tree.entry(index).ok()?.body {
        EntryBody::Custom { custom_type, data } if custom_type == LEAF_ENTRY => {
            Some(data.as_ref().map(RawJson::to_value).unwrap_or_default())
        }
        _ => None,
    }
}

fn reason_of(data: Option<&Value>) -> Option<&str> {
    data?.get("reason")?.as_str()
}

/// Returns the leaf that the member `key` of `data` names, if it names an entry.
fn named_by(tree: &SessionTree, data: Option<&Value>, key: &str) -> Option<Leaf> {
    let id = data?.get(key)?.as_str()?;
    tree.find(id).map(Leaf::At)
}

#[cfg(test)]
mod tests;
