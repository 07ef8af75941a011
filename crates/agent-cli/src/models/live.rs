//! The models of a running session, from arguments and settings.

use std::collections::VecDeque;
use std::path::Path;

use compaction_core::TokenCount;
use llm_providers::HttpClient;
use llm_providers::catalog::{Catalog, Resolved, Selection};

use super::{NativeArg, candidates, http, remote, usable_catalog, usage};
use crate::error::Error;
use agent_session::models::{LiveModel, LiveModels};
use agent_session::summarize::{Candidate, Fallback};
use agent_settings::AppSettings;

/// What is said where no model is named.
pub const NO_MODEL: &str = "no model: name one with --model PROVIDER/MODEL (agent-cli models lists them), set \"model\" in the settings, or play a script with --provider scripted:FILE";

/// Returns the models of a session in which `name` answers, or else the model of the settings; `given` has what is
/// asked for in the place of the catalog's, and `record` is where exchanges are recorded. Nothing is sent.
///
/// # Errors
/// [`Error::Usage`] for what is unknown or has no key.
pub fn live_models(
    name: Option<&str>,
    given: Selection,
    record: Option<&Path>,
    settings: &AppSettings,
) -> Result<LiveModels, Error> {
    let name = name.or(settings.model.as_deref());
    let name = name.ok_or_else(|| Error::Usage(NO_MODEL.to_owned()))?;
    let catalog = usable_catalog(settings)?;
    let http = http::http_client(settings, record)?;
    let model = name.to_owned();
    let main = catalog.resolve(&Selection { model, ..given });
    let main = main.map_err(|error| usage(&error))?;
    // Where no model is set for summaries, whoever answers writes them.
    let own = settings.compaction.session.model.is_none();
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
    for name in &settings.compaction.session.promotion_models {
        let resolved = by_name(&catalog, name)?;
        promotions.push_back(live(&resolved, &http, own_summarizers(&resolved)?)?);
    }
    let mut resolved = Vec::new();
    for name in settings.compaction.session.summary_models() {
        resolved.push(by_name(&catalog, name)?);
    }
    let mut others = candidates(&resolved, NativeArg::Auto, settings, &http)?;
    if let Some(endpoint) = settings.compaction.session.endpoint() {
        others.push(remote(endpoint, settings, &http)?);
    }
    Ok(LiveModels {
        model: live(&main, &http, own_summarizers(&main)?)?,
        promotions,
        former: Vec::new(),
        others,
        policy: http::policy(settings),
        // A running session is better off with an extractive summary than with none.
        fallback: Fallback::Extractive,
    })
}

fn by_name(catalog: &Catalog, name: &str) -> Result<Resolved, Error> {
    let selection = Selection {
        model: name.to_owned(),
        ..Selection::default()
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
