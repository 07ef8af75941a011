//! Which lines of a session are damaged, as far as somebody looked.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use crate::tree::SessionTree;

impl SessionTree {
    /// Returns the lines, counted from 1, that are damaged, as far as is known: those that were set aside when the session
    /// was opened, and those of entries that were read since and could not be.
    pub fn damaged_lines(&self) -> BTreeSet<u64> {
        let damaged = self.damaged.lock();
        damaged.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many lines [`damaged_lines`](Self::damaged_lines) returns.
    pub fn damaged_count(&self) -> usize {
        let damaged = self.damaged.lock();
        damaged.unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn note_damaged(&self, line: u64) {
        let damaged = self.damaged.lock();
        damaged.unwrap_or_else(PoisonError::into_inner).insert(line);
    }
}
