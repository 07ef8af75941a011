//! The library behind the `agent-cli` program: session files, settings, and the commands over them.
//!
//! Algorithms live in `compaction-core`; this crate reads and writes files, asks
//! the core, and shows what it answers. Every command works without a key and
//! without a network.

pub mod cancel;
mod commands;
pub mod error;
mod files;
pub mod models;
mod options;
mod output_filter;
mod read_report;
mod stores;
mod ui;

#[doc(hidden)]
pub use commands::mcp_call;
pub use commands::run_program;

/// The command line, for programs that describe it.
pub mod args {
    pub use crate::commands::Cli;
}
