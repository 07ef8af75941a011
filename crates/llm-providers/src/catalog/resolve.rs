//! From what the user names to a provider and a model.

use super::error::CatalogError;
use super::nearest::nearest;
use super::overrides::{checked_variable, forget_secrets, new_provider};
use super::{Catalog, ModelInfo, ProviderInfo, base_url};
use crate::wire::Wire;

/// The provider's name where the user gives only a URL and a model.
const CUSTOM: &str = "custom";

/// What the user names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// `provider/model`, or the id of a model that one provider alone has. A model's id may contain slashes:
    /// `openrouter/anthropic/claude-opus-5.5`.
    pub model: String,
    /// Where to send requests in place of the provider's own URL.
    pub base_url: Option<String>,
    /// The wire in place of the provider's own.
    pub wire: Option<Wire>,
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
    /// Whether the catalog lists the model.
    pub listed: bool,
}

impl Catalog {
    /// Returns the provider and the model that are selected.
    ///
    /// A base URL at another host than the provider's own does not get the provider's key and headers, unless
    /// the selection names a variable itself; and what the model costs there is not known.
    pub fn resolve(&self, selection: &Selection) -> Result<Resolved, CatalogError> {
        let (mut provider, id) = self.named(selection)?;
        if let Some(wire) = selection.wire {
            provider.wire = wire;
        }
        let mut moved = false;
        if let Some(base) = &selection.base_url {
            let base = base_url::normalized(base, provider.wire)
                .map_err(|reason| CatalogError::option("--base-url", reason))?;
            moved = !base_url::same_origin(&provider.base_url, &base);
            if moved {
                forget_secrets(&mut provider);
            }
            provider.base_url = base;
        }
        if let Some(variable) = &selection.api_key_env {
            provider.api_key_env = checked_variable(variable)
                .map_err(|reason| CatalogError::option("--api-key-env", reason))?;
            provider.key_optional = provider.api_key_env.is_none();
        }
        if selection.window == Some(0) {
            let reason = "is 0, but must be at least 1; name the model's context window in tokens";
            return Err(CatalogError::option("--window", reason));
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
            let reason = format!("is {text:?}; write PROVIDER/MODEL; agent-cli models lists them");
            return Err(CatalogError::option("--model", reason));
        }
        if let Some(provider) = first.and_then(|name| self.provider(name)) {
            return Ok((provider.clone(), rest.to_owned()));
        }
        let with_url = selection.base_url.is_some();
        if let (Some(name), true) = (first, with_url) {
            return Ok((new_provider(name), rest.to_owned()));
        }
        let same_id = |model: &&ModelInfo| model.id == text;
        let candidates: Vec<&ModelInfo> = self.models.values().filter(same_id).collect();
        match (candidates.as_slice(), first) {
            ([model], _) => match self.providers.get(&model.provider) {
                Some(provider) => Ok((provider.clone(), model.id.clone())),
                None => Err(self.unknown_provider(&model.provider)),
            },
            ([], None) if with_url => Ok((new_provider(CUSTOM), text.to_owned())),
            ([], None) => Err(CatalogError::UnknownModel {
                model: text.to_owned(),
                nearest: self.near("", text),
            }),
            ([], Some(name)) => Err(self.unknown_provider(name)),
            // A bare id with a URL: it does not matter whose it is.
            (_, _) if with_url => Ok((new_provider(CUSTOM), text.to_owned())),
            (candidates, _) => Err(CatalogError::AmbiguousModel {
                model: text.to_owned(),
                candidates: candidates.iter().map(|model| model.full_name()).collect(),
            }),
        }
    }

    fn unknown_provider(&self, name: &str) -> CatalogError {
        CatalogError::UnknownProvider {
            name: name.to_owned(),
            nearest: nearest(name, self.providers.keys().map(String::as_str)),
        }
    }

    /// Returns full names near to a model's: the same id elsewhere, then that provider's, then all.
    fn near(&self, provider: &str, id: &str) -> Vec<String> {
        let asked = format!("{provider}/{id}");
        let elsewhere = self.models.values().filter(|model| model.id == asked);
        let elsewhere: Vec<String> = elsewhere.map(ModelInfo::full_name).collect();
        if !elsewhere.is_empty() {
            return elsewhere;
        }
        let names = |own: bool| {
            let models = self.models.values();
            let models = models.filter(move |model| !own || model.provider == provider);
            let near = nearest(id, models.clone().map(|model| model.id.as_str()));
            let full = models.filter(|model| near.contains(&model.id));
            let mut full: Vec<&ModelInfo> = full.collect();
            full.sort_by_key(|model| near.iter().position(|id| *id == model.id));
            full.into_iter()
                .map(ModelInfo::full_name)
                .take(3)
                .collect::<Vec<_>>()
        };
        match names(true) {
            own if own.is_empty() => names(false),
            own => own,
        }
    }
}
