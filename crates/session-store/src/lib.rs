//! Stores of coding-agent sessions.
//!
//! A session is written while it runs: entries are appended whole, synced, and taken back when a write fails; messages
//! that wait to be sent survive a crash; one process writes at a time. [`SessionStore`] is that running session and
//! [`SessionCatalog`] makes, finds and forks sessions; both name sessions by a [`Locator`]. [`FileStore`] and
//! [`MemoryStore`] share all but the keeping of lines, which is a [`SessionLog`]: what a new kind of store implements.
//! [`SessionFile`] reads a session without a lock, [`SessionWriter`] appends to one.
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
//! **Invariants.** After an error the session has the bytes that it had before. A line that a crash tore is damage of
//! that line alone. A queued message has the id of its later entry, so it is sent once. An existing file is never
//! replaced.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod append;
pub mod catalog;
mod cleanup;
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
pub use error::{Advice, StoreError};
pub use file::{SessionFile, read_stream};
pub use file_catalog::FileCatalog;
pub use file_layer::{AppendFile, FileLayer, SystemFiles};
pub use file_log::FileLog;
pub use file_store::FileStore;
pub use filter::{Unfiltered, WriteFilter};
pub use locator::Locator;
pub use lock::SessionLock;
pub use log::{SessionLog, Store, Weight};
pub use memory_store::{MemoryCatalog, MemoryLog, MemoryStore};
pub use new_file::{Contents, NewFile, check_new};
pub use progress::ReadObserver;
pub use queue::{Delivery, NewEntry, Prompt, PromptImage, Queued};
pub use replace::replace_session;
pub use row::SessionRow;
pub use sidecars::{holds_outputs, is_sidecar, sidecars};
pub use source::FileSource;
pub use stamp::{new_header, now};
pub use traits::{
    BoxFuture, Carry, ForkSource, NewSession, OpenSession, SessionCatalog, SessionStore,
    StoreFuture, move_queue,
};
pub use writer::{STDIN_IN_PLACE, SessionWriter};
