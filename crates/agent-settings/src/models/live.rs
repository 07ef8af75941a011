//! The models of a running session, from arguments and settings.

use std::collections::VecDeque;
use std::path::Path;

use compaction_core::TokenCount;
use llm_catalog::{Catalog, Resolved, Selection};
use llm_providers::HttpClient;

use super::{ModelsError, NativeChoice, candidates, http_client, remote, retry_policy};
use crate::AppSettings;
use summarize::models::{LiveModel, LiveModels};
use summarize::{Candidate, Fallback};

/// Returns the models of a session in which `name` answers, or else the model of the settings; `given` has what is
/// asked for in place of the catalog's, and `record` is where exchanges are recorded. Nothing is sent.
///
/// # Errors
/// [`ModelsError`] for what is unknown or has no key.
pub fn live_models(
    name: Option<&str>,
    given: Selection,
    record: Option<&Path>,
    settings: &AppSettings,
    catalog: &Catalog,
) -> Result<LiveModels, ModelsError> {
    let name = name.or(settings.model.as_deref());
    let name = name.ok_or(ModelsError::NoModel)?;
    let http = http_client(settings, record)?;
    let model = name.to_owned();
    let main = catalog.resolve(&Selection { model, ..given })?;
    // If no model is set for summaries, the model of the session writes them.
    let own = settings.compaction.session.model.is_none();
    let own_summarizers = |resolved: &Resolved| match own {
        true => candidates(
            std::slice::from_ref(resolved),
            NativeChoice::Auto,
            settings,
            &http,
        ),
        false => Ok(Vec::new()),
    };
    let mut promotions = VecDeque::new();
    for name in &settings.compaction.session.promotion_models {
        let resolved = by_name(catalog, name)?;
        promotions.push_back(live(&resolved, &http, own_summarizers(&resolved)?)?);
    }
    let mut resolved = Vec::new();
    for name in settings.compaction.session.summary_models() {
        resolved.push(by_name(catalog, name)?);
    }
    let mut others = candidates(&resolved, NativeChoice::Auto, settings, &http)?;
    if let Some(endpoint) = settings.compaction.session.endpoint() {
        others.push(remote(endpoint, settings, &http)?);
    }
    Ok(LiveModels {
        model: live(&main, &http, own_summarizers(&main)?)?,
        promotions,
        former: Vec::new(),
        others,
        policy: retry_policy(settings),
        // A running session is better off with an extractive summary than with none.
        fallback: Fallback::Extractive,
    })
}

fn by_name(catalog: &Catalog, name: &str) -> Result<Resolved, ModelsError> {
    let selection = Selection {
        model: name.to_owned(),
        ..Selection::default()
    };
    Ok(catalog.resolve(&selection)?)
}

fn live(
    resolved: &Resolved,
    http: &HttpClient,
    summarizers: Vec<Candidate>,
) -> Result<LiveModel, ModelsError> {
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
