//! Writes of several entries that count only together: one whose last entry is missing changes nothing.

use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::head::{EntryHead, Head};
use crate::tree::decode::Decoder;
use crate::tree::kinds::Kinds;

/// A write whose last entry has not come yet.
#[derive(Debug)]
pub(super) struct UnfinishedWrite {
    /// The id of its last entry.
    last: Box<str>,
    /// The row and the line of its first entry.
    first_row: u32,
    first_line: u64,
    /// Its entries, with the parents that they name.
    members: Vec<(Box<str>, Option<Box<str>>)>,
}

impl Decoder {
    /// Returns true for the last entry of the write that is not finished yet.
    pub(super) fn finishes_write(&self, head: &Head<'_>) -> bool {
        match (&self.unfinished, head) {
            (Some(open), Head::Entry(head)) => head.id.as_deref() == Some(&*open.last),
            _ => false,
        }
    }

    /// Notes to which write the entry belongs that comes next, and sets aside one that it does not continue.
    pub(super) fn follow_write(&mut self, head: &EntryHead<'_>) {
        let (id, part_of) = (head.id.as_deref(), head.part_of.as_deref());
        if let Some(open) = &self.unfinished {
            if id == Some(&*open.last) {
                self.unfinished = None;
                return;
            }
            if part_of != Some(&*open.last) {
                self.set_unfinished_aside();
            }
        }
        let (Some(id), Some(last)) = (id, part_of.filter(|last| Some(*last) != id)) else {
            return;
        };
        let open = self.unfinished.get_or_insert_with(|| UnfinishedWrite {
            last: Box::from(last),
            first_row: self.rows.len() as u32,
            first_line: self.line,
            members: Vec::new(),
        });
        let parent = head.parent.as_ref().and_then(|parent| parent.as_deref());
        open.members.push((Box::from(id), parent.map(Box::from)));
    }

    /// Takes the entries of an unfinished write out of the tree. What names one of them as its parent is joined to
    /// the entry before the write, as behind damaged lines.
    pub(super) fn set_unfinished_aside(&mut self) {
        let Some(open) = self.unfinished.take() else {
            return;
        };
        if let Some(first) = self.rows.get(open.first_row as usize) {
            self.ids.truncate(first.id_start as usize);
        }
        self.rows.truncate(open.first_row as usize);
        self.kinds = Kinds::default();
        for row in &self.rows {
            self.kinds.add(row.kind);
        }
        let stays = self
            .parents
            .partition_point(|(row, _)| *row < open.first_row);
        self.parents.truncate(stays);
        let count = open.members.len();
        self.damaged_parents.extend(open.members);
        let text = format!(
            "begins a change of the context (a pruning or a compaction) that was cut off; its entries ({count} in all) are kept and set aside, so the session is as before it"
        );
        let said = Diagnostic::new(Severity::Warning, DiagnosticKind::UnfinishedWrite, text);
        self.diagnostics.push(said.at_line(open.first_line));
    }
}

#[cfg(test)]
mod tests {
    use crate::EntryKind;
    use crate::tree::decode_bytes;

    #[test]
    fn an_unfinished_write_leaves_none_of_its_kinds() {
        let lines = concat!(
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
            "{\"type\":\"message\",\"id\":\"e1\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
            "{\"type\":\"custom\",\"id\":\"e2\",\"parentId\":\"e1\",\"partOf\":\"e3\",\"customType\":\"x\"}\n",
        );
        let decoded = decode_bytes(lines.into());
        assert_eq!(decoded.tree.len(), 1);
        assert!(decoded.tree.has_kind(EntryKind::Message));
        assert!(!decoded.tree.has_kind(EntryKind::Custom));
    }
}
