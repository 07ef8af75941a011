//! The rows of a session's tree: a turn each, in the order of the screen.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use compaction_core::{Profile, TokenCount};

use session_model::text::first_line;
use session_model::{AgentMessage, EntryId, EntryIndex, EntryKind, Leaf, SessionTree, StatedRole};

use super::entry_line;

/// The most characters of a row's text.
const TEXT: usize = 160;

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// A turn.
    Turn,
    /// A compaction, and what follows it up to the next turn.
    Compaction,
    /// The summary of a branch.
    Branch,
    /// Entries that belong to no turn.
    Other,
}

/// A row of the tree. What it says is read once it is drawn or searched: sessions have a hundred thousand entries.
#[derive(Debug, Clone)]
pub struct TreeRow {
    /// Its first entry.
    pub first: EntryIndex,
    /// Its last entry: where a move to this row leads.
    pub last: EntryIndex,
    /// What it is.
    pub rank: Rank,
    /// The label.
    pub label: Option<String>,
    /// How far it is indented.
    pub depth: usize,
    /// Whether it is the first of its branch.
    pub opens: bool,
    /// Whether it is on the path to where the session stands.
    pub is_active: bool,
    /// Whether the session stands there.
    pub is_here: bool,
    /// Whether anybody but the system says anything in it.
    says: bool,
    /// How many tools were called.
    pub tools: usize,
    text: OnceCell<String>,
    came: OnceCell<Came>,
}

/// What came of a turn.
#[derive(Debug, Clone, Default)]
pub struct Came {
    /// The first line of the newest answer, without control characters.
    pub answer: String,
    /// Its tokens.
    pub tokens: TokenCount,
}

/// The deepest indentation: deeper branches are in one column, not in a wider and wider margin.
const DEEPEST: usize = 10;

impl TreeRow {
    /// Returns what precedes its text: the indentation, and a letter that says what it is.
    pub fn lead(&self) -> (String, char) {
        let lead = match (self.depth.min(DEEPEST), self.opens) {
            (0, _) => String::new(),
            (depth, true) => format!("{}+-", "| ".repeat(depth - 1)),
            (depth, false) => "| ".repeat(depth),
        };
        let mark = match (self.rank, self.is_active, self.is_here) {
            (_, _, true) => '@',
            (Rank::Compaction, ..) => 'C',
            (Rank::Branch, ..) => 's',
            (Rank::Turn | Rank::Other, true, false) => 'o',
            (Rank::Turn | Rank::Other, false, false) => 'x',
        };
        (lead, mark)
    }

    /// Returns whether a text in lower case occurs in it.
    pub fn matches(&self, tree: &SessionTree, query: &str) -> bool {
        let label = self.label.as_deref().unwrap_or_default();
        self.text(tree).to_lowercase().contains(query) || label.to_lowercase().contains(query)
    }

    /// Returns the first line of what was said, without control characters.
    pub fn text(&self, tree: &SessionTree) -> &str {
        self.text.get_or_init(|| {
            let line = entry_line(tree, self.first, TEXT);
            match self.rank {
                Rank::Compaction => format!("compacted {line}"),
                Rank::Branch => format!("branch summary: {line}"),
                Rank::Turn => line,
                Rank::Other if line.trim().is_empty() => "(nothing said here yet)".to_owned(),
                Rank::Other => format!("({}) {line}", tree.kind(self.first).name()),
            }
        })
    }

    /// Returns what came of it.
    pub fn came(&self, tree: &SessionTree) -> &Came {
        self.came.get_or_init(|| {
            let mut came = Came::default();
            let mut at = Some(self.last);
            while let Some(index) = at {
                let messages = tree.entry(index).map(|entry| entry.messages());
                if let Some(message) = messages.ok().and_then(|mut messages| messages.pop()) {
                    came.tokens += Profile::Own.counter().message(&message);
                    if let AgentMessage::Assistant(answer) = &*message
                        && came.answer.is_empty()
                    {
                        came.answer = first_line(&answer.content.joined_text("\n"), TEXT);
                    }
                }
                at = tree.parent(index).filter(|_| index != self.first);
            }
            came
        })
    }
}

/// Returns the rows of a tree that stands at a leaf; `is_turn` says which messages with the role of the user begin one.
pub fn tree_rows(
    tree: &SessionTree,
    leaf: Leaf,
    is_turn: &dyn Fn(EntryIndex) -> bool,
) -> Vec<TreeRow> {
    let path = tree.path(leaf);
    let mut is_active = vec![false; tree.len()];
    for index in path.entries() {
        is_active[index.as_usize()] = true;
    }
    let mut builder = Builder {
        tree,
        children: tree.children(),
        is_active,
        leaf: path.entries().last().copied(),
        labels: tree.labels(),
        is_turn,
        rows: Vec::new(),
    };
    // Depth first without recursion: sessions are deeper than stacks.
    let mut work = Vec::new();
    builder.push_children(None, 0, &mut work);
    while let Some((first, depth, opens)) = work.pop() {
        let last = builder.chain(first, depth, opens);
        builder.push_children(Some(last), depth, &mut work);
    }
    builder.rows
}

