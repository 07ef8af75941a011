//! Ids of new entries: those of the source, as far as they serve.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;
use rustc_hash::FxBuildHasher;
use session_model::EntryId;

/// The longest id of a source that is taken over.
pub(crate) const LONGEST_ID: usize = 80;

/// Gives ids to entries.
#[derive(Default)]
pub(crate) struct Ids {
    /// Hashes of the ids that are taken; ids that share one count as the same, which costs nothing but a longer id.
    taken: HashTable<u64>,
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
        loop {
            let hash = hash_of(&id);
            let slot = self
                .taken
                .entry(hash, |other| *other == hash, |other| *other);
            if let Slot::Vacant(slot) = slot {
                slot.insert(hash);
                return id;
            }
            more += 1;
            id = EntryId::new(&format!("{:08x}.{more}", self.written));
        }
    }
}

/// Returns the hash of an id, the same at every run.
pub(crate) fn hash_of(id: &str) -> u64 {
    FxBuildHasher.hash_one(id)
}
