//! Changes and additions of the user to the catalog.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use llm_providers::{
    ApiProtocol, CompatOverride, ExtraBody, FactOrigin, Headers, KeyHeader, ModelInfo, Platform,
    PriceTier, ProviderInfo,
};

use super::error::{CatalogError, meant};
use super::nearest::nearest;
use super::{Catalog, base_url};

/// A user's changes and additions. Absent members change nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Overrides {
    /// Providers by name. A new one needs `baseUrl`.
    pub providers: BTreeMap<String, ProviderOverride>,
    /// Models by `provider/id`. A new one needs `window`.
    pub models: BTreeMap<String, ModelOverride>,
}

/// Changes to a provider, or a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ProviderOverride {
    /// The base of its URLs; required for a new one. A host other than the provider's own does not get the key, unless
    /// `apiKeyEnv` is given.
    pub base_url: Option<String>,
    /// The protocol; chat for a new provider.
    pub wire: Option<ApiProtocol>,
    /// The environment variable that holds the key; empty for none.
    pub api_key_env: Option<String>,
    /// The header that carries the key, instead of the protocol's usual one.
    pub key_header: Option<KeyHeader>,
    /// True if requests without a key make sense.
    pub key_optional: Option<bool>,
    /// Headers in addition to those of the catalog.
    pub headers: Option<Headers>,
    /// Headers of requests to models, none that carries a key; those of `headers` may.
    pub extra_headers: Option<Headers>,
    /// Fields of requests to models, merged last; null takes a field away.
    pub extra_body: Option<ExtraBody>,
    /// Differences from the plain form of the protocol.
    pub compat: Option<CompatOverride>,
    /// True if unlisted models are accepted; true for a new provider.
    pub any_model: Option<bool>,
    /// True if a key may be sent over plain http to another host.
    pub allow_insecure: Option<bool>,
}

/// Changes to a model, or a new one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelOverride {
    /// The window in tokens; required for a new model.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub window: Option<u64>,
    /// The most that it answers in tokens; at most the window.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_output: Option<u64>,
    /// True if it calls tools; true for a new model.
    pub tools: Option<bool>,
    /// True if it accepts images.
    pub images: Option<bool>,
    /// True if it can think.
    pub reasoning: Option<bool>,
    /// True if it takes a level of thinking instead of a budget (protocol `messages`).
    pub adaptive_thinking: Option<bool>,
    /// True if the standalone form of native compaction works.
    pub native_standalone: Option<bool>,
    /// True if the in-band form of native compaction works.
    pub native_in_band: Option<bool>,
    /// Its prices, which replace those of the catalog.
    pub prices: Option<Vec<PriceTier>>,
    /// Headers of its requests, as those of the provider.
    pub extra_headers: Option<Headers>,
    /// Fields of its requests, merged after those of the provider.
    pub extra_body: Option<ExtraBody>,
}

/// Appended to the name of a source whose facts the settings change.
pub(super) const CHANGED: &str = "; changed in the settings";

impl Catalog {
    /// Returns the catalog with a user's changes and additions, or the first setting that cannot be used.
    pub fn apply(mut self, overrides: &Overrides) -> Result<Self, CatalogError> {
        for (name, change) in &overrides.providers {
            self.apply_provider(name, change)?;
        }
        for (name, change) in &overrides.models {
            self.apply_model(name, change)?;
        }
        Ok(self)
    }

