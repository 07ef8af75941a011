//! The crate as its users see it, one module for each area. One binary, as each links the whole crate.

#[path = "../sessions/mod.rs"]
mod sessions;

mod branch;
mod handoff;
mod oversized;
mod plan;
mod prune;
mod requests;
mod restoration;
mod rounds;
mod small_window;
mod worth;
