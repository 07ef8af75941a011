//! The library behind the `agent-cli` program: session files, settings, and the commands over them.
//!
//! Algorithms live in `compaction-core`; this crate reads and writes files, asks
//! the core, and shows what it answers. Every command works without a key and
//! without a network.

pub mod args;
pub mod cancel;
mod commands;
pub mod error;
mod extensions;
pub mod instructions;
pub mod models;
pub mod session;
pub mod settings;
pub mod store;
pub mod summarize;
mod ui;

pub use commands::{rpc_reference, rpc_schema_text, run, run_program};
