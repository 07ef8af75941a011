//! For tests: a text notation for sessions, proptest strategies that generate them, and a model server with scripted
//! faults ([`FaultServer`], with well-formed answers to start from in [`streams`]); a model that says a key in pieces
//! ([`split_key`]); long generated sessions ([`transcript`]); programs in a pseudo terminal ([`pty`]).
//!
//! The notation is a list of items separated by spaces; `|` only helps the eye.
//! Each item becomes an entry whose parent is the item before it.
//!
//! | item | entry |
//! |---|---|
//! | `u:N` `a:N` | a message of the user, an answer of the model, of N tokens (four characters each) |
//! | `call:ID:N` | an answer that calls the tool `bash` with id ID |
//! | `read:ID:PATH` `write:ID:PATH` `edit:ID:PATH` | an answer that calls a file tool |
//! | `res:ID:N` `err:ID:N` | the result of call ID, or its failure |
//! | `b:N` `x:N` `s:N` | a command of the user, a message of an extension, a branch summary |
//! | `k@E:N` | a compaction that keeps from entry E, with a summary of N tokens |
//! | `sys:N` | a system message |
//! | `omit@E` `cut@E` | a context edit that takes E out, or replaces its content |
//! | `model` `label` `info` `reset` | metadata, a reset boundary |
//! | `^E` | no entry: the next item's parent is E (`^root` for none) |
//!
//! Entries are called `e1`, `e2`, ... in order; `name=item` names one otherwise.

mod fault_server;
mod notation;
pub mod pty;
mod rng;
mod skip;
pub mod split_key;
mod strategies;
pub mod streams;
mod transcript;

pub use fault_server::{Chunk, End, FaultServer, Received, Reply, refused_url};
pub use notation::session;
pub use rng::Rng;
pub use skip::skip;
pub use strategies::{DAMAGE_KINDS, any_session, any_session_text, damaged_session};
pub use transcript::{transcript, turns};