    fn apply_provider(
        &mut self,
        name: &str,
        change: &ProviderOverride,
    ) -> Result<(), CatalogError> {
        let key = |field: &str| format!("providers.{name}{field}");
        let known = self.providers.get(name).cloned();
        if name.is_empty() || name.contains(['/', ' ']) || name.chars().any(char::is_control) {
            let reason = "a provider's name is one word without a slash";
            return Err(CatalogError::setting(key(""), reason));
        }
        let is_new = known.is_none();
        let mut provider = known.unwrap_or_else(|| ProviderInfo::unlisted(name));
        if let Some(wire) = change.wire {
            provider.compat = *provider.wires.get(&wire).unwrap_or(&provider.compat);
            provider.wire = wire;
            provider.wires.clear();
        }
        let before = std::mem::take(&mut provider.base_url);
        let base = change.base_url.as_deref().unwrap_or(&before);
        if is_new && change.base_url.is_none() {
            let reason = "a new provider needs one, such as http://127.0.0.1:8000/v1";
            return Err(CatalogError::setting(key(".baseUrl"), reason));
        }
        provider.base_url = base_url::normalized(base, provider.wire)
            .map_err(|reason| CatalogError::setting(key(".baseUrl"), reason))?;
        if !is_new && !base_url::same_origin(&before, &provider.base_url) {
            forget_secrets(&mut provider);
        }
        if let Some(variable) = &change.api_key_env {
            provider.api_key_env = checked_variable(variable)
                .map_err(|reason| CatalogError::setting(key(".apiKeyEnv"), reason))?;
            provider.key_optional = provider.api_key_env.is_none();
        }
        provider.key_header = change.key_header.or(provider.key_header);
        set(&mut provider.key_optional, change.key_optional);
        let given = [
            (".headers", &change.headers),
            (".extraHeaders", &change.extra_headers),
        ];
        for (field, headers) in given {
            check_headers(headers.as_ref(), &key(field), field == ".extraHeaders")?;
            provider
                .headers
                .extend(headers.clone().unwrap_or_default().0);
        }
        provider.extra_body = checked_body(change.extra_body.as_ref(), &key(".extraBody"))?;
        if let Some(compat) = change.compat {
            let further = provider.wires.values_mut();
            for own in further.chain([&mut provider.compat]) {
                compat.apply(own);
            }
            provider.own_compat = compat;
        }
        set(&mut provider.any_model, change.any_model);
        set(&mut provider.allow_insecure, change.allow_insecure);
        self.providers.insert(name.to_owned(), provider);
        Ok(())
    }

    pub(super) fn apply_model(
        &mut self,
        name: &str,
        change: &ModelOverride,
    ) -> Result<(), CatalogError> {
        let key = |field: &str| format!("models.{name}{field}");
        let (given, id) = match name.split_once('/') {
            Some((provider, id)) if !provider.is_empty() && !id.is_empty() => (provider, id),
            _ => {
                let reason = "a model is named PROVIDER/MODEL";
                return Err(CatalogError::setting(key(""), reason));
            }
        };
        let Some(provider) = self.provider(given).map(|known| known.name.clone()) else {
            let near = nearest(given, self.providers.keys().map(String::as_str));
            let reason = format!("no provider {given}{}; add providers.{given}", meant(&near));
            return Err(CatalogError::setting(key(""), reason));
        };
        let full_name = format!("{provider}/{id}");
        let is_new = !self.models.contains_key(&full_name);
        if is_new && change.window.is_none() {
            let reason = "a new model needs its window, in tokens";
            return Err(CatalogError::setting(key(".window"), reason));
        }
        let known = self.models.get(&full_name).cloned();
        let mut model = known.unwrap_or_else(|| ModelInfo {
            source: "settings".to_owned(),
            ..ModelInfo::unlisted(&provider, id)
        });
        for (field, value) in [
            (".window", change.window),
            (".maxOutput", change.max_output),
        ] {
            if value == Some(0) {
                let reason = "is 0, but must be at least 1 token";
                return Err(CatalogError::setting(key(field), reason));
            }
        }
        let can = &mut model.capabilities;
        can.window = change.window.or(can.window);
        // The catalog's cap is reduced to a smaller window of the user; the user's own cap must fit.
        can.max_output = match (change.max_output, can.window) {
            (Some(cap), Some(window)) if cap > window => {
                let reason = format!("is {cap}, but must not exceed the window, {window}");
                return Err(CatalogError::setting(key(".maxOutput"), reason));
            }
            (Some(cap), _) => Some(cap),
            (None, Some(window)) => can.max_output.map(|cap| cap.min(window)),
            (None, None) => can.max_output,
        };
        set(&mut can.tools, change.tools);
        set(&mut can.images, change.images);
        set(&mut can.reasoning, change.reasoning);
        set(&mut can.adaptive_thinking, change.adaptive_thinking);
        set(&mut can.native_standalone, change.native_standalone);
        set(&mut can.native_in_band, change.native_in_band);
        if let Some(prices) = &change.prices {
            check_prices(prices)
                .map_err(|(field, reason)| CatalogError::setting(key(&field), reason))?;
            model.prices.clone_from(prices);
        }
        check_headers(change.extra_headers.as_ref(), &key(".extraHeaders"), true)?;
        model.extra_headers = change.extra_headers.clone().unwrap_or_default();
        model.extra_body = checked_body(change.extra_body.as_ref(), &key(".extraBody"))?;
        if !is_new {
            model.source.push_str(CHANGED);
            model.origin = FactOrigin::Settings;
        }
        self.models.insert(full_name, model);
        Ok(())
    }
}

