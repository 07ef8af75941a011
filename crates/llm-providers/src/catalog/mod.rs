//! Providers and models as data: where they are, what they can do, what they cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use session_model::Usage;

use crate::provider::Capabilities;
use crate::wire::{Quirks, Wire};

/// Where a provider is and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProviderInfo {
    /// The name, for example `openai`.
    pub name: String,
    /// The base of its URLs, for example `https://api.openai.com/v1`.
    pub base_url: String,
    /// The wire.
    pub wire: Wire,
    /// The environment variable that holds the key; `None` where none is needed.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Whether requests without a key make sense.
    #[serde(default)]
    pub key_optional: bool,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What differs from the plain form of the wire.
    #[serde(default)]
    pub quirks: Quirks,
    /// Whether models that the catalog does not list are accepted (servers that serve what the user loaded).
    #[serde(default)]
    pub any_model: bool,
}

/// What tokens cost from a size of the prompt on, in USD per million.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PriceTier {
    /// The tier holds for prompts larger than this many tokens.
    #[serde(default)]
    pub above: u64,
    /// Prompt tokens that were not cached.
    pub input: f64,
    /// Tokens of the answer.
    pub output: f64,
    /// Prompt tokens read from the cache.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelInfo {
    /// Its provider.
    pub provider: String,
    /// Its id, as requests name it.
    pub id: String,
    /// What it can do.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// What it costs; empty when unknown or free.
    #[serde(default)]
    pub prices: Vec<PriceTier>,
    /// Where these facts come from.
    #[serde(default)]
    pub source: String,
    /// When they were read, as `YYYY-MM-DD`.
    #[serde(default)]
    pub date: String,
}

impl ModelInfo {
    /// Returns what `usage` costs in USD, or `None` where no price is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let _ = usage;
        None
    }
}
