//! Progress of long reading: one line on a terminal, nothing elsewhere.

use std::io::{IsTerminal, Write};

use crate::ui::DIM;

/// From how many bytes on reading is worth a word.
const LONG: u64 = 256 * 1024 * 1024;

/// Tells how far reading has come, on standard error, if that is a terminal.
pub struct Reading {
    total: u64,
    done: u64,
    shown: Option<u64>,
    wanted: bool,
}

impl Reading {
    /// Returns progress for `total` bytes; short files and other outputs stay silent.
    pub fn new(total: u64) -> Self {
        Self {
            total,
            done: 0,
            shown: None,
            wanted: total >= LONG && std::io::stderr().is_terminal(),
        }
    }

    /// Counts bytes that were read.
    pub fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if !self.wanted {
            return;
        }
        let percent = self.done.min(self.total) * 100 / self.total;
        if self.shown != Some(percent) {
            self.shown = Some(percent);
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(anstream::stderr(), "\r{DIM}reading {percent:>3}%{DIM:#}");
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(anstream::stderr(), "\r            \r");
        }
    }
}
