//! Providers and models as data: where they are, what they can do, what they cost.
//!
//! [`Catalog::embedded`] reads files that are part of the program, [`Catalog::apply`] puts a user's
//! [`Overrides`] on top, and [`Catalog::resolve`] turns a [`Selection`] into a provider and a model. What is
//! not in the catalog is not guessed from names. Each model says where its facts come from and when they were
//! read; a price that is announced to end is not entered, the lasting one is.
//!
//! ```
//! use llm_providers::catalog::{Catalog, Selection};
//!
//! let found = Catalog::embedded().resolve(&Selection {
//!     model: "ollama/qwen3:8b".to_owned(),
//!     window: Some(32_768),
//!     ..Selection::default()
//! })?;
//! assert_eq!(found.provider.base_url, "http://127.0.0.1:11434/v1");
//! assert!(!found.listed);
//! # Ok::<(), llm_providers::catalog::CatalogError>(())
//! ```

mod base_url;
mod error;
mod extra;
mod generated;
mod headers;
mod nearest;
mod overrides;
mod resolve;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use session_model::Usage;

use crate::capabilities::Capabilities;
use crate::wire::{ApiProtocol, ProviderCompat};

pub use error::{CatalogError, SelectionField};
pub use extra::ExtraBody;
pub use headers::Headers;
pub use overrides::{CompatOverride, ModelOverride, Overrides, ProviderOverride};
pub use resolve::{Resolved, Selection};

/// The header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Authorization,
    /// `api-key: KEY` (Azure).
    ApiKey,
    /// `x-api-key: KEY` (Anthropic).
    XApiKey,
    /// `x-goog-api-key: KEY` (Google).
    XGoogApiKey,
}

impl KeyHeader {
    /// Returns the header's name, and what stands before the key.
    pub(crate) const fn form(self) -> (&'static str, &'static str) {
        match self {
            Self::Authorization => ("authorization", "Bearer "),
            Self::ApiKey => ("api-key", ""),
            Self::XApiKey => ("x-api-key", ""),
            Self::XGoogApiKey => ("x-goog-api-key", ""),
        }
    }
}

/// Where a provider is and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProviderInfo {
    /// The name, for example `openai`.
    pub name: String,
    /// The base of its URLs, for example `https://api.openai.com/v1`; without a slash at the end, and without
    /// `/v1` for the messages wire, which adds it. May end in `?api-version=VERSION`.
    pub base_url: String,
    /// Other names of it, which other programs write into sessions.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The wire.
    pub wire: ApiProtocol,
    /// The environment variable that holds the key; `None` where none is sent.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// The header that carries the key, where it is not the usual one.
    #[serde(default)]
    pub key_header: Option<KeyHeader>,
    /// The header that carries what the requests of one conversation share.
    #[serde(default)]
    pub session_header: Option<String>,
    /// Whether requests without a key make sense.
    #[serde(default)]
    pub key_optional: bool,
    /// Further headers.
    #[serde(default)]
    pub headers: Headers,
    /// What differs from the plain form of the wire.
    #[serde(default)]
    pub compat: ProviderCompat,
    /// What the user says of that, which overrides what is known of a model.
    #[serde(skip)]
    pub own_compat: CompatOverride,
    /// Fields of each request, over which the encoded ones are merged.
    #[serde(default)]
    pub body_defaults: ExtraBody,
    /// Fields that the user adds to each request, merged last.
    #[serde(skip)]
    pub extra_body: ExtraBody,
    /// Further wires, which some of its models need, and what differs there.
    #[serde(default)]
    pub wires: BTreeMap<ApiProtocol, ProviderCompat>,
    /// Whether it serves what others make: a model's id without a provider names the maker's own service first.
    #[serde(default)]
    pub gateway: bool,
    /// Whether models that the catalog does not list are accepted (servers that serve what the user loaded).
    #[serde(default)]
    pub any_model: bool,
    /// Whether a key may go over plain http to a host that is not this one.
    #[serde(default)]
    pub allow_insecure: bool,
}

