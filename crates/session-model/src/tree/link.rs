//! The index of ids, and linking parents: those that are not the entry before, those that are lost, and rings.

use std::collections::BTreeMap;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;

use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::entry::EntryId;
use crate::tree::decode::Decoder;
use crate::tree::{EntryIndex, NO_PARENT, SessionTree, hash_id};

impl Decoder {
    /// Returns the index from ids to rows; of entries with one id the last is found.
    pub(super) fn index_ids(&mut self) -> HashTable<u32> {
        let mut by_id: HashTable<u32> = HashTable::with_capacity(self.rows.len());
        let id_of = |row: u32| {
            let row = &self.rows[row as usize];
            let start = row.id_start as usize;
            &self.ids[start..start + row.id_len as usize]
        };
        for row in 0..self.rows.len() as u32 {
            let id = id_of(row);
            match by_id.entry(
                hash_id(id),
                |other| id_of(*other) == id,
                |other| hash_id(id_of(*other)),
            ) {
                Slot::Occupied(mut slot) => {
                    let text = format!(
                        "the id {id} was already used on line {}; both entries are kept",
                        self.rows[*slot.get() as usize].line
                    );
                    let kind = DiagnosticKind::DuplicateId;
                    let said = Diagnostic::new(Severity::Warning, kind, text);
                    let line = u64::from(self.rows[row as usize].line);
                    self.diagnostics
                        .push(said.at_line(line).of_entry(EntryId::new(id)));
                    *slot.get_mut() = row;
                }
                Slot::Vacant(slot) => drop(slot.insert(row)),
            }
        }
        by_id
    }

    /// Resolves parents that are not the entry before.
    pub(super) fn link_parents(&mut self, tree: &mut SessionTree) {
        let duplicates = rows_of_duplicates(tree);
        for (row, named) in std::mem::take(&mut self.parents) {
            // Of entries with one id, the parent is the nearest before the child.
            let last = tree.find(&named);
            let namesakes = last.and_then(|last| duplicates.get(&last.0));
            let namesakes = namesakes.map_or(&[][..], Vec::as_slice);
            let nearest = namesakes.partition_point(|namesake| *namesake < row);
            let found = match nearest.checked_sub(1) {
                Some(place) => namesakes[place],
                None => self.resolve(tree, row, &named),
            };
            tree.rows[row as usize].parent = found;
            if nearest == 0 && last.is_none() {
                tree.orphans.push(row);
            }
        }
    }

    fn resolve(&mut self, tree: &SessionTree, row: u32, named: &str) -> u32 {
        if let Some(found) = tree.find(named) {
            return found.0;
        }
        // A damaged line may still tell its own parent.
        let mut via = vec![Box::from(named)];
        while let Some(parent) = self.damaged_parents.get(&via[via.len() - 1]) {
            let Some(parent) = parent.clone() else {
                self.shorten(via, None);
                return self.rejoin(tree, row, named, NO_PARENT);
            };
            if let Some(found) = tree.find(&parent).filter(|found| found.0 < row) {
                self.shorten(via, Some(&parent));
                return self.rejoin(tree, row, named, found.0);
            }
            // A ring of damaged lines leads nowhere.
            let rings = via.last() == Some(&parent) || via.len() > self.damaged_parents.len();
            via.push(parent);
            if rings {
                break;
            }
        }
        let end = via.pop();
        self.shorten(via, end.as_deref());
        let before = row.checked_sub(1).unwrap_or(NO_PARENT);
        self.rejoin(tree, row, named, before)
    }

    /// Path-compresses a chain of damaged parents.
    fn shorten(&mut self, chain: Vec<Box<str>>, parent: Option<&str>) {
        for damaged in chain {
            self.damaged_parents.insert(damaged, parent.map(Box::from));
        }
    }

    /// Says that `row` was joined to another parent than it names, and returns that parent.
    fn rejoin(&mut self, tree: &SessionTree, row: u32, named: &str, parent: u32) -> u32 {
        let place = match tree.rows.get(parent as usize) {
            Some(row) => format!("joined to {}", tree.row_id(row)),
            None => "it starts the session".to_owned(),
        };
        let text = format!("its parent {named} is not there; {place}");
        let child = &tree.rows[row as usize];
        let said = Diagnostic::new(Severity::Warning, DiagnosticKind::MissingParent, text)
            .at_line(u64::from(child.line))
            .of_entry(EntryId::new(tree.row_id(child)));
        self.diagnostics.push(said);
        parent
    }

    /// Breaks rings of parents. Only an entry whose parent comes later in the file can close one.
    pub(super) fn cut_rings(&mut self, tree: &mut SessionTree) {
        // Joining a cut end to the entry before it may close another ring; then it becomes a root,
        // which removes a link for good, so this ends.
        let mut join_to_previous = true;
        while self.cut_rings_once(tree, join_to_previous) {
            join_to_previous = false;
        }
    }

    fn cut_rings_once(&mut self, tree: &mut SessionTree, join_to_previous: bool) -> bool {
        let forward = |row: &u32| {
            let parent = tree.rows[*row as usize].parent;
            parent != NO_PARENT && parent >= *row
        };
        let suspects: Vec<u32> = (0..tree.rows.len() as u32).filter(forward).collect();
        if suspects.is_empty() {
            return false;
        }
        // 0: not seen, otherwise the number of the walk that saw it.
        let mut seen_by = vec![0_u32; tree.rows.len()];
        let mut cut = false;
        for (walk, row) in (1..).zip(suspects) {
            let mut at = row;
            let mut path = Vec::new();
            while at != NO_PARENT && seen_by[at as usize] == 0 {
                seen_by[at as usize] = walk;
                path.push(at);
                at = tree.rows[at as usize].parent;
            }
            if at == NO_PARENT || seen_by[at as usize] != walk {
                continue;
            }
            // `at` closes a ring: cut it at its earliest entry.
            let start = path.iter().position(|entry| *entry == at).unwrap_or(0);
            let Some(earliest) = path[start..].iter().copied().min() else {
                continue;
            };
            let before = earliest.checked_sub(1).filter(|_| join_to_previous);
            tree.rows[earliest as usize].parent = before.unwrap_or(NO_PARENT);
            cut = true;
            let line = u64::from(tree.rows[earliest as usize].line);
            let id = EntryId::new(tree.row_id(&tree.rows[earliest as usize]));
            let kind = DiagnosticKind::ParentCycle;
            let text = match before {
                Some(_) => "its parents form a ring; joined to the entry before it",
                None => "its parents form a ring; it starts a tree of its own",
            };
            let said = Diagnostic::new(Severity::Warning, kind, text);
            self.diagnostics.push(said.at_line(line).of_entry(id));
        }
        cut
    }
}

/// Returns, for the last row of each id that is used more than once, all rows that use it, ascending.
fn rows_of_duplicates(tree: &SessionTree) -> BTreeMap<u32, Vec<u32>> {
    let mut duplicates: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    if tree.ids_are_unique() {
        return duplicates;
    }
    for (row, held) in (0..).zip(&tree.rows) {
        let Some(EntryIndex(last)) = tree.find(tree.row_id(held)) else {
            continue;
        };
        if last != row || duplicates.contains_key(&last) {
            duplicates.entry(last).or_default().push(row);
        }
    }
    duplicates
}
