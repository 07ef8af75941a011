//! The crate as its users see it, one module for each area. One binary, as each links the whole crate.

#[path = "../sessions/mod.rs"]
mod sessions;

mod branch;
mod branch_ledger;
mod failures;
mod handoff;
mod ledger;
mod oversized;
mod plan;
mod prune;
mod requests;
mod restoration;
#[path = "../retention/mod.rs"]
mod retention;
mod settled;
mod small_window;
mod verify;
