//! From what the user names to a provider and a model.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use llm_providers::{ApiProtocol, ModelInfo, ProviderInfo};

use super::error::{CatalogError, SelectionField};
use super::nearest::{MOST, nearest};
use super::overrides::{checked_variable, forget_secrets};
use super::{Catalog, base_url, embedded};

/// The provider's name if the user gives only a URL and a model.
const CUSTOM: &str = "custom";

/// The providers that sessions may name but that are not supported, with the reasons.
static UNSERVED: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| embedded("unserved.json", include_str!("unserved.json")));

/// The user's choice of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// `provider/model`, or the id of a model that one provider alone has. A model's id may contain slashes:
    /// `openrouter/anthropic/claude-opus-5.5`.
    pub model: String,
    /// The base URL of requests, which replaces the provider's own.
    pub base_url: Option<String>,
    /// The protocol, which replaces the provider's own.
    pub wire: Option<ApiProtocol>,
    /// The environment variable that holds the key, in place of the provider's own.
    pub api_key_env: Option<String>,
    /// The model's window in place of the catalog's.
    pub window: Option<u64>,
}

/// The provider and the model that a selection names.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The provider.
    pub provider: ProviderInfo,
    /// The model. What is not known of an unlisted one is `None`; it is offered tools.
    pub model: ModelInfo,
    /// True if the catalog lists the model.
    pub listed: bool,
}

impl Catalog {
    /// Returns the provider and the model that are selected.
    ///
    /// A base URL at another host than the provider's own does not get the provider's key and headers, unless the
    /// selection names a variable itself; and the model's prices there are not known.
    pub fn resolve(&self, selection: &Selection) -> Result<Resolved, CatalogError> {
        let (mut provider, id) = self.named(selection)?;
        if let Some(wire) = selection.wire {
            provider.wire = wire;
        }
        let mut moved = false;
        if let Some(base) = &selection.base_url {
            let base = base_url::normalized(base, provider.wire)
                .map_err(|reason| CatalogError::selection(SelectionField::BaseUrl, reason))?;
            moved = !base_url::same_origin(&provider.base_url, &base);
            if moved {
                forget_secrets(&mut provider);
            }
            provider.base_url = base;
        }
        if let Some(variable) = &selection.api_key_env {
            provider.api_key_env = checked_variable(variable)
                .map_err(|reason| CatalogError::selection(SelectionField::ApiKeyEnv, reason))?;
            provider.key_optional = provider.api_key_env.is_none();
        }
        if selection.window == Some(0) {
            let reason = "is 0, but must be at least 1; name the model's context window in tokens";
            return Err(CatalogError::selection(SelectionField::Window, reason));
        }
        let listed = self.models.get(&format!("{}/{id}", provider.name));
        let known =
            provider.any_model || selection.base_url.is_some() || selection.window.is_some();
        let mut model = match listed {
            Some(model) => model.clone(),
            None if known => ModelInfo::unlisted(&provider.name, &id),
            None => {
                return Err(CatalogError::UnlistedModel {
                    nearest: self.near(&provider.name, &id),
                    provider: provider.name,
                    model: id,
                });
            }
        };
        let by_id = || provider.compat.platform.wire_of(&model.id);
        if let Some(wire) = selection.wire.or(model.wire).or_else(by_id)
            && let Some(compat) = provider.wires.get(&wire).copied()
        {
            provider.wire = wire;
            provider.compat = compat;
            provider.base_url = base_url::normalized(&provider.base_url, wire)
                .map_err(|reason| CatalogError::selection(SelectionField::BaseUrl, reason))?;
        }
        model.compat.apply(&mut provider.compat);
        provider.own_compat.apply(&mut provider.compat);
        let extra = std::mem::take(&mut model.extra_body);
        provider.extra_body.merge(&extra);
        provider
            .headers
            .extend(std::mem::take(&mut model.extra_headers.0));
        let can = &mut model.capabilities;
        if let Some(window) = selection.window {
            can.window = Some(window);
            can.max_output = can.max_output.map(|cap| cap.min(window));
        }
        if moved {
            model.prices.clear();
        }
        Ok(Resolved {
            provider,
            model,
            listed: listed.is_some(),
        })
    }

