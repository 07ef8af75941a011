//! The catalog of sessions in files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_model::Leaf;

use crate::catalog;
use crate::error::StoreError;
use crate::file_layer::{FileLayer, SystemFiles};
use crate::file_store::FileStore;
use crate::locator::Locator;
use crate::lock::SessionLock;
use crate::new_file::folder_of;
use crate::pending::pending_path;
use crate::row::SessionRow;
use crate::stamp::header_now;
use crate::traits::{Carry, ForkSource, NewSession, OpenSession, SessionCatalog, StoreFuture};

/// Sessions in files below one root, in a folder for each working folder. A session that goes on from another one is
/// made next to it. Locators are paths.
#[derive(Debug, Clone)]
pub struct FileCatalog {
    root: PathBuf,
    files: Arc<dyn FileLayer>,
}

impl FileCatalog {
    /// Returns the catalog of the sessions below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::through(root, Arc::new(SystemFiles))
    }

    /// Returns the catalog of the sessions below `root`, which are written through `files`.
    pub fn through(root: impl Into<PathBuf>, files: Arc<dyn FileLayer>) -> Self {
        Self {
            root: root.into(),
            files,
        }
    }

    fn folder(&self, next_to: Option<&Locator>, cwd: &str) -> PathBuf {
        match next_to {
            Some(session) => folder_of(session.as_path()).to_owned(),
            None => catalog::folder_for(&self.root, Path::new(cwd)),
        }
    }
}

impl SessionCatalog for FileCatalog {
    fn create(&self, new: NewSession) -> StoreFuture<'_, OpenSession> {
        Box::pin(async move {
            let folder = self.folder(new.parent.as_ref(), &new.cwd);
            let header = header_now(new.cwd, new.parent.map(|parent| parent.to_string()));
            let store = FileStore::create_through(&folder, &header, self.files.clone());
            Ok(Box::new(store) as OpenSession)
        })
    }

    fn open<'a>(&'a self, at: &'a Locator) -> StoreFuture<'a, OpenSession> {
        Box::pin(async move {
            let store = FileStore::open_through(at.as_path(), self.files.clone())?;
            Ok(Box::new(store) as OpenSession)
        })
    }

    fn fork<'a>(
        &'a self,
        source: ForkSource<'a>,
        leaf: Leaf,
        cwd: &'a str,
        carry: Carry,
    ) -> StoreFuture<'a, OpenSession> {
        Box::pin(async move {
            let folder = self.folder(source.locator, cwd);
            let files = self.files.clone();
            let store = FileStore::fork_through(source, leaf, &folder, cwd, carry, files)?;
            Ok(Box::new(store) as OpenSession)
        })
    }

    fn list<'a>(&'a self, cwd: Option<&'a str>) -> StoreFuture<'a, Vec<SessionRow>> {
        Box::pin(async move { catalog::list(&self.root, cwd.map(Path::new)) })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Locator> {
        Box::pin(async move { Ok(Locator::of_path(&catalog::find(&self.root, id)?)) })
    }

    fn remove<'a>(&'a self, at: &'a Locator) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let path = at.as_path();
            let is_there = path.symlink_metadata().is_ok();
            let _lock = match is_there {
                true => SessionLock::acquire(path)?,
                false => SessionLock::acquire_unpersisted(path)?,
            };
            for file in [path.to_owned(), pending_path(path)] {
                match std::fs::remove_file(&file) {
                    Ok(()) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => return Err(StoreError::io("remove", file, error)),
                }
            }
            Ok(())
        })
    }
}