impl ProviderInfo {
    /// Returns the header that carries the key: what the settings name, that of Azure for a base URL with an
    /// `api-version`, or that of the wire.
    pub fn key_header(&self) -> KeyHeader {
        let usual = match self.wire {
            _ if base_url::is_versioned(&self.base_url) => KeyHeader::ApiKey,
            ApiProtocol::Responses | ApiProtocol::Chat => KeyHeader::Authorization,
            ApiProtocol::Messages => KeyHeader::XApiKey,
            ApiProtocol::Gemini => KeyHeader::XGoogApiKey,
            #[cfg(feature = "bedrock")]
            ApiProtocol::Converse => KeyHeader::Authorization,
        };
        self.key_header.unwrap_or(usual)
    }

    /// Fails when a key must not be sent to this provider: over plain http to a host that is not loopback,
    /// without `allowInsecure`. To be asked before a key or a header of the user's is sent.
    pub fn check_key_transport(&self) -> Result<(), CatalogError> {
        if self.allow_insecure || base_url::is_secure_transport(&self.base_url) {
            return Ok(());
        }
        Err(CatalogError::InsecureKey {
            provider: self.name.clone(),
            base_url: self.base_url.clone(),
        })
    }
}

/// What tokens cost from a size of the prompt on, in USD per million.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PriceTier {
    /// The tier holds for prompts larger than this many tokens; 0 for all.
    #[serde(default)]
    pub above: u64,
    /// Prompt tokens that were not cached.
    pub input: f64,
    /// Tokens of the answer.
    pub output: f64,
    /// Prompt tokens read from the cache; as `input` when not said.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache; as `input` when not said.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// Who says what is known of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactOrigin {
    /// A person compared the facts with their source.
    #[default]
    Checked,
    /// `cargo xtask models` copied them from a public list.
    Generated,
    /// The provider listed the model.
    Service,
    /// The settings.
    Settings,
}

impl FactOrigin {
    /// Returns the name that output uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Generated => "generated",
            Self::Service => "service",
            Self::Settings => "settings",
        }
    }
}

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelInfo {
    /// Its provider.
    pub provider: String,
    /// Its id, as requests name it; may contain slashes.
    pub id: String,
    /// The wire, where it is not that of the provider.
    #[serde(default)]
    pub wire: Option<ApiProtocol>,
    /// What it can do.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// What differs from the provider's other models.
    #[serde(default)]
    pub compat: CompatOverride,
    /// Fields that the user adds to each request, merged after those of the provider.
    #[serde(skip)]
    pub extra_body: ExtraBody,
    /// Headers that the user adds to each request.
    #[serde(skip)]
    pub extra_headers: Headers,
    /// What it costs, from the tier for all prompts upwards; empty when unknown.
    #[serde(default)]
    pub prices: Vec<PriceTier>,
    /// Where these facts come from; empty where nothing is known of the model.
    #[serde(default)]
    pub source: String,
    /// When they were read, as `YYYY-MM-DD`.
    #[serde(default)]
    pub date: String,
    /// Who says so.
    #[serde(default)]
    pub origin: FactOrigin,
}

impl ModelInfo {
    /// Returns `provider/id`, as people and settings name the model.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Returns a model of which only the name is known. It is offered tools, since a server that has none says so.
    pub fn unlisted(provider: &str, id: &str) -> Self {
        Self {
            source: String::new(),
            ..overrides::new_model(provider, id)
        }
    }

    /// Returns whether the catalog or the settings list the model, so that what it can do is known.
    pub fn is_known(&self) -> bool {
        !self.source.is_empty()
    }

    /// Returns what `usage` costs in USD, or `None` where no price is known or the usage is incomplete. The
    /// whole request is billed at the tier that the size of its prompt reaches.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        if usage.incomplete {
            return None;
        }
        let prompt = usage.prompt_tokens();
        let reached = |tier: &&PriceTier| tier.above == 0 || prompt > tier.above;
        let tier = self.prices.iter().rev().find(reached)?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts stay far below 2^53"
        )]
        let cost = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let parts = [
            cost(usage.input, tier.input),
            cost(usage.output, tier.output),
            cost(usage.cache_read, tier.cache_read.unwrap_or(tier.input)),
            cost(usage.cache_write, tier.cache_write.unwrap_or(tier.input)),
        ];
        Some(parts.iter().sum())
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

/// What a person compared with its source, in place of what was copied.
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

    /// Returns the catalog with the models that a provider lists. What was checked stays; what was copied from a
    /// public list stays where the provider says nothing.
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