    /// Returns the provider that the selection names, as the catalog has it, and the model's id.
    fn named(&self, selection: &Selection) -> Result<(ProviderInfo, String), CatalogError> {
        let text = selection.model.trim();
        let (first, rest) = match text.split_once('/') {
            Some((first, rest)) => (Some(first), rest),
            None => (None, text),
        };
        if rest.is_empty() || first == Some("") {
            let reason = format!("is {text:?}; write PROVIDER/MODEL");
            return Err(CatalogError::selection(SelectionField::Model, reason));
        }
        if let Some(provider) = first.and_then(|name| self.provider(name)) {
            return Ok((provider.clone(), rest.to_owned()));
        }
        let with_url = selection.base_url.is_some();
        if let (Some(name), true) = (first, with_url) {
            return Ok((ProviderInfo::unlisted(name), rest.to_owned()));
        }
        let same_id = self.models.values().filter(|model| model.id == text);
        let (gateways, makers): (Vec<&ModelInfo>, Vec<&ModelInfo>) =
            same_id.partition(|model| self.is_gateway(model));
        let candidates = match makers.is_empty() {
            true => gateways,
            false => makers,
        };
        match (candidates.as_slice(), first) {
            ([model], _) => match self.providers.get(&model.provider) {
                Some(provider) => Ok((provider.clone(), model.id.clone())),
                None => Err(self.unknown_provider(&model.provider)),
            },
            ([], None) if with_url => Ok((ProviderInfo::unlisted(CUSTOM), text.to_owned())),
            ([], None) => Err(CatalogError::UnknownModel {
                model: text.to_owned(),
                nearest: self.near("", text),
            }),
            ([], Some(name)) => Err(self.unknown_provider(name)),
            // A bare id with a URL: it does not matter whose it is.
            (_, _) if with_url => Ok((ProviderInfo::unlisted(CUSTOM), text.to_owned())),
            (candidates, _) => Err(CatalogError::AmbiguousModel {
                model: text.to_owned(),
                candidates: candidates.iter().map(|model| model.full_name()).collect(),
            }),
        }
    }

    /// Returns the error for a provider that is not in the catalog.
    pub fn unknown_provider(&self, name: &str) -> CatalogError {
        if let Some(reason) = UNSERVED.get(name) {
            return CatalogError::UnservedProvider {
                name: name.to_owned(),
                reason: reason.clone(),
            };
        }
        CatalogError::UnknownProvider {
            name: name.to_owned(),
            nearest: nearest(name, self.providers.keys().map(String::as_str)),
        }
    }

    /// Returns full names near to a model's: the same id elsewhere, then that provider's, then all.
    fn near(&self, provider: &str, id: &str) -> Vec<String> {
        let asked = format!("{provider}/{id}");
        let elsewhere = self.models.values().filter(|model| model.id == asked);
        let elsewhere = elsewhere.map(ModelInfo::full_name).take(MOST);
        let elsewhere: Vec<String> = elsewhere.collect();
        if !elsewhere.is_empty() {
            return elsewhere;
        }
        let gateway = |model: &&ModelInfo| self.is_gateway(model);
        let own = self
            .models
            .values()
            .filter(|model| model.provider == provider);
        let makers = self.models.values().filter(|model| !gateway(model));
        let found = [
            own.collect(),
            makers.collect(),
            self.models.values().collect(),
        ]
        .map(|models: Vec<&ModelInfo>| near_ids(id, &models));
        found
            .into_iter()
            .find(|names| !names.is_empty())
            .unwrap_or_default()
    }

    fn is_gateway(&self, model: &ModelInfo) -> bool {
        let provider = self.providers.get(&model.provider);
        provider.is_some_and(|provider| provider.gateway)
    }
}

/// Returns the full names of the models with ids near to `id`, best first.
fn near_ids(id: &str, models: &[&ModelInfo]) -> Vec<String> {
    let near = nearest(id, models.iter().map(|model| model.id.as_str()));
    let mut full: Vec<_> = models
        .iter()
        .filter_map(|model| Some((near.iter().position(|id| *id == model.id)?, model)))
        .collect();
    full.sort_by_key(|(place, _)| *place);
    let names = full.into_iter().map(|(_, model)| model.full_name());
    names.take(MOST).collect()
}
