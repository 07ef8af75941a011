//! The rows of a tree: a turn each, in the order of the screen.

use std::collections::BTreeMap;

use compaction_core::{Profile, TokenCount};
use session_model::text::first_line;
use session_model::{AgentMessage, Entry, EntryBody, EntryId, EntryIndex, Leaf, SessionTree};

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

/// A row of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeRow {
    /// Its first entry.
    pub first: String,
    /// Its last entry: where a move to this row leads.
    pub last: String,
    /// What it is.
    pub rank: Rank,
    /// The first line of what was said, without control characters.
    pub text: String,
    /// The first line of the newest answer in it, without control characters.
    pub answer: String,
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
    /// Whether it holds nothing but the system message.
    pub is_system: bool,
    /// How many tools were called.
    pub tools: usize,
    /// Its tokens.
    pub tokens: TokenCount,
}

impl TreeRow {
    /// Returns whether a text in lower case occurs in it.
    pub fn matches(&self, query: &str) -> bool {
        let label = self.label.as_deref().unwrap_or_default();
        self.text.to_lowercase().contains(query) || label.to_lowercase().contains(query)
    }
}

/// Returns the rows of a tree that stands at a leaf.
pub(super) fn rows(tree: &SessionTree, leaf: Leaf) -> Vec<TreeRow> {
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
            let entry = self.tree.entry(at).ok();
            let rank = rank(entry.as_ref());
            if rank.is_some() || row.is_none() {
                self.finish(row.take(), &mut opens);
                row = Some(self.row(at, entry.as_ref(), rank.unwrap_or(Rank::Other), depth));
            }
            if let Some(row) = &mut row {
                row.last = self.tree.id(at).to_owned();
                row.is_here |= self.leaf == Some(at);
                row.is_active |= self.is_active[at.as_usize()];
                if let Some(message) = entry.as_ref().and_then(|entry| entry.messages().pop()) {
                    row.is_system &= matches!(*message, AgentMessage::System(_));
                    row.tokens += Profile::Own.counter().message(&message);
                    if let AgentMessage::Assistant(answer) = &*message {
                        let text = first_line(&answer.content.joined_text("\n"), TEXT);
                        if !text.is_empty() {
                            row.answer = text;
                        }
                    }
                    row.tools += usize::from(matches!(*message, AgentMessage::ToolResult(_)));
                }
                let id = EntryId::new(self.tree.id(at));
                if row.label.is_none() {
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

    /// Adds a row; one that says nothing is left out unless the session stands there.
    fn finish(&mut self, row: Option<TreeRow>, opens: &mut bool) {
        let Some(mut row) = row else {
            return;
        };
        let says_nothing =
            row.rank == Rank::Other && (row.tokens == TokenCount::ZERO || row.is_system);
        if says_nothing && !row.is_here {
            return;
        }
        row.opens = std::mem::take(opens);
        self.rows.push(row);
    }

    fn row(&self, at: EntryIndex, entry: Option<&Entry>, rank: Rank, depth: usize) -> TreeRow {
        let text = entry.map_or_else(|| "(cannot be read)".to_owned(), text_of);
        let text = match rank {
            Rank::Compaction => format!("compacted: {}", first_line(&text, TEXT)),
            Rank::Branch => format!("branch summary: {}", first_line(&text, TEXT)),
            Rank::Turn => first_line(&text, TEXT),
            Rank::Other if text.trim().is_empty() => "(nothing said here yet)".to_owned(),
            Rank::Other => format!(
                "({}) {}",
                self.tree.kind(at).name(),
                first_line(&text, TEXT)
            ),
        };
        TreeRow {
            first: self.tree.id(at).to_owned(),
            last: String::new(),
            rank,
            text,
            answer: String::new(),
            label: None,
            depth,
            opens: false,
            is_active: false,
            is_here: false,
            is_system: true,
            tools: 0,
            tokens: TokenCount::ZERO,
        }
    }
}

/// Returns what begins with an entry, if anything does.
fn rank(entry: Option<&Entry>) -> Option<Rank> {
    match &entry?.body {
        EntryBody::Message(message) => match &**message {
            AgentMessage::User(_) | AgentMessage::BashExecution(_) => Some(Rank::Turn),
            _ => None,
        },
        EntryBody::Compaction(_) => Some(Rank::Compaction),
        EntryBody::BranchSummary(_) => Some(Rank::Branch),
        _ => None,
    }
}

/// Returns what an entry says.
pub fn text_of(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Compaction(compaction) => compaction
            .short_summary
            .clone()
            .unwrap_or_else(|| compaction.summary.clone()),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::Message(message) => message.display_text(),
        _ => String::new(),
    }
}
