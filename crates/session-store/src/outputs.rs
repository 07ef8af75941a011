//! The whole text of outputs that were cut, in the folder next to a session that is a file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::StoreError;
use crate::new_file::{Contents, NewFile};
use crate::pending::make_folder;
use crate::sidecars::outputs_path;
use crate::traits::{OutputStore, StoreFuture};

/// The outputs of a session that is a file.
#[derive(Debug, Clone)]
pub struct FileOutputs(PathBuf);

impl FileOutputs {
    /// Returns the outputs of the session at a path.
    pub fn of(session: &Path) -> Self {
        Self(outputs_path(session))
    }

    /// Returns the path of an output; `None` where its name is that of no file.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let is_name = Path::new(name).file_name() == Some(name.as_ref()) && !name.contains('\0');
        is_name.then(|| self.0.join(name))
    }
}

impl OutputStore for FileOutputs {
    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let path = self.path(name).ok_or_else(|| {
                StoreError::usage(format!("{name:?} cannot be the name of an output"))
            })?;
            make_folder(&self.0)?;
            if path.symlink_metadata().is_ok() {
                return Ok(());
            }
            let contents = Contents::Memory(Arc::new(bytes));
            NewFile::prepare::<&str>(&path, contents, true, &[])?.keep()
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let Some(path) = self.path(name) else {
                return Ok(None);
            };
            match std::fs::read(&path) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(StoreError::io("read", path, error)),
            }
        })
    }

    fn names(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let paths = crate::catalog::entries(&self.0)?.into_iter();
            let files = paths.filter(|path| path.symlink_metadata().is_ok_and(|it| it.is_file()));
            let names = files.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
            Ok(names.collect())
        })
    }
}
