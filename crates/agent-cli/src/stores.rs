//! Where this program's sessions are: in a folder, or in a store that has an address.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_executor::block_on;
use session_finder::{Finder, session_name};
use session_store::catalog::sessions_root;
use session_store::{
    FileCatalog, Locator, OpenSession, OutputStore, ReadObserver, SessionCatalog, SessionFile,
    StoreError, SyncPolicy, is_url,
};

use crate::error::Error;

/// A catalog, and the session in it that an address names.
type Remote = (Arc<dyn SessionCatalog>, Option<Locator>);

/// Returns the catalog that an address means, of a store or of one session in it; `None` for a path.
///
/// A new kind of store has one line here.
fn remote(address: &Path) -> Result<Option<Remote>, Error> {
    if !is_url(address) {
        return Ok(None);
    }
    #[cfg(feature = "postgres")]
    if let Some(found) = session_store_postgres::catalog_of(address)? {
        return Ok(Some(found));
    }
    let scheme = address.to_string_lossy();
    let scheme = scheme.split("://").next().unwrap_or_default();
    let built = match cfg!(feature = "postgres") {
        true => "",
        false => " (postgres needs a program that was built with the feature postgres)",
    };
    let text = format!("no store is known for {scheme}://{built}; name a path");
    Err(Error::Usage(text))
}

/// Returns the catalog of the sessions in `root`, a folder or an address.
pub fn catalog_at(root: &Path, policy: SyncPolicy) -> Result<Arc<dyn SessionCatalog>, Error> {
    let files = || Arc::new(FileCatalog::new(root).synced(policy)) as _;
    Ok(remote(root)?.map_or_else(files, |(catalog, _)| catalog))
}

/// Returns the catalog of a session that is made or opened by name, and of those that continue it: in a folder, they
/// are next to it.
pub fn catalog_of(session: &Path, policy: SyncPolicy) -> Result<Arc<dyn SessionCatalog>, Error> {
    Ok(match remote(session)? {
        Some((catalog, _)) => catalog,
        None => Arc::new(files_next_to(session, policy)),
    })
}

/// Returns the catalog of a file and of those next to it.
pub fn files_next_to(session: &Path, policy: SyncPolicy) -> FileCatalog {
    let folder = session.parent().unwrap_or(session);
    FileCatalog::new(folder).making_in(folder).synced(policy)
}

/// Opens a session for writing.
pub fn open(
    session: &Path,
    policy: SyncPolicy,
    observer: &mut dyn ReadObserver,
) -> Result<Result<OpenSession, StoreError>, Error> {
    let catalog = catalog_of(session, policy)?;
    let at = Locator::of_path(session);
    Ok(block_on(catalog.open(&at, observer)))
}

/// Returns a session in a store that has an address; `None` for a path.
pub fn read(session: &Path, observer: &mut dyn ReadObserver) -> Result<Option<SessionFile>, Error> {
    let Some((catalog, at)) = remote(session)? else {
        return Ok(None);
    };
    let at = at.unwrap_or_else(|| Locator::of_path(session));
    Ok(Some(block_on(catalog.read(&at, observer))?))
}

/// Returns the whole outputs of a session.
pub fn outputs_of(session: &Path) -> Option<Arc<dyn OutputStore>> {
    let catalog = catalog_of(session, SyncPolicy::Always).ok()?;
    catalog.outputs(&Locator::of_path(session))
}

/// Returns whether something of a session is kept.
pub fn exists(session: &Path) -> bool {
    match remote(session) {
        Ok(Some((catalog, Some(at)))) => block_on(catalog.read(&at, &mut ())).is_ok(),
        Ok(Some((_, None))) | Err(_) => false,
        Ok(None) => session_store::exists(session),
    }
}

/// Returns whether an address is that of a session, and not that of a whole store.
pub fn names_session(address: &Path) -> bool {
    remote(address).is_ok_and(|found| found.is_some_and(|(_, session)| session.is_some()))
}

/// Returns a finder of this program's sessions, in `session_dir` where it is given, and of other agents' sessions.
pub fn finder(session_dir: Option<&Path>) -> Result<Finder, Error> {
    let root = sessions_root(session_dir)?;
    Ok(Finder::of_process(catalog_at(&root, SyncPolicy::Always)?))
}

/// Returns the file or the address that an argument names: itself, or where the session of that name is. What looks
/// like a path and is none stays as it is, for the error of what opens it.
pub fn session_path(argument: &Path) -> Result<PathBuf, Error> {
    let Some(name) = session_name(argument) else {
        return Ok(argument.to_owned());
    };
    let here = std::env::current_dir().map_err(|error| Error::io("open", ".", error))?;
    let found = finder(None)?.named(name, &here)?;
    Ok(found.row.locator.into())
}

/// Returns whether two names are those of one session.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}
