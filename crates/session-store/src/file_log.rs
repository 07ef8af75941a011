//! The log of a session in a file, from before the file appears.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_model::{Diagnostic, EntryId, SessionTree};

use crate::append::SyncPolicy;
use crate::error::StoreError;
use crate::file_layer::FileLayer;
use crate::locator::Locator;
use crate::log::{SessionLog, Weight};
use crate::persisted::Persisted;
use crate::queue::Queued;
use crate::sidecars::sidecars;
use crate::traits::StoreFuture;
use crate::unpersisted::Unpersisted;

/// The lines of a session in a file. There is no file before the first answer, and nothing at all before something
/// worth keeping was said.
#[derive(Debug)]
pub struct FileLog {
    pub(crate) place: Place,
    locator: Locator,
    policy: SyncPolicy,
    pub(crate) files: Arc<dyn FileLayer>,
}

/// Where the entries are.
#[derive(Debug)]
pub(crate) enum Place {
    /// In memory and, once there is something worth it, in the pending file.
    Unpersisted(Box<Unpersisted>),
    /// In the session's file.
    Persisted(Box<Persisted>),
}

impl FileLog {
    pub(crate) fn over(place: Place, files: Arc<dyn FileLayer>) -> Self {
        let path = match &place {
            Place::Unpersisted(unpersisted) => &unpersisted.path,
            Place::Persisted(persisted) => &persisted.writer.session.path,
        };
        Self {
            locator: Locator::of_path(path),
            place,
            policy: SyncPolicy::Always,
            files,
        }
    }

    /// Returns where the file is, or will be.
    pub fn path(&self) -> &Path {
        self.locator.as_path()
    }

    async fn append_lines(&mut self, lines: Vec<String>, weight: Weight) -> Result<(), StoreError> {
        match &mut self.place {
            Place::Persisted(persisted) => persisted.append(&lines).await,
            Place::Unpersisted(_) if weight == Weight::Answer => self.persist_with(&lines).await,
            Place::Unpersisted(unpersisted) => {
                let worth = weight != Weight::Start;
                unpersisted.append(lines, worth, self.policy).await
            }
        }
    }

    async fn persist_with(&mut self, lines: &[String]) -> Result<(), StoreError> {
        if let Place::Unpersisted(unpersisted) = &mut self.place {
            let persisted = unpersisted.persist(lines, self.policy, &self.files).await?;
            self.place = Place::Persisted(Box::new(persisted));
        }
        Ok(())
    }
}

impl SessionLog for FileLog {
    fn tree(&self) -> &SessionTree {
        match &self.place {
            Place::Unpersisted(unpersisted) => unpersisted.log.tree(),
            Place::Persisted(persisted) => persisted.writer.session.tree(),
        }
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        match &self.place {
            Place::Unpersisted(_) => &[],
            Place::Persisted(persisted) => &persisted.writer.session.decoded.diagnostics,
        }
    }

    fn bytes(&self) -> u64 {
        match &self.place {
            Place::Unpersisted(unpersisted) => unpersisted.log.len(),
            Place::Persisted(persisted) => persisted.writer.session.decoded.bytes,
        }
    }

    fn locator(&self) -> Option<&Locator> {
        Some(&self.locator)
    }

    fn is_persisted(&self) -> bool {
        matches!(self.place, Place::Persisted(_))
    }

    fn outputs(&self) -> Option<PathBuf> {
        let mut name = self.path().as_os_str().to_owned();
        name.push(".outputs");
        Some(PathBuf::from(name))
    }

    fn protected_files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.path().to_owned()];
        files.extend(sidecars(self.path()));
        files
    }

    fn readable_parent(&self, parent: EntryId) -> Option<EntryId> {
        match &self.place {
            Place::Unpersisted(_) => Some(parent),
            Place::Persisted(persisted) => persisted.readable_parent(parent),
        }
    }

    fn set_sync_policy(&mut self, policy: SyncPolicy) {
        self.policy = policy;
        if let Place::Persisted(persisted) = &mut self.place {
            persisted.writer.set_sync(policy);
        }
    }

    fn reload(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            match &mut self.place {
                Place::Unpersisted(_) => Ok(()),
                Place::Persisted(persisted) => persisted.reload(),
            }
        })
    }

    fn append(&mut self, lines: Vec<String>, weight: Weight) -> StoreFuture<'_, ()> {
        Box::pin(self.append_lines(lines, weight))
    }

    fn keep<'a>(&'a mut self, queued: &'a Queued) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let session = self.tree().header().map(|header| header.id.clone());
            match &mut self.place {
                Place::Unpersisted(unpersisted) => unpersisted.keep(queued, self.policy).await,
                Place::Persisted(persisted) => {
                    let session = session.unwrap_or_default();
                    persisted.keep(queued, &session, self.policy).await
                }
            }
        })
    }

    fn forget<'a>(&'a mut self, gone: &'a [EntryId], left: usize) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            match &mut self.place {
                Place::Unpersisted(unpersisted) => {
                    unpersisted.forget(gone, left, self.policy).await
                }
                Place::Persisted(persisted) => persisted.forget(gone, left, self.policy).await,
            }
        })
    }

    fn persist(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(self.persist_with(&[]))
    }

    fn sync(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            match &mut self.place {
                Place::Unpersisted(_) => Ok(()),
                Place::Persisted(persisted) => persisted.writer.sync(),
            }
        })
    }
}
