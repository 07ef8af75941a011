//! Paths through the tree: from a root to a leaf.

use std::sync::{Arc, OnceLock};

use crate::entry::EntryKind;
use crate::tree::{EntryIndex, Leaf, SessionTree};

/// The entries from a root to a leaf.
#[derive(Debug, Clone)]
pub struct SessionPath<'a> {
    tree: &'a SessionTree,
    /// The entries of this path, and of one that goes on from it.
    entries: Arc<Vec<EntryIndex>>,
    len: usize,
}

/// How much of a path was read that grows.
#[derive(Debug, Clone, Copy, Default)]
pub struct PathMark(Option<(usize, EntryIndex)>);

impl PathMark {
    /// Marks a path as read, and returns the first place on it that was not; `None` where another path was read before.
    pub fn advance(&mut self, path: &SessionPath<'_>) -> Option<usize> {
        let entries = path.entries();
        let last = entries.last().map(|last| (entries.len(), *last));
        let read = std::mem::replace(&mut self.0, last);
        let read = read.filter(|(count, last)| entries.get(count - 1) == Some(last));
        read.map(|(count, _)| count)
    }
}

/// A turn on a path: what a user asked for and everything up to the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Where the turn starts, as a place on the path.
    pub start: usize,
    /// The place just after its last entry.
    pub end: usize,
}

impl SessionTree {
    /// Returns the path that ends at `leaf`. The one that ends at the last entry, where a session grows, is
    /// walked once and kept.
    pub fn path(&self, leaf: Leaf) -> SessionPath<'_> {
        let entries = match leaf == self.leaf() {
            true => self.trunk.get_or_init(|| self.walk(leaf)).clone(),
            false => self.walk(leaf),
        };
        SessionPath {
            tree: self,
            len: entries.len(),
            entries,
        }
    }

    fn walk(&self, leaf: Leaf) -> Arc<Vec<EntryIndex>> {
        let mut entries = Vec::new();
        let mut at = match leaf {
            Leaf::At(index) => Some(index),
            Leaf::Root => None,
        };
        while let Some(index) = at {
            entries.push(index);
            at = self.parent(index);
        }
        entries.reverse();
        Arc::new(entries)
    }

    /// Lets the kept path go on to `last`, which was appended; one that it does not go on from is forgotten.
    pub(super) fn grow_trunk(&mut self, last: EntryIndex) {
        let parent = self.parent(last);
        match self.trunk.get_mut() {
            Some(trunk) if trunk.last().copied() == parent => Arc::make_mut(trunk).push(last),
            _ => self.trunk = OnceLock::new(),
        }
    }

    /// Returns the deepest entry that is on the paths of both leaves.
    pub fn common_ancestor(&self, one: Leaf, other: Leaf) -> Option<EntryIndex> {
        let one = self.path(one);
        let other = self.path(other);
        let pairs = one.entries().iter().zip(other.entries());
        let shared = pairs.take_while(|(a, b)| a == b).last();
        shared.map(|(index, _)| *index)
    }
}

impl<'a> SessionPath<'a> {
    /// Returns the tree that the path runs through.
    pub fn tree(&self) -> &'a SessionTree {
        self.tree
    }

    /// Returns the entries, root first.
    pub fn entries(&self) -> &[EntryIndex] {
        &self.entries[..self.len]
    }

    /// Returns the path that ends with the entry before the one at `place`. It shares the entries with this one.
    #[must_use]
    pub fn before(&self, place: usize) -> Self {
        Self {
            len: place.min(self.len),
            ..self.clone()
        }
    }

    /// Returns the same path through a tree that has the same entries, such as a clone of this one's.
    pub fn through<'b>(&self, tree: &'b SessionTree) -> SessionPath<'b> {
        SessionPath {
            tree,
            entries: self.entries.clone(),
            len: self.len,
        }
    }

    /// Returns where the path ends.
    pub fn leaf(&self) -> Leaf {
        self.entries()
            .last()
            .map_or(Leaf::Root, |leaf| Leaf::At(*leaf))
    }

    /// Returns the id of the entry at the end, or `None` when the path is empty.
    pub fn leaf_id(&self) -> Option<&'a str> {
        self.entries().last().map(|leaf| self.tree.id(*leaf))
    }

    /// Returns the newest entry of `kind` and its place on the path.
    pub fn newest(&self, kind: EntryKind) -> Option<(usize, EntryIndex)> {
        self.newest_of(&[kind])
    }

    /// Returns the newest entry of any of these kinds and its place on the path.
    pub fn newest_of(&self, kinds: &[EntryKind]) -> Option<(usize, EntryIndex)> {
        if !kinds.iter().any(|kind| self.tree.has_kind(*kind)) {
            return None;
        }
        let mut places = self.entries().iter().enumerate().rev();
        let found = places.find(|(_, index)| kinds.contains(&self.tree.kind(**index)));
        found.map(|(place, index)| (place, *index))
    }

    /// Returns the turns of the path: what stands before the first request belongs to none. Bodies are read
    /// for this; one that cannot be read begins no turn.
    pub fn turns(&self) -> Vec<Turn> {
        let begins = |index: &EntryIndex| {
            let relevant = matches!(
                self.tree.kind(*index),
                EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary
            );
            let entry = relevant.then(|| self.tree.entry(*index).ok()).flatten();
            entry.is_some_and(|entry| entry.messages().iter().any(|message| message.starts_turn()))
        };
        let entries = self.entries().iter().enumerate();
        let starts: Vec<usize> = entries
            .filter(|(_, index)| begins(index))
            .map(|(place, _)| place)
            .collect();
        let ends = starts.iter().skip(1).copied().chain([self.len]);
        let turns = starts.iter().zip(ends);
        turns
            .map(|(start, end)| Turn { start: *start, end })
            .collect()
    }

    /// Returns the place on the path of the entry called `id`.
    pub fn place_of(&self, id: &str) -> Option<usize> {
        let places = self.entries().iter();
        places.clone().rposition(|index| self.tree.id(*index) == id)
    }
}
