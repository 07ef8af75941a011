//! The filter for every text that a store writes.

use std::fmt;

/// Changes what is about to be written: takes secrets out of it, for example.
pub trait WriteFilter: fmt::Debug + Send + Sync {
    /// Returns the line of an entry as it is to be written. It stays one line of JSON with the same id.
    fn line(&self, line: String) -> String;

    /// Returns the text of a queued message as it is to be written.
    fn text(&self, text: &str) -> String;
}

/// Writes everything unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unfiltered;

impl WriteFilter for Unfiltered {
    fn line(&self, line: String) -> String {
        line
    }

    fn text(&self, text: &str) -> String {
        text.to_owned()
    }
}
