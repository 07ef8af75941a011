//! Beginnings of ids that name one entry: long ids leave little room for anything else.

use std::collections::BTreeMap;

use crate::tree::{EntryIndex, SessionTree};

/// The shortest beginning that is used, in bytes.
const LEAST: usize = 8;

/// Why a beginning of an id names no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindIdError {
    /// No id begins like that.
    #[error("no entry {0} in this session")]
    Unknown(String),
    /// Several ids do.
    #[error(
        "{beginning} begins the ids of {count} entries, {first} and {second} among them; give more of it"
    )]
    Ambiguous {
        /// The beginning.
        beginning: String,
        /// How many ids begin like that.
        count: usize,
        /// One of them.
        first: String,
        /// Another one.
        second: String,
    },
}

impl SessionTree {
    /// Returns the entry whose id is `text`, or else the only one whose id begins with it, where that is eight bytes or
    /// more.
    ///
    /// # Errors
    ///
    /// [`FindIdError`] where no id or several begin with it.
    pub fn find_by_beginning(&self, text: &str) -> Result<EntryIndex, FindIdError> {
        if let Some(found) = self.find(text) {
            return Ok(found);
        }
        let begins = |index: &EntryIndex| text.len() >= LEAST && self.id(*index).starts_with(text);
        let found: Vec<EntryIndex> = self.indices().filter(begins).collect();
        match found.as_slice() {
            [] => Err(FindIdError::Unknown(text.to_owned())),
            [one] => Ok(*one),
            [first, second, ..] => Err(FindIdError::Ambiguous {
                beginning: text.to_owned(),
                count: found.len(),
                first: self.id(*first).to_owned(),
                second: self.id(*second).to_owned(),
            }),
        }
    }

    /// Returns for each of these ids the shortest beginning, of eight bytes or more, that no other id of the session has.
    pub fn short_ids<'a>(&self, ids: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, &'a str> {
        let wanted: BTreeMap<&str, Vec<&str>> =
            ids.filter(|id| id.len() > LEAST)
                .fold(BTreeMap::new(), |mut all, id| {
                    all.entry(start_of(id)).or_insert_with(Vec::new).push(id);
                    all
                });
        let mut lengths: BTreeMap<&str, usize> = BTreeMap::new();
        if wanted.is_empty() {
            return BTreeMap::new();
        }
        for index in self.indices() {
            let other = self.id(index);
            for id in wanted.get(start_of(other)).into_iter().flatten() {
                let alike = id
                    .bytes()
                    .zip(other.bytes())
                    .take_while(|(one, other)| one == other)
                    .count();
                if *id != other {
                    let length = lengths.entry(id).or_default();
                    *length = (*length).max(alike + 1);
                }
            }
        }
        let ids = wanted.into_values().flatten();
        let short = ids.map(|id| {
            let length = lengths.get(id).copied().unwrap_or_default().max(LEAST);
            (id, &id[..id.ceil_char_boundary(length)])
        });
        short.collect()
    }
}

fn start_of(id: &str) -> &str {
    &id[..id.floor_char_boundary(LEAST)]
}

#[cfg(test)]
mod tests {
    use super::FindIdError;
    use crate::tree::decode_bytes;

    #[test]
    fn an_id_may_be_named_by_a_beginning_that_no_other_has() {
        let ids = [
            "e1",
            "0123456789",
            "01234567ab",
            "01234567ac-9",
            "fedcba987654",
        ];
        let mut lines = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
        for id in ids {
            lines.push_str(&format!(
                "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null,\"customType\":\"x\"}}\n"
            ));
        }
        let tree = decode_bytes(lines.into_bytes()).tree;
        let short = tree.short_ids(ids.into_iter());
        let shown = ids.map(|id| short.get(id).copied().unwrap_or(id));
        assert_eq!(
            shown,
            ["e1", "012345678", "01234567ab", "01234567ac", "fedcba98"]
        );
        for (id, shown) in ids.iter().zip(shown) {
            assert_eq!(
                tree.find_by_beginning(shown).map(|index| tree.id(index)),
                Ok(*id)
            );
        }
        for unknown in ["x", "fedcba9", "fedcba99"] {
            let error = FindIdError::Unknown(unknown.to_owned());
            assert_eq!(tree.find_by_beginning(unknown), Err(error));
        }
        let said = tree
            .find_by_beginning("01234567")
            .map_err(|error| error.to_string());
        let want = "01234567 begins the ids of 3 entries, 0123456789 and 01234567ab among them; give more of it";
        assert_eq!(said, Err(want.to_owned()));
    }
}
