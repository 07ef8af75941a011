//! Stores of coding-agent sessions.
//!
//! A session is written while it runs: entries are appended whole, synced, and taken back when a write fails; messages
//! that wait to be sent survive a crash; one process writes at a time. [`SessionStore`] is that running session and
//! [`SessionCatalog`] makes, finds, reads and forks sessions; both name sessions by a [`Locator`]. [`FileStore`] and
//! [`MemoryStore`] share all but the keeping of lines, which is a [`SessionLog`]: what a new kind of store implements.
//! [`SessionFile`] is a session that was read without a lock.
//!
//! ```
//! use session_model::{EntryDraft, MessageDraft};
//! use session_store::{MemoryStore, SessionStore};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let mut store = MemoryStore::new("/project");
//! let draft = EntryDraft::Message(Box::new(MessageDraft::user("hello")));
//! let ids = store.append(vec![draft.into()]).await?;
//! assert_eq!(store.tree().len(), ids.len());
//! # Ok::<(), session_store::StoreError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariants.** After an error that is not `Unknown` the session has the bytes that it had before. A line that a crash tore is damage of
//! that line alone. A queued message has the id of its later entry, so it is sent once. An existing file is never
//! replaced.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod append;
pub mod catalog;
mod cleanup;
#[cfg(test)]
mod conformance_file_tests;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance_shared_tests;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance_tests;
pub mod error;
mod file;
mod file_catalog;
mod file_layer;
mod file_log;
mod file_store;
mod filter;
mod in_memory_log;
mod locator;
mod lock;
mod log;
mod memory_store;
mod new_file;
mod outputs;
pub mod pending;
mod progress;
mod queue;
mod replace;
mod row;
mod sidecars;
mod source;
mod stamp;
#[cfg(test)]
mod tests;
mod traits;
mod writer;

pub use append::SyncPolicy;
pub use cleanup::{Cleanup, CleanupRule, KeptOutput, OutputTotal, find_unused, remove_unused};
pub use error::{Advice, CHANGED, LEASE_LOST, StoreError};
pub use file::{SessionFile, read_stream, readable_parent};
pub use file_catalog::FileCatalog;
pub use file_layer::{AppendFile, FileLayer, SystemFiles};
pub use file_log::FileLog;
pub use file_store::{FileStore, exists};
pub use filter::{Unfiltered, WriteFilter};
pub use in_memory_log::InMemoryLog;
pub use locator::{Locator, is_url};
pub use lock::SessionLock;
pub use log::{Lines, SessionLog, Store, Weight};
pub use memory_store::{MemoryCatalog, MemoryLog, MemoryStore};
pub use new_file::{Contents, NewFile, check_new};
pub use outputs::FileOutputs;
pub use progress::ReadObserver;
pub use queue::{Delivery, NewEntry, Prompt, PromptImage, Queued};
pub use replace::replace_session;
pub use row::{Page, Query, SessionRow, first_prompt};
pub use sidecars::{holds_outputs, is_sidecar, outputs_path, sidecars};
pub use source::FileSource;
pub use stamp::{header_now, new_header, now};
pub use traits::{
    Batch, BoxFuture, Carry, ForkSource, LocalFiles, NewSession, OpenSession, OutputStore,
    SessionCatalog, SessionStore, StoreFuture, list_all,
};
pub use writer::STDIN_IN_PLACE;
