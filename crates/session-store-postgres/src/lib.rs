//! Sessions in PostgreSQL 14 or newer, which several machines share.
//!
//! A session is its lines, one row each; joined, they are the bytes of its file. Every write is one statement, so it is
//! whole or absent, and it names the number of the last line and the epoch of the writer's lease: a writer that was
//! taken for dead cannot write any more. All times are those of the server. Messages that wait and rows of lists are
//! tables of their own. A process has one connection to a database, which all its sessions share, and makes it again
//! when it is lost.
//!
//! What searches look for is indexed apart from the writes: when a session is closed, and by the next search.
//!
//! The address of a session is `postgres://USER@HOST:PORT/DATABASE/ID`; without the id it is that of a catalog. Next to
//! the parameters of [`tokio_postgres`] it may have `timeout=SECONDS` (of one statement), `lease=SECONDS` and
//! `sslrootcert=FILE`.
//!
//! **Invariants.** A statement that changes a session checks the lease in the same statement. An answer that is lost is
//! [`StoreError::Unknown`] or the statement is one that may be repeated.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod address;
mod catalog;
mod database;
mod error;
mod lease;
mod log;
mod outputs;
mod rows;
mod search;
mod tls;

use std::path::Path;
use std::sync::Arc;

use session_store::{Locator, SessionCatalog, StoreError};

pub use catalog::PostgresCatalog;

/// A catalog, and the session in it that an address names.
pub type Found = (Arc<dyn SessionCatalog>, Option<Locator>);

/// Returns the catalog of an address, and the session that it names; `None` where it is of another kind of store.
///
/// # Errors
/// The address cannot be read.
pub fn catalog_of(address: &Path) -> Result<Option<Found>, StoreError> {
    let found = PostgresCatalog::of_address(address)?;
    Ok(found.map(|(catalog, session)| (Arc::new(catalog) as _, session)))
}
