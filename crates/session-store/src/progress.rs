//! Observing long reads.

use crate::error::StoreError;

/// Learns how far a read has come and may stop it.
pub trait ReadObserver: Send {
    /// A file of `total` bytes is about to be read.
    fn begin(&mut self, total: u64) {
        let _ = total;
    }

    /// Some bytes were read; called with 0 while the read waits.
    ///
    /// # Errors
    /// [`StoreError::Cancelled`] stops the read.
    fn read(&mut self, bytes: usize) -> Result<(), StoreError> {
        let _ = bytes;
        Ok(())
    }
}

/// Lets every read run to its end.
impl ReadObserver for () {}
