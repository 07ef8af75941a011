//! Counting what is read of a tree.

use std::sync::Arc;

use super::SessionTree;
use crate::source::ReadMeter;

impl SessionTree {
    /// Returns what counts the entries that are read of this tree and its clones.
    pub fn meter(&self) -> &Arc<ReadMeter> {
        &self.meter
    }

    /// Gives this tree a meter that counts from zero, and stops no clone that was made before.
    pub fn reset_meter(&mut self) {
        self.meter = Arc::default();
    }
}
