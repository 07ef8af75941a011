//! Which kinds of entries a tree has, so that nobody looks for one that is nowhere.

use crate::entry::EntryKind;

/// A set of kinds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kinds(u16);

impl Kinds {
    /// Adds a kind.
    pub(super) fn add(&mut self, kind: EntryKind) {
        self.0 |= bit(kind);
    }

    /// Returns whether the kind was added.
    pub(super) fn has(self, kind: EntryKind) -> bool {
        self.0 & bit(kind) != 0
    }
}

const fn bit(kind: EntryKind) -> u16 {
    1 << kind as u16
}

#[cfg(test)]
mod tests {
    use super::Kinds;
    use crate::entry::EntryKind;

    #[test]
    fn every_kind_has_a_place_of_its_own() {
        for kind in EntryKind::ALL {
            let mut kinds = Kinds::default();
            kinds.add(kind);
            let held: Vec<_> = EntryKind::ALL
                .into_iter()
                .filter(|kind| kinds.has(*kind))
                .collect();
            assert_eq!(held, [kind]);
        }
    }
}
