//! The library behind the `agent-cli` program: session files, settings, and the commands over them.
//!
//! Algorithms live in `compaction-core`; this crate reads and writes files, asks
//! the core, and shows what it answers. Every command works without a key and
//! without a network.

mod agents;
pub mod cancel;
mod commands;
pub mod error;
mod extensions;
mod files;
mod find;
mod foreign;
pub mod models;
mod options;
pub mod settings;
mod ui;

pub use commands::{rpc_reference, rpc_schema_text, run_program};

/// The command line, for programs that describe it.
pub mod args {
    pub use crate::commands::Cli;
}
