//! A provider and a model as requests need them: address, capabilities, prices.

use std::collections::BTreeMap;

use reqwest::Url;
use serde::{Deserialize, Serialize};
use session_model::Usage;

use crate::capabilities::Capabilities;
use crate::extra_body::ExtraBody;
use crate::headers::Headers;
use crate::loopback::is_loopback;
use crate::wire::{ApiProtocol, CompatOverride, ProviderCompat};

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
    /// Returns the header's name, and the prefix of the key.
    pub(crate) const fn form(self) -> (&'static str, &'static str) {
        match self {
            Self::Authorization => ("authorization", "Bearer "),
            Self::ApiKey => ("api-key", ""),
            Self::XApiKey => ("x-api-key", ""),
            Self::XGoogApiKey => ("x-goog-api-key", ""),
        }
    }
}

/// The address and the protocol of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProviderInfo {
    /// The name, for example `openai`.
    pub name: String,
    /// The base of its URLs, for example `https://api.openai.com/v1`; without a slash at the end, and without `/v1` for
    /// the Messages protocol, which adds it. May end in `?api-version=VERSION`.
    pub base_url: String,
    /// Other names of the provider, which other programs write into sessions.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The protocol.
    pub wire: ApiProtocol,
    /// The environment variable that holds the key; `None` where none is sent.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// The header that carries the key, if it is not the usual one.
    #[serde(default)]
    pub key_header: Option<KeyHeader>,
    /// The header that carries what the requests of one conversation share.
    #[serde(default)]
    pub session_header: Option<String>,
    /// True if requests without a key make sense.
    #[serde(default)]
    pub key_optional: bool,
    /// Further headers.
    #[serde(default)]
    pub headers: Headers,
    /// Differences from the plain form of the protocol.
    #[serde(default)]
    pub compat: ProviderCompat,
    /// The user's differences, which override what is known of a model.
    #[serde(skip)]
    pub own_compat: CompatOverride,
    /// Fields of each request, over which the encoded ones are merged.
    #[serde(default)]
    pub body_defaults: ExtraBody,
    /// Fields that the user adds to each request, merged last.
    #[serde(skip)]
    pub extra_body: ExtraBody,
    /// Further protocols, which some of its models need, and the differences there.
    #[serde(default)]
    pub wires: BTreeMap<ApiProtocol, ProviderCompat>,
    /// True if it serves models of other makers: a model's id without a provider means the maker's own service first.
    #[serde(default)]
    pub gateway: bool,
    /// True if models that the catalog does not list are accepted (servers that serve what the user loaded).
    #[serde(default)]
    pub any_model: bool,
    /// True if a key may be sent over plain http to a host that is not this one.
    #[serde(default)]
    pub allow_insecure: bool,
}

impl ProviderInfo {
    /// Returns the header that carries the key: that of the settings, that of Azure for a base URL with an
    /// `api-version`, or that of the protocol.
    pub fn key_header(&self) -> KeyHeader {
        let usual = match self.wire {
            _ if is_versioned(&self.base_url) => KeyHeader::ApiKey,
            ApiProtocol::Responses | ApiProtocol::Chat => KeyHeader::Authorization,
            ApiProtocol::Messages => KeyHeader::XApiKey,
            ApiProtocol::Gemini => KeyHeader::XGoogApiKey,
            #[cfg(feature = "bedrock")]
            ApiProtocol::Converse => KeyHeader::Authorization,
        };
        self.key_header.unwrap_or(usual)
    }

    /// Returns true when a key, or a header of the user's, may be sent to this provider: over https, to this machine,
    /// or if `allowInsecure` permits it.
    pub fn may_send_key(&self) -> bool {
        self.allow_insecure || is_secure_transport(&self.base_url)
    }

    /// Returns a provider of which only the name is known.
    pub fn unlisted(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            aliases: Vec::new(),
            base_url: String::new(),
            wire: ApiProtocol::Chat,
            api_key_env: None,
            key_header: None,
            session_header: None,
            key_optional: true,
            headers: Headers::default(),
            compat: ProviderCompat::default(),
            own_compat: CompatOverride::default(),
            body_defaults: ExtraBody::default(),
            extra_body: ExtraBody::default(),
            wires: BTreeMap::new(),
            gateway: false,
            any_model: true,
            allow_insecure: false,
        }
    }
}

/// Prices of tokens from a size of the prompt on, in USD per million.
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
    /// Prompt tokens read from the cache; the same as `input` when absent.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache; the same as `input` when absent.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// The origin of the facts about a model.
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
    /// The protocol, if it is not that of the provider.
    #[serde(default)]
    pub wire: Option<ApiProtocol>,
    /// Its capabilities.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// Differences from the provider's other models.
    #[serde(default)]
    pub compat: CompatOverride,
    /// Fields that the user adds to each request, merged after those of the provider.
    #[serde(skip)]
    pub extra_body: ExtraBody,
    /// Headers that the user adds to each request.
    #[serde(skip)]
    pub extra_headers: Headers,
    /// Its prices, from the tier for all prompts upwards; empty when unknown.
    #[serde(default)]
    pub prices: Vec<PriceTier>,
    /// The source of these facts; empty if nothing is known of the model.
    #[serde(default)]
    pub source: String,
    /// The date of these facts, as `YYYY-MM-DD`.
    #[serde(default)]
    pub date: String,
    /// The origin of these facts.
    #[serde(default)]
    pub origin: FactOrigin,
}

impl ModelInfo {
    /// Returns `provider/id`, as people and settings name the model.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Returns a model of which only the name is known. Requests offer it tools, since a server without tools returns
    /// an error.
    pub fn unlisted(provider: &str, id: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            wire: None,
            capabilities: Capabilities {
                tools: true,
                ..Capabilities::default()
            },
            compat: CompatOverride::default(),
            extra_body: ExtraBody::default(),
            extra_headers: Headers::default(),
            prices: Vec::new(),
            source: String::new(),
            date: String::new(),
            origin: FactOrigin::Settings,
        }
    }

    /// Returns true if the catalog or the settings list the model, so that what it can do is known.
    pub fn is_known(&self) -> bool {
        !self.source.is_empty()
    }

    /// Returns the cost of `usage` in USD, or `None` if no price is known or the usage is incomplete. The whole request
    /// is billed at the tier that the size of its prompt reaches.
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

/// Returns true for a base URL with the version of Azure's interface.
fn is_versioned(base_url: &str) -> bool {
    base_url.contains("?api-version=")
}

/// Returns true if what is sent cannot be read on the way: https, or this very host.
pub(crate) fn is_secure_transport(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else {
        return false;
    };
    url.scheme() == "https" || url.host_str().is_some_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::is_secure_transport;

    #[test]
    fn secrets_go_over_https_or_nowhere() {
        for url in [
            "https://a.example",
            "http://127.0.0.1:8000",
            "http://127.9.9.9",
            "http://[::1]:8000/v1",
            "http://[::ffff:127.0.0.1]",
            "http://localhost:1234",
            "http://LOCALHOST",
            "http://llm.localhost",
        ] {
            assert!(is_secure_transport(url), "{url}");
        }
        for url in [
            "http://a.example",
            "http://10.0.0.2:8000",
            "http://0.0.0.0:8000",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "http://notlocalhost",
            "no url",
        ] {
            assert!(!is_secure_transport(url), "{url}");
        }
    }
}
