//! Sessions where coding agents keep them: found by id, by folder or as the newest, and opened whatever their form.
//!
//! `session-store` knows the files of its own format, `session-import` converts bytes and opens nothing. This crate
//! joins them: where each agent has its folder ([`AGENTS`]), which session a name means ([`Finder`]), which project a
//! folder belongs to ([`project_of`]), how a compressed file or a database becomes bytes ([`Bytes`]), and how a session
//! of another agent is opened ([`convert`], [`open`]).
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use session_finder::{Finder, OWN};
//! use session_store::{FileCatalog, catalog::sessions_root};
//!
//! let finder = Finder::of_process(Arc::new(FileCatalog::new(sessions_root(None)?)));
//! for found in finder.list(None, Some(std::path::Path::new(".")))? {
//!     println!("{} {}", found.agent, found.row.id);
//! }
//! let newest = finder.named("claude:newest", std::path::Path::new("."))?;
//! assert_ne!(newest.agent, OWN);
//! # Ok::<(), session_store::StoreError>(())
//! ```
//!
//! **Invariants.** Sessions of other agents are read and never written. A link is not followed, and an id is never
//! taken for a path.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod bytes;
#[cfg(feature = "databases")]
mod database;
mod documents;
mod finder;
mod foreign;
mod glance;
mod project;
mod prompts;

pub use agents::{AGENTS, Agent, Environment, OWN, agent_of_client, session_of_subagent};
pub use bytes::{Bytes, IN_MEMORY, IsCancelled};
pub use documents::read as read_document;
pub use finder::{Finder, Found, session_name};
pub use foreign::{Converted, ReadAs, convert, open, refusal, refuse, resemblance};
pub use glance::{Glance, glance};
pub use project::project_of;