struct Builder<'a> {
    tree: &'a SessionTree,
    children: BTreeMap<Option<EntryIndex>, Vec<EntryIndex>>,
    is_active: Vec<bool>,
    leaf: Option<EntryIndex>,
    labels: BTreeMap<EntryId, String>,
    is_turn: &'a dyn Fn(EntryIndex) -> bool,
    rows: Vec<TreeRow>,
}

impl Builder<'_> {
    /// Puts the children of an entry on the pile: those that were left come first on the screen, indented, the path
    /// that goes on last, without more indentation.
    fn push_children(
        &self,
        parent: Option<EntryIndex>,
        depth: usize,
        work: &mut Vec<(EntryIndex, usize, bool)>,
    ) {
        let Some(children) = self.children.get(&parent) else {
            return;
        };
        let active = children
            .iter()
            .find(|child| self.is_active[child.as_usize()]);
        let Some(main) = active.or(children.last()) else {
            return;
        };
        work.push((*main, depth, false));
        let others = children.iter().filter(|child| *child != main);
        work.extend(others.rev().map(|child| (*child, depth + 1, true)));
    }

    /// Adds the rows from an entry to the next fork; returns the last entry.
    fn chain(&mut self, first: EntryIndex, depth: usize, opens: bool) -> EntryIndex {
        let mut at = first;
        let mut opens = opens;
        let mut row: Option<TreeRow> = None;
        loop {
            let (kind, role) = (self.tree.kind(at), self.tree.role(at));
            let rank = rank(kind, role);
            let rank = rank.filter(|rank| *rank != Rank::Turn || (self.is_turn)(at));
            if rank.is_some() || row.is_none() {
                self.finish(row.take(), &mut opens);
                row = Some(row_of(at, rank.unwrap_or(Rank::Other), depth));
            }
            if let Some(row) = &mut row {
                row.last = at;
                row.is_here |= self.leaf == Some(at);
                row.is_active |= self.is_active[at.as_usize()];
                row.says |= says(kind) && role != Some(StatedRole::System);
                row.tools += usize::from(role == Some(StatedRole::ToolResult));
                if row.label.is_none() && !self.labels.is_empty() {
                    let id = EntryId::new(self.tree.id(at));
                    row.label = self.labels.get(&id).cloned();
                }
            }
            match self.children.get(&Some(at)).map(Vec::as_slice) {
                Some([only]) => at = *only,
                _ => break,
            }
        }
        self.finish(row, &mut opens);
        at
    }

    /// Adds a row. One that says nothing is left out; where the session is at it, it is at the row before.
    fn finish(&mut self, row: Option<TreeRow>, opens: &mut bool) {
        let Some(mut row) = row else {
            return;
        };
        if row.rank == Rank::Other && !row.says {
            if !row.is_here {
                return;
            }
            let parent = |at: EntryIndex| self.tree.parent(at);
            let before = std::iter::successors(parent(row.first), |at| parent(*at));
            let rows = &self.rows;
            let mut shown = before.filter_map(|at| rows.iter().rposition(|row| row.last == at));
            if let Some(shown) = shown.next() {
                self.rows[shown].is_here = true;
                return;
            }
        }
        row.opens = std::mem::take(opens);
        self.rows.push(row);
    }
}

fn row_of(at: EntryIndex, rank: Rank, depth: usize) -> TreeRow {
    TreeRow {
        first: at,
        last: at,
        rank,
        label: None,
        depth,
        opens: false,
        is_active: false,
        is_here: false,
        says: false,
        tools: 0,
        text: OnceCell::new(),
        came: OnceCell::new(),
    }
}

/// Returns what begins with an entry, if anything does.
fn rank(kind: EntryKind, role: Option<StatedRole>) -> Option<Rank> {
    match (kind, role) {
        (_, Some(StatedRole::User | StatedRole::BashExecution)) => Some(Rank::Turn),
        (EntryKind::Compaction, _) => Some(Rank::Compaction),
        (EntryKind::BranchSummary, _) => Some(Rank::Branch),
        _ => None,
    }
}

/// Returns whether entries of a kind are messages to a model.
fn says(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Message
            | EntryKind::CustomMessage
            | EntryKind::BranchSummary
            | EntryKind::Compaction
    )
}
