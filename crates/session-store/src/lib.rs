//! Stores of coding-agent sessions.
//!
//! A session is written while it runs: entries are appended whole, synced, and taken back when a write fails; messages
//! that wait to be sent survive a crash; one process writes at a time. [`LiveStore`] is that running session, in a file
//! or in memory. [`SessionFile`] reads a session without a lock, [`SessionWriter`] appends to one, [`catalog`] lists
//! what a folder holds.
//!
//! ```
//! use session_model::{EntryDraft, MessageDraft};
//! use session_store::LiveStore;
//!
//! let mut store = LiveStore::in_memory("/project".as_ref());
//! let draft = EntryDraft::Message(Box::new(MessageDraft::user("hello")));
//! let ids = store.append(vec![draft.into()])?;
//! assert_eq!(store.tree().len(), ids.len());
//! # Ok::<(), session_store::StoreError>(())
//! ```
//!
//! **Invariants.** After an error the session has the bytes that it had before. A line that a crash tore is damage of
//! that line alone. A queued message has the id of its later entry, so it is sent once. An existing file is never
//! replaced.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod append;
pub mod catalog;
pub mod error;
mod file;
mod filter;
mod in_memory_log;
mod live;
mod lock;
mod new_file;
mod open;
pub mod pending;
mod progress;
mod queue;
mod replace;
mod sidecars;
mod source;
#[cfg(test)]
mod tests;
mod unpersisted;
mod writer;

pub use append::{AppendError, AppendFile, SyncPolicy, append_lines};
pub use error::StoreError;
pub use file::{SessionFile, new_header, now};
pub use filter::{Unfiltered, WriteFilter};
pub use live::LiveStore;
pub use lock::SessionLock;
pub use new_file::{Contents, NewFile, check_new};
pub use progress::ReadObserver;
pub use queue::{Delivery, NewEntry, Prompt, PromptImage, Queued};
pub use replace::replace_session;
pub use sidecars::{is_sidecar, sidecars};
pub use source::FileSource;
pub use writer::{STDIN_IN_PLACE, SessionWriter};
