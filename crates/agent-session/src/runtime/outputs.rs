//! The whole text of outputs that were cut: next to a session that is a file, else in its store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_tools::{Archive, ToolOutput};
use session_store::{SessionCatalog, SessionStore, outputs_path};
use session_tools::asking::Stored;
use tempfile::TempDir;

/// Where whole outputs go.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    archive: Arc<Stored>,
    /// Where they are while the session runs, in a store that has no files here.
    scratch: Option<Arc<TempDir>>,
}

impl Outputs {
    pub fn of(catalog: &Arc<dyn SessionCatalog>, store: &dyn SessionStore) -> Self {
        let outputs = store.locator().and_then(|at| catalog.outputs(at));
        let scratch = outputs.as_ref().filter(|_| store.local().is_none());
        let scratch = scratch.and_then(|_| {
            let made = tempfile::Builder::new().prefix("agent-cli-").tempdir();
            made.ok().map(Arc::new)
        });
        let catalog = catalog.clone();
        Self {
            archive: Arc::new(Stored { catalog, outputs }),
            scratch,
        }
    }

    /// Returns the folder that tools write them to.
    pub fn folder(&self, store: &dyn SessionStore) -> Option<PathBuf> {
        let scratch = self.scratch.as_ref();
        let scratch = scratch.map(|scratch| outputs_path(&scratch.path().join("session.jsonl")));
        store.local().map(|files| files.outputs).or(scratch)
    }

    /// Returns where those of earlier runs are.
    pub fn archive(&self) -> Arc<dyn Archive> {
        self.archive.clone()
    }

    /// Stores the whole text of a result.
    ///
    /// # Errors
    /// Why that is not possible.
    pub async fn keep(&self, output: &ToolOutput) -> Result<(), String> {
        let details = output.details.as_ref();
        let path = details.and_then(|details| details["full_output_path"].as_str());
        let stored = self.archive.outputs.as_ref();
        let stored = stored.filter(|_| self.scratch.is_some());
        let (Some(stored), Some(path)) = (stored, path.map(Path::new)) else {
            return Ok(());
        };
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kept = stored.put(&name, bytes).await;
        kept.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use serde_json::json;
    use session_store::{MemoryCatalog, MemoryStore, OutputStore, StoreError, StoreFuture};

    use super::*;

    /// Outputs, and whether there is no room for more.
    #[derive(Debug)]
    struct Kept(Mutex<BTreeMap<String, Vec<u8>>>, bool);

    impl OutputStore for Kept {
        fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
            Box::pin(async move {
                if self.1 {
                    return Err(StoreError::usage("no room"));
                }
                self.0.lock().unwrap().insert(name.to_owned(), bytes);
                Ok(())
            })
        }

        fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
            Box::pin(async move { Ok(self.0.lock().unwrap().get(name).cloned()) })
        }

        fn names(&self) -> StoreFuture<'_, Vec<String>> {
            Box::pin(async { Ok(self.0.lock().unwrap().keys().cloned().collect()) })
        }
    }

    fn outputs(is_full: bool) -> Outputs {
        Outputs {
            archive: Arc::new(Stored {
                catalog: Arc::new(MemoryCatalog::new()),
                outputs: Some(Arc::new(Kept(Mutex::default(), is_full))),
            }),
            scratch: Some(Arc::new(tempfile::tempdir().unwrap())),
        }
    }

    #[tokio::test]
    async fn a_whole_output_is_there_when_its_file_is_gone() {
        let store = MemoryStore::new("/p");
        for is_full in [false, true] {
            let outputs = outputs(is_full);
            let folder = outputs.folder(&store).expect("a folder");
            std::fs::create_dir(&folder).unwrap();
            let file = folder.join("bash-1.txt");
            std::fs::write(&file, "all of it").unwrap();
            let result = ToolOutput::text("all").with_details(json!({ "full_output_path": file }));
            let kept = outputs.keep(&result).await;
            let archive = outputs.archive();
            drop(outputs);
            assert!(!file.exists());
            let again = archive.output("bash-1.txt");
            assert_eq!(again.is_some(), kept.is_ok(), "{kept:?}");
            assert_eq!(kept.is_err(), is_full, "{kept:?}");
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_where_the_catalog_has_no_outputs() {
        let store = MemoryStore::new("/p");
        let catalog: Arc<dyn SessionCatalog> = Arc::new(MemoryCatalog::new());
        let outputs = Outputs::of(&catalog, &store);
        assert_eq!(outputs.folder(&store), None);
        assert_eq!(outputs.archive().output("bash-1.txt"), None);
    }
}
