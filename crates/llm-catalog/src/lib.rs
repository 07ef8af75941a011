//! Providers and models as data: addresses, capabilities, prices.
//!
//! [`Catalog::embedded`] reads files that are part of the program, [`Catalog::apply`] puts a user's
//! [`Overrides`] on top, and [`Catalog::resolve`] turns a [`Selection`] into a provider and a model. What is
//! not in the catalog is not guessed from names. Each model says where its facts come from and when they were
//! read; a price that is announced to end is not entered, the lasting one is.
//!
//! ```
//! use llm_catalog::{Catalog, Selection};
//!
//! let found = Catalog::embedded().resolve(&Selection {
//!     model: "ollama/qwen3:8b".to_owned(),
//!     window: Some(32_768),
//!     ..Selection::default()
//! })?;
//! assert_eq!(found.provider.base_url, "http://127.0.0.1:11434/v1");
//! assert!(!found.listed);
//! # Ok::<(), llm_catalog::CatalogError>(())
//! ```

mod base_url;
mod error;
mod generated;
mod nearest;
mod overrides;
mod resolve;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use llm_providers::{Capabilities, FactOrigin, ModelInfo, ProviderInfo};
use serde::Deserialize;

pub use error::{CatalogError, SelectionField};
pub use nearest::nearest;
pub use overrides::{ModelOverride, Overrides, ProviderOverride};
pub use resolve::{Resolved, Selection};

/// Fails when a key, or a header of the user's, must not be sent to this provider: over plain http to a host that is
/// not this machine, without `allowInsecure`.
///
/// # Errors
/// [`CatalogError::InsecureKey`].
pub fn check_key_transport(provider: &ProviderInfo) -> Result<(), CatalogError> {
    match provider.may_send_key() {
        true => Ok(()),
        false => Err(CatalogError::InsecureKey {
            provider: provider.name.clone(),
            base_url: provider.base_url.clone(),
        }),
    }
}

/// Providers and models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    providers: BTreeMap<String, ProviderInfo>,
    models: BTreeMap<String, ModelInfo>,
}

/// Parses a file that is part of the program.
///
/// # Panics
/// For a file that does not have the form of `T`; the tests of this module read all of them.
fn embedded<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Facts that a person compared with their source; they replace the copied ones.
#[derive(Deserialize)]
struct Checked {
    change: ModelOverride,
    source: String,
    date: String,
}

static EMBEDDED: LazyLock<Catalog> = LazyLock::new(|| {
    let files = [
        ("providers.json", include_str!("providers.json")),
        #[cfg(feature = "bedrock")]
        ("bedrock.json", include_str!("bedrock.json")),
        #[cfg(feature = "vertex")]
        ("vertex.json", include_str!("vertex.json")),
    ];
    let providers = files
        .into_iter()
        .flat_map(|(name, text)| embedded::<Vec<ProviderInfo>>(name, text));
    let providers: BTreeMap<String, ProviderInfo> = providers
        .map(|provider| (provider.name.clone(), provider))
        .collect();
    let models = generated::models().filter(|model| providers.contains_key(&model.provider));
    let models = models.map(|model| (model.full_name(), model)).collect();
    let mut catalog = Catalog { providers, models };
    let checked: BTreeMap<String, Checked> = embedded("models.json", include_str!("models.json"));
    for (
        name,
        Checked {
            change,
            source,
            date,
        },
    ) in checked
    {
        let changed = catalog.apply_model(&name, &change);
        changed.unwrap_or_else(|error| panic!("models.json: {error}"));
        if let Some(model) = catalog.models.get_mut(&name) {
            model.origin = FactOrigin::Checked;
            model.source = format!(
                "{} and {source}",
                model.source.trim_end_matches(overrides::CHANGED)
            );
            model.date = date;
        }
    }
    catalog
});

impl Catalog {
    /// Returns the catalog that is part of the program.
    pub fn embedded() -> Self {
        EMBEDDED.clone()
    }

    /// Returns the providers, by name.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderInfo> {
        self.providers.values()
    }

    /// Returns the models, by full name.
    pub fn models(&self) -> impl Iterator<Item = &ModelInfo> {
        self.models.values()
    }

    /// Returns a provider by its name, or else by another name of it.
    pub fn provider(&self, name: &str) -> Option<&ProviderInfo> {
        let is_alias = |provider: &&ProviderInfo| provider.aliases.iter().any(|own| own == name);
        let named = self.providers.get(name);
        named.or_else(|| self.providers.values().find(is_alias))
    }

    /// Returns the catalog with the models that a provider lists. Checked facts are kept; facts from a public list are
    /// kept if the provider does not state them.
    #[must_use]
    pub fn with_listed(mut self, listed: impl IntoIterator<Item = ModelInfo>) -> Self {
        for mut model in listed {
            let name = model.full_name();
            match self.models.get(&name) {
                Some(known) if known.origin != FactOrigin::Generated => continue,
                Some(known) => {
                    let said = model.capabilities;
                    model.wire = known.wire;
                    model.capabilities = Capabilities {
                        window: said.window.or(known.capabilities.window),
                        max_output: said.max_output.or(known.capabilities.max_output),
                        ..known.capabilities
                    };
                    if model.prices.is_empty() {
                        model.prices.clone_from(&known.prices);
                    }
                }
                None => {}
            }
            self.models.insert(name, model);
        }
        self
    }

    /// Returns a listed model by `provider/id`.
    pub fn model(&self, full_name: &str) -> Option<&ModelInfo> {
        let (provider, id) = full_name.split_once('/')?;
        let provider = &self.provider(provider)?.name;
        self.models.get(&format!("{provider}/{id}"))
    }
}

#[cfg(test)]
mod tests;
