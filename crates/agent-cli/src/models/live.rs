//! The models of a running session, from arguments and settings.

use std::collections::VecDeque;
use std::path::Path;

use compaction_core::TokenCount;
use llm_providers::HttpClient;
use llm_providers::catalog::{Catalog, Resolved, Selection};

use super::{NativeArg, WireArg, candidates, http, remote, usage, wire};
use crate::error::Error;
use crate::settings::AppSettings;
use agent_session::models::{LiveModel, LiveModels};
use agent_session::summarize::{Candidate, Fallback};

/// What names the model of a session.
#[derive(Debug, Default)]
pub struct Named<'a> {
    /// `provider/model`.
    pub model: Option<&'a str>,
    /// An address in the place of the provider's own.
    pub base_url: Option<&'a str>,
    /// A wire in the place of the provider's own.
    pub wire: Option<WireArg>,
    /// The environment variable of the key, in the place of the provider's own.
    pub api_key_env: Option<&'a str>,
    /// The model's window.
    pub window: Option<TokenCount>,
    /// Where exchanges are recorded.
    pub record: Option<&'a Path>,
}

const NO_MODEL: &str = "no model: name one with --model PROVIDER/MODEL (agent-cli models lists them), set \"model\" in the settings, or play a script with --provider scripted:FILE";

/// Returns the models that arguments and settings name. Nothing is sent.
///
/// # Errors
/// [`Error::Usage`] for what is unknown or has no key.
pub fn live_models(named: &Named<'_>, settings: &AppSettings) -> Result<LiveModels, Error> {
    let name = named.model.or(settings.model.as_deref());
    let name = name.ok_or_else(|| Error::Usage(NO_MODEL.to_owned()))?;
    let catalog = settings
        .catalog()
        .map_err(|error| Error::Usage(format!("settings: {error}")))?;
    let http = http::http_client(settings, named.record)?;
    let main = catalog
        .resolve(&Selection {
            model: name.to_owned(),
            base_url: named.base_url.map(str::to_owned),
            wire: named.wire.map(wire),
            api_key_env: named.api_key_env.map(str::to_owned),
            window: named.window.map(|window| window.0),
        })
        .map_err(|error| usage(&error))?;
    // Where no model is set for summaries, whoever answers writes them.
    let own = settings.compaction.model.is_none();
    let own_summarizers = |resolved: &Resolved| match own {
        true => candidates(
            std::slice::from_ref(resolved),
            NativeArg::Auto,
            settings,
            &http,
        ),
        false => Ok(Vec::new()),
    };
    let mut promotions = VecDeque::new();
    for name in &settings.compaction.promotion_models {
        let resolved = by_name(&catalog, name)?;
        promotions.push_back(live(&resolved, &http, own_summarizers(&resolved)?)?);
    }
    let set = settings.compaction.model.iter();
    let mut resolved = Vec::new();
    for name in set.chain(&settings.compaction.fallback_models) {
        resolved.push(by_name(&catalog, name)?);
    }
    let mut others = candidates(&resolved, NativeArg::Auto, settings, &http)?;
    let endpoint = settings.compaction.remote_endpoint.as_ref();
    if let Some(endpoint) = endpoint.filter(|_| settings.compaction.remote_enabled) {
        others.push(remote(endpoint, settings, &http)?);
    }
    Ok(LiveModels {
        model: live(&main, &http, own_summarizers(&main)?)?,
        promotions,
        former: Vec::new(),
        others,
        policy: http::policy(settings),
        // A running session is better off with a summary by rule than with none.
        fallback: Fallback::Extractive,
    })
}

fn by_name(catalog: &Catalog, name: &str) -> Result<Resolved, Error> {
    let selection = Selection {
        model: name.to_owned(),
        base_url: None,
        wire: None,
        api_key_env: None,
        window: None,
    };
    catalog.resolve(&selection).map_err(|error| usage(&error))
}

fn live(
    resolved: &Resolved,
    http: &HttpClient,
    summarizers: Vec<Candidate>,
) -> Result<LiveModel, Error> {
    let candidate = super::candidate(resolved, http)?;
    let window = resolved.model.capabilities.window.unwrap_or_default();
    Ok(LiveModel {
        provider: candidate.provider,
        prices: candidate.prices,
        api: resolved.provider.wire.api().to_owned(),
        window: TokenCount(window),
        summarizers,
    })
}
