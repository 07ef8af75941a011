//! Appending to a tree: what was written to the session becomes part of it without reading it again.

use hashbrown::hash_table::Entry as Slot;

use crate::entry::EntryKind;
use crate::head::{Head, read_head};
use crate::tree::{EntryIndex, NO_PARENT, Row, SessionTree, has_room, hash_id};

/// Why a line cannot be appended to a tree. The tree is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendEntryError {
    /// The line is no entry with an id and a parent.
    #[error("the line is not an entry with an id and a parent")]
    NotAnEntry,
    /// There is an entry of this id.
    #[error("there is an entry {0} already")]
    DuplicateId(String),
    /// The parent is not in the tree.
    #[error("the parent {0} is not in the session")]
    MissingParent(String),
    /// The session has as many entries, or as long ids, as can be numbered.
    #[error("the session is full: no more entries can be numbered")]
    TooManyEntries,
}

impl SessionTree {
    /// Takes an entry that was appended to the session: `line` as it was written, without its ending,
    /// at `offset` of the source and on line `number`. It is the leaf afterwards.
    ///
    /// What this program writes is held to more than what it reads: an id of its own and a parent that is there.
    ///
    /// # Errors
    ///
    /// [`AppendEntryError`] when the line is no entry that can follow. The tree is unchanged then.
    pub fn append(
        &mut self,
        line: &[u8],
        offset: u64,
        number: u64,
    ) -> Result<EntryIndex, AppendEntryError> {
        let Head::Entry(head) = read_head(line) else {
            return Err(AppendEntryError::NotAnEntry);
        };
        let (Some(id), Some(parent), Ok(len)) = (head.id, head.parent, u32::try_from(line.len()))
        else {
            return Err(AppendEntryError::NotAnEntry);
        };
        let parent = match parent {
            None => NO_PARENT,
            Some(parent) => match self.find(&parent) {
                Some(index) => index.0,
                None => return Err(AppendEntryError::MissingParent(parent.into_owned())),
            },
        };
        let (rows, ids) = (&self.rows, &self.ids);
        if !has_room(rows, ids, id.len(), self.most_ids) {
            return Err(AppendEntryError::TooManyEntries);
        }
        let id_of = |row: &u32| {
            let row = &rows[*row as usize];
            &ids[row.id_start as usize..][..row.id_len as usize]
        };
        let row = rows.len() as u32;
        let kind = EntryKind::from_name(&head.kind);
        let slot = self.by_id.entry(
            hash_id(&id),
            |other| id_of(other) == id,
            |other| hash_id(id_of(other)),
        );
        match slot {
            Slot::Occupied(_) => return Err(AppendEntryError::DuplicateId(id.into_owned())),
            Slot::Vacant(slot) => drop(slot.insert(row)),
        }
        self.rows.push(Row {
            offset,
            len,
            line: u32::try_from(number).unwrap_or(u32::MAX),
            id_start: self.ids.len() as u32,
            id_len: id.len() as u32,
            parent,
            kind,
            role: head.role,
        });
        self.ids.push_str(&id);
        self.kinds.add(kind);
        self.grow_trunk(EntryIndex(row));
        Ok(EntryIndex(row))
    }
}

#[cfg(test)]
mod tests {
    use super::AppendEntryError;
    use crate::entry::EntryKind;
    use crate::tree::{Leaf, decode_bytes};

    #[test]
    fn an_appended_entry_is_found_and_is_the_leaf() {
        let text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
        let mut tree = decode_bytes(text.into()).tree;
        let line = |id: &str, parent: &str| {
            format!(
                "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent},\"customType\":\"t\"}}"
            )
        };
        let offset = text.len() as u64;
        let appended = tree.append(line("b", "\"a\"").as_bytes(), offset, 3);
        let index = appended.ok();
        assert_eq!(tree.find("b"), index);
        assert_eq!(Some(tree.leaf()), index.map(Leaf::At));
        assert_eq!(
            tree.parent(tree.find("b").unwrap_or_else(|| unreachable!())),
            tree.find("a")
        );
        let refused = [line("b", "null"), line("c", "\"zz\""), "[]".to_owned()]
            .map(|line| tree.append(line.as_bytes(), offset, 4).err());
        assert_eq!(
            refused,
            [
                Some(AppendEntryError::DuplicateId("b".to_owned())),
                Some(AppendEntryError::MissingParent("zz".to_owned())),
                Some(AppendEntryError::NotAnEntry),
            ]
        );
        assert_eq!(tree.len(), 2);
    }

    #[test]
    fn paths_of_a_tree_that_grows_are_those_of_one_that_was_read() {
        let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
        let mut grown = decode_bytes(text.clone().into()).tree;
        // A chain, a branch off its middle, and a second root.
        let parents = ["", "a", "b", "c", "b", "e", "", "g"];
        for (number, (id, parent)) in (2..).zip("abcdefgh".chars().zip(parents)) {
            let kind = if id == 'e' { "context_edit" } else { "custom" };
            let parent = match parent {
                "" => "null".to_owned(),
                parent => format!("\"{parent}\""),
            };
            let line = format!("{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent}}}");
            let added = grown.append(line.as_bytes(), text.len() as u64, number);
            assert!(added.is_ok());
            text.push_str(&line);
            text.push('\n');
            let read = decode_bytes(text.clone().into()).tree;
            for leaf in read.indices().map(Leaf::At) {
                assert_eq!(grown.path(leaf).entries(), read.path(leaf).entries());
                for kind in EntryKind::ALL {
                    assert_eq!(grown.has_kind(kind), read.has_kind(kind));
                    assert_eq!(
                        grown.path(leaf).newest(kind),
                        read.path(leaf).newest(kind),
                        "{kind:?} before {leaf:?}"
                    );
                }
            }
        }
        // A copy goes its own way.
        let copy = grown.clone();
        let line = "{\"type\":\"custom\",\"id\":\"i\",\"parentId\":\"h\"}";
        let added = grown.append(line.as_bytes(), text.len() as u64, 10);
        assert!(added.is_ok());
        let ids = |tree: &crate::tree::SessionTree| {
            let path = tree.path(tree.leaf());
            let ids = path.entries().iter().map(|index| tree.id(*index));
            ids.collect::<String>()
        };
        assert_eq!(
            (ids(&copy), ids(&grown)),
            ("gh".to_owned(), "ghi".to_owned())
        );
    }
}
