//! The catalog of sessions in files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_model::Leaf;

use crate::append::SyncPolicy;
use crate::catalog;
use crate::error::StoreError;
use crate::file::SessionFile;
use crate::file_layer::{FileLayer, SystemFiles};
use crate::file_store::{FileStore, file_name, parent_text};
use crate::locator::Locator;
use crate::lock::SessionLock;
use crate::new_file::NewFile;
use crate::outputs::FileOutputs;
use crate::pending::{make_folder, pending_path};
use crate::progress::ReadObserver;
use crate::row::{Page, Query, page_of};
use crate::sidecars::outputs_path;
use crate::stamp::header_now;
use crate::traits::{
    Carry, ForkSource, NewSession, OpenSession, OutputStore, SessionCatalog, StoreFuture,
};

/// Sessions in files below one root, in a folder for each working folder. Locators are paths.
#[derive(Debug, Clone)]
pub struct FileCatalog {
    root: PathBuf,
    folder: Option<PathBuf>,
    files: Arc<dyn FileLayer>,
    policy: SyncPolicy,
}

impl FileCatalog {
    /// Returns the catalog of the sessions below `root`. Every write is forced to the disk.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::through(root, Arc::new(SystemFiles))
    }

    /// Returns the catalog of the sessions below `root`, which are written through `files`.
    pub fn through(root: impl Into<PathBuf>, files: Arc<dyn FileLayer>) -> Self {
        Self {
            root: root.into(),
            folder: None,
            files,
            policy: SyncPolicy::Always,
        }
    }

    /// Returns the same catalog, whose sessions are synced by this policy.
    #[must_use]
    pub fn synced(self, policy: SyncPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Returns the same catalog, which makes all new sessions in one folder.
    #[must_use]
    pub fn making_in(self, folder: impl Into<PathBuf>) -> Self {
        let folder = Some(folder.into());
        Self { folder, ..self }
    }

    /// Returns a new session. There is no session file before the first answer, and no file at all before the first
    /// content worth keeping.
    ///
    /// # Errors
    /// The path of the parent cannot be determined.
    pub fn create_file(&self, new: NewSession) -> Result<FileStore, StoreError> {
        let folder = self.folder(&new.cwd);
        let header = header_now(new.cwd, parent_text(new.parent.as_ref())?);
        let store = FileStore::create_through(&folder, &header, self.files.clone());
        Ok(self.with_policy(store))
    }

    /// Returns a new session whose file the user named.
    ///
    /// # Errors
    /// Something has the name.
    pub fn create_at(&self, path: &Path, new: NewSession) -> Result<FileStore, StoreError> {
        let header = header_now(new.cwd, parent_text(new.parent.as_ref())?);
        let store = FileStore::create_at(path, &header, self.files.clone())?;
        Ok(self.with_policy(store))
    }

    /// Opens a session and locks it until the store is dropped.
    ///
    /// # Errors
    /// The session cannot be read, is locked, or has a form that cannot be appended to; what waits is not its own; the
    /// observer stopped it.
    pub fn open_file(
        &self,
        path: &Path,
        observer: &mut dyn ReadObserver,
    ) -> Result<FileStore, StoreError> {
        let store = FileStore::open_through(path, self.files.clone(), observer)?;
        Ok(self.with_policy(store))
    }

    fn with_policy(&self, mut store: FileStore) -> FileStore {
        store.log.set_sync_policy(self.policy);
        store
    }

    fn folder(&self, cwd: &str) -> PathBuf {
        let of_cwd = || catalog::folder_for(&self.root, Path::new(cwd));
        self.folder.clone().unwrap_or_else(of_cwd)
    }
}

impl SessionCatalog for FileCatalog {
    fn create(&self, new: NewSession) -> StoreFuture<'_, OpenSession> {
        Box::pin(async move { Ok(Box::new(self.create_file(new)?) as OpenSession) })
    }

    fn open<'a>(
        &'a self,
        at: &'a Locator,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, OpenSession> {
        Box::pin(
            async move { Ok(Box::new(self.open_file(at.as_path(), observer)?) as OpenSession) },
        )
    }

    fn read<'a>(
        &'a self,
        at: &'a Locator,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, SessionFile> {
        Box::pin(async move { SessionFile::open_observed(at.as_path(), observer) })
    }

    fn fork<'a>(
        &'a self,
        source: ForkSource<'a>,
        leaf: Leaf,
        cwd: &'a str,
        carry: Carry<'a>,
    ) -> StoreFuture<'a, OpenSession> {
        Box::pin(async move {
            let (folder, files) = (self.folder(cwd), self.files.clone());
            let store = FileStore::fork_through(&source, leaf, &folder, cwd, carry, files)?;
            self.with_policy(store).taking_over(source, self).await
        })
    }

    fn adopt<'a>(&'a self, session: &'a SessionFile) -> StoreFuture<'a, Locator> {
        Box::pin(async move {
            let Some(header) = session.tree().header() else {
                let reason = "it has no header, so it has no id to be found by";
                return Err(StoreError::session(&session.path, reason));
            };
            let known = catalog::list(&self.root, None)?;
            if known.iter().any(|row| row.id == header.id) {
                let id = header.id.clone();
                return Err(StoreError::AlreadyThere { id });
            }
            let folder = self.folder(&header.cwd);
            let name = file_name(&header.timestamp, &header.id);
            if name.contains(['/', '\\']) || name.contains("..") {
                let text = format!("the id {:?} cannot be the name of a file", header.id);
                return Err(StoreError::usage(text));
            }
            make_folder(&folder)?;
            let path = folder.join(name);
            NewFile::prepare::<&str>(&path, session.contents()?, true, &[])?.keep()?;
            Ok(Locator::of_path(&path))
        })
    }

    fn list<'a>(&'a self, query: Query<'a>) -> StoreFuture<'a, Page> {
        Box::pin(async move {
            let rows = catalog::list(&self.root, query.cwd.map(Path::new))?;
            Ok(page_of(rows, query))
        })
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
            // Its outputs are text of the session.
            match std::fs::remove_dir_all(outputs_path(path)) {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(StoreError::io("remove", outputs_path(path), error)),
            }
        })
    }

    fn outputs(&self, at: &Locator) -> Option<Arc<dyn OutputStore>> {
        Some(Arc::new(FileOutputs::of(at.as_path())))
    }
}