/// Headers that the request itself sets, or that identify the sender.
const PROTECTED_HEADERS: [&str; 13] = [
    "accept",
    "anthropic-version",
    "api-key",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "proxy-authorization",
    "transfer-encoding",
    "x-api-key",
    "x-goog-api-key",
];

/// Checks headers of the user's. Their values may be secrets: they are not repeated.
fn check_headers(headers: Option<&Headers>, key: &str, extra: bool) -> Result<(), CatalogError> {
    for (name, value) in headers.into_iter().flat_map(|headers| headers.iter()) {
        let reason = match http::HeaderName::from_bytes(name.as_bytes()) {
            Err(_) => "is not the name of an HTTP header; use letters, digits and -",
            Ok(header) if extra && PROTECTED_HEADERS.contains(&header.as_str()) => {
                "is set by the program; for a key, use apiKeyEnv and keyHeader of the provider"
            }
            Ok(_) if http::HeaderValue::from_str(value).is_err() => {
                "its value cannot stand in an HTTP header; use visible ASCII characters"
            }
            Ok(_) => continue,
        };
        return Err(CatalogError::setting(format!("{key}.{name}"), reason));
    }
    Ok(())
}

/// Returns fields of the user's for a body, unless one of them is protected.
fn checked_body(body: Option<&ExtraBody>, key: &str) -> Result<ExtraBody, CatalogError> {
    let body = body.cloned().unwrap_or_default();
    match body.protected() {
        None => Ok(body),
        Some(name) => {
            let reason = "is set by the program: messages, tools, model and stream cannot be changed, and \
                          agent-cli shortens the conversation itself; leave it out";
            Err(CatalogError::setting(format!("{key}.{name}"), reason))
        }
    }
}

/// Takes from a provider that moved to another host what was meant for the old one.
pub(super) fn forget_secrets(provider: &mut ProviderInfo) {
    provider.api_key_env = None;
    provider.key_optional = true;
    provider.headers.clear();
    provider.extra_body = ExtraBody::default();
    // A cloud speaks the same at another address.
    if provider.compat.platform == Platform::Plain {
        provider.wires.clear();
    }
    provider.allow_insecure = false;
}

/// Returns the name of an environment variable, `None` when it is empty, or why it cannot be one.
pub(super) fn checked_variable(name: &str) -> Result<Option<String>, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match name {
        "" => Ok(None),
        name if name.bytes().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) => {
            Ok(Some(name.to_owned()))
        }
        // It may be the key itself: it is not repeated.
        _ => Err(
            "is not the name of an environment variable; name the variable that holds the key, such as \
             OPENAI_API_KEY"
                .to_owned(),
        ),
    }
}

/// Checks that prices begin with the tier for all prompts, ascend, and are numbers that can be paid.
pub(super) fn check_prices(tiers: &[PriceTier]) -> Result<(), (String, String)> {
    for (index, tier) in tiers.iter().enumerate() {
        let field = |name: &str| format!(".prices[{index}].{name}");
        let below = index.checked_sub(1).map(|index| tiers[index].above);
        let above = tier.above;
        match below {
            None if above != 0 => {
                let reason =
                    format!("is {above}, but the first tier holds for all prompts; write 0");
                return Err((field("above"), reason));
            }
            Some(below) if above <= below => {
                let reason = format!("is {above}, but must be more than {below}; tiers ascend");
                return Err((field("above"), reason));
            }
            None | Some(_) => {}
        }
        let prices = [
            ("input", Some(tier.input)),
            ("output", Some(tier.output)),
            ("cacheRead", tier.cache_read),
            ("cacheWrite", tier.cache_write),
        ];
        for (name, price) in prices {
            if let Some(price) = price.filter(|price| !price.is_finite() || *price < 0.0) {
                let reason =
                    format!("is {price}, but must be 0 or more, in USD per million tokens");
                return Err((field(name), reason));
            }
        }
    }
    Ok(())
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
