//! Turns settings into providers and models: the catalog, keys from the environment, the HTTP client, and candidates
//! for summaries.

mod cloud;
mod error;
mod http;
mod listed;
mod live;

use std::sync::Arc;

use compaction_core::Summarizer;
use llm_catalog::{Resolved, check_key_transport};
use llm_providers::{
    ApiProtocol, HttpClient, HttpProvider, ModelInfo, NativeForm, Provider as _, ProviderInfo,
    RemoteEndpoint, Secret,
};
use summarize::{Candidate, SummaryMethod};

use crate::AppSettings;

pub use error::ModelsError;
pub use http::{http_client, retry_policy};
pub use listed::{asked_provider, refresh, usable_catalog};
pub use live::live_models;

/// The forms of native compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum NativeChoice {
    /// The form that the model is known to have, if compaction.remoteEnabled.
    #[default]
    Auto,
    /// None.
    Off,
    /// One request to /responses/compact.
    Standalone,
    /// A compaction trigger at the end of a normal request.
    InBand,
}

/// Returns the candidates, model by model: its native forms, then its summary in words.
///
/// # Errors
/// [`ModelsError`] where a key or a form of native compaction is missing.
pub fn candidates(
    resolved: &[Resolved],
    native: NativeChoice,
    settings: &AppSettings,
    http: &HttpClient,
) -> Result<Vec<Candidate>, ModelsError> {
    let mut candidates = Vec::new();
    for one in resolved {
        let candidate = candidate(one, http)?;
        for form in native_forms(native, settings.compaction.session.remote_enabled, one)? {
            candidates.push(Candidate {
                way: SummaryMethod::Native(form),
                ..candidate.clone()
            });
        }
        candidates.push(candidate);
    }
    Ok(candidates)
}

fn native_forms(
    native: NativeChoice,
    enabled: bool,
    resolved: &Resolved,
) -> Result<Vec<NativeForm>, ModelsError> {
    let capabilities = &resolved.model.capabilities;
    let possible = |form| match resolved.provider.wire {
        ApiProtocol::Responses => true,
        ApiProtocol::Messages => form == NativeForm::InBand,
        _ => false,
    };
    let asked = match native {
        NativeChoice::Off => return Ok(Vec::new()),
        NativeChoice::Auto => {
            let forms = [
                (capabilities.native_standalone, NativeForm::Standalone),
                (capabilities.native_in_band, NativeForm::InBand),
            ];
            let forms = forms.into_iter().filter(|(has, _)| *has && enabled);
            let forms = forms.map(|(_, form)| form);
            return Ok(forms.filter(|form| possible(*form)).collect());
        }
        NativeChoice::Standalone => NativeForm::Standalone,
        NativeChoice::InBand => NativeForm::InBand,
    };
    match possible(asked) {
        true => Ok(vec![asked]),
        false => Err(ModelsError::NoNative(format!(
            "{}/{}",
            resolved.provider.name, resolved.model.id
        ))),
    }
}

fn candidate(resolved: &Resolved, http: &HttpClient) -> Result<Candidate, ModelsError> {
    let key = key(&resolved.provider)?;
    if key.is_some() || !resolved.provider.headers.is_empty() {
        check_key_transport(&resolved.provider)?;
    }
    let (model, has_key) = (resolved.model.clone(), key.is_some());
    let provider = HttpProvider::new(http.clone(), resolved.provider.clone(), model, key);
    let provider = cloud::with_access(provider, &resolved.provider, has_key)?;
    Ok(Candidate {
        summarizer: Summarizer::Model {
            provider: resolved.provider.name.clone(),
            model: resolved.model.id.clone(),
        },
        provider: Arc::new(provider),
        way: SummaryMethod::Summary,
        prices: Some(resolved.model.clone()),
    })
}

/// Returns the key of a provider, from the environment variable that its entry names.
fn key(provider: &ProviderInfo) -> Result<Option<Secret>, ModelsError> {
    let Some(variable) = &provider.api_key_env else {
        return Ok(None);
    };
    match secret(variable)? {
        Some(key) => Ok(Some(key)),
        None if provider.key_optional => Ok(None),
        None => Err(ModelsError::NoKey {
            provider: provider.name.clone(),
            variable: variable.clone(),
        }),
    }
}

/// Returns the key or token that an environment variable holds.
fn secret(variable: &str) -> Result<Option<Secret>, ModelsError> {
    let found = std::env::var(variable).ok();
    let secret = found.as_deref().and_then(Secret::new);
    match &secret {
        Some(key) if key.expose().bytes().any(|byte| byte.is_ascii_control()) => {
            Err(ModelsError::Invalid(format!(
                "{variable} holds a line break or another control character within the key; set it again"
            )))
        }
        _ => Ok(secret),
    }
}

/// Returns the candidate that is an endpoint for compaction.
///
/// # Errors
/// [`ModelsError::Invalid`] with the setting that cannot be used.
pub fn remote(
    url: &str,
    settings: &AppSettings,
    http: &HttpClient,
) -> Result<Candidate, ModelsError> {
    let compaction = &settings.compaction.session;
    let token = match &compaction.remote_token_env {
        None => None,
        Some(variable) => Some(secret(variable)?.ok_or_else(|| {
            ModelsError::Invalid(format!(
                "compaction.remoteTokenEnv names {variable}, which is not set"
            ))
        })?),
    };
    let insecure = compaction.remote_allow_insecure;
    let endpoint = RemoteEndpoint::new(http.clone(), url, token, insecure)
        .map_err(|error| ModelsError::Invalid(format!("compaction.remoteEndpoint: {error}")))?;
    Ok(Candidate {
        summarizer: Summarizer::Remote {
            endpoint: endpoint.model().to_owned(),
        },
        provider: Arc::new(endpoint),
        way: SummaryMethod::Summary,
        prices: None::<ModelInfo>,
    })
}
