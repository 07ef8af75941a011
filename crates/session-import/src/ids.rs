//! Ids of new entries: those of the source, as far as they serve.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hasher};

use session_model::EntryId;

/// The longest id of a source that is taken over.
pub(crate) const LONGEST_ID: usize = 80;

/// Gives ids to entries.
#[derive(Default)]
pub(crate) struct Ids {
    /// Hashes of the ids that are taken; ids that share one count as the same, which costs nothing but a longer id.
    taken: HashSet<u64, BuildHasherDefault<Same>>,
    written: u64,
}

impl Ids {
    /// Returns the id of the source, unless it is taken or cannot serve as one; then the position, or that with a
    /// number.
    pub fn fresh(&mut self, source_id: &str) -> EntryId {
        self.written += 1;
        let serves = (1..=LONGEST_ID).contains(&source_id.len())
            && source_id.bytes().all(|byte| byte.is_ascii_graphic())
            && source_id != "root";
        let mut id = match serves {
            true => EntryId::new(source_id),
            false => EntryId::of_position(self.written),
        };
        let mut more = 1;
        while !self.taken.insert(hash_of(&id)) {
            more += 1;
            id = EntryId::new(&format!("{:08x}.{more}", self.written));
        }
        id
    }
}

/// Returns the hash of an id, the same at every run.
pub(crate) fn hash_of(id: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(id)
}

/// A map from hashes.
pub(crate) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<Same>>;

/// Hashes what is a hash already.
#[derive(Default)]
pub(crate) struct Same(u64);

impl Hasher for Same {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
