//! The whole text of outputs that were cut: next to a session that is a file, else in its store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_tools::{FetchOutput, ToolOutput};
use session_store::{OutputStore, SessionCatalog, SessionStore, outputs_path};
use session_tools::asking::stored_output;
use tempfile::TempDir;

/// Where whole outputs go.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    /// Those of all sessions, in a store that has no files here.
    stored: Option<Arc<dyn OutputStore>>,
    /// Where they are while the session runs.
    scratch: Option<Arc<TempDir>>,
    session: String,
}

impl Outputs {
    pub fn of(catalog: &dyn SessionCatalog, store: &dyn SessionStore) -> Self {
        let stored = catalog.outputs().filter(|_| store.local().is_none());
        let scratch = || tempfile::Builder::new().prefix("agent-cli-").tempdir().ok();
        Self {
            scratch: stored.as_ref().and_then(|_| scratch()).map(Arc::new),
            stored,
            session: store.id().to_owned(),
        }
    }

    /// Returns the folder that tools write them to.
    pub fn folder(&self, store: &dyn SessionStore) -> Option<PathBuf> {
        let scratch = self.scratch.as_ref();
        let scratch = scratch.map(|scratch| outputs_path(&scratch.path().join("session.jsonl")));
        store.local().map(|files| files.outputs).or(scratch)
    }

    /// Returns what fetches those of earlier runs.
    pub fn fetch(&self) -> Option<FetchOutput> {
        let stored = self.stored.clone()?;
        Some(FetchOutput::new(move |name| stored_output(&*stored, name)))
    }

    /// Stores the whole text of a result.
    ///
    /// # Errors
    /// Why that is not possible.
    pub async fn keep(&self, output: &ToolOutput) -> Result<(), String> {
        let details = output.details.as_ref();
        let path = details.and_then(|details| details["full_output_path"].as_str());
        let (Some(stored), Some(path)) = (&self.stored, path.map(Path::new)) else {
            return Ok(());
        };
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kept = stored.put(&self.session, &name, bytes).await;
        kept.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use serde_json::json;
    use session_store::{MemoryCatalog, MemoryStore, StoreError, StoreFuture};

    use super::*;

    #[derive(Debug, Default)]
    struct Kept(Mutex<BTreeMap<String, Vec<u8>>>);

    impl OutputStore for Kept {
        fn put<'a>(
            &'a self,
            session: &'a str,
            name: &'a str,
            bytes: Vec<u8>,
        ) -> StoreFuture<'a, ()> {
            Box::pin(async move {
                if session == "full" {
                    return Err(StoreError::usage("no room"));
                }
                self.0.lock().unwrap().insert(name.to_owned(), bytes);
                Ok(())
            })
        }

        fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
            Box::pin(async move { Ok(self.0.lock().unwrap().get(name).cloned()) })
        }
    }

    fn outputs(session: &str) -> Outputs {
        Outputs {
            stored: Some(Arc::new(Kept::default())),
            scratch: Some(Arc::new(tempfile::tempdir().unwrap())),
            session: session.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_whole_output_is_there_when_its_file_is_gone() {
        let store = MemoryStore::new("/p");
        for session in ["s", "full"] {
            let outputs = outputs(session);
            let folder = outputs.folder(&store).expect("a folder");
            std::fs::create_dir(&folder).unwrap();
            let file = folder.join("bash-1.txt");
            std::fs::write(&file, "all of it").unwrap();
            let result = ToolOutput::text("all").with_details(json!({ "full_output_path": file }));
            let kept = outputs.keep(&result).await;
            let fetch = outputs.fetch().expect("a store");
            drop(outputs);
            assert!(!file.exists());
            let again = fetch.get("bash-1.txt");
            assert_eq!(again.is_some(), kept.is_ok(), "{kept:?}");
            assert_eq!(kept.is_err(), session == "full", "{kept:?}");
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_where_the_catalog_has_no_outputs() {
        let store = MemoryStore::new("/p");
        let outputs = Outputs::of(&MemoryCatalog::new(), &store);
        assert_eq!(outputs.folder(&store), None);
        assert!(outputs.fetch().is_none());
    }
}
