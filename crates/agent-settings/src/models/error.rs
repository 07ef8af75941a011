//! The error of finding out who answers.

use std::path::PathBuf;

use llm_catalog::CatalogError;
use llm_providers::ProviderError;

/// The reason why no model can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelsError {
    /// No model is named.
    #[error("no model is named")]
    NoModel,
    /// A name, an address or a window does not fit the catalog.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A setting or an environment variable cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// The key of a provider is not there.
    #[error("no key for {provider}: set {variable}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The environment variable that should hold it.
        variable: String,
    },
    /// The requested form of native compaction is not available for the model.
    #[error("{0} has no such native compaction on its wire")]
    NoNative(String),
    /// A record never takes the place of a file.
    #[error("{} exists", .0.display())]
    RecordExists(PathBuf),
    /// No provider is named whose models could be listed.
    #[error("no provider to ask")]
    NoProvider,
    /// Reading or writing failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The action that failed, as a verb.
        action: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The client cannot be set up, or a request failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl ModelsError {
    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: std::io::Error,
    ) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source,
        }
    }
}
