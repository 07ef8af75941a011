//! From what the user names to who is asked: the catalog, keys from the environment, and the order of candidates.

mod cloud;
mod http;
mod listed;
mod live;
mod options;

pub(crate) use listed::usable_catalog;
pub use listed::{asked_provider, refresh};
pub use live::{NO_MODEL, live_models};
pub use options::{FallbackArg, ModelArgs, NativeArg, ProtocolArg};

use std::sync::Arc;

use compaction_core::{Strategy, Summarizer, SummarizerLimits, SummaryAnswer, TokenCount};
use llm_providers::catalog::{
    CatalogError, ModelInfo, ProviderInfo, Resolved, Selection, SelectionField,
};
use llm_providers::{
    ApiProtocol, HttpClient, HttpProvider, NativeForm, Provider, ProviderErrorKind, RemoteEndpoint,
    RetryPolicy, Secret,
};
use session_model::{ModelRef, SessionPath};

use crate::error::Error;
use crate::ui::{self, writing::Writing};
use agent_session::summarize::{
    Candidate, Failure, Fallback, Foldable, ModelReport, NoSummary, Run, SummaryMethod,
    SummaryStep, answer_plan, in_order,
};
use agent_settings::AppSettings;

/// The window that is assumed where none is known.
pub(crate) const DEFAULT_WINDOW: TokenCount = TokenCount(200_000);

/// Who may write summaries, and within what.
pub struct Models {
    /// Those that are named, in the order of their names; none when the built-in rules write.
    pub candidates: Vec<Candidate>,
    /// Native forms are asked for by name, whatever model the session has.
    native_is_named: bool,
    /// The window of the session's model: as given, or the largest of the named models'; `None` where nothing names
    /// one.
    pub window: Option<TokenCount>,
    /// When failed requests are sent again.
    pub policy: RetryPolicy,
    /// What happens when every candidate fails.
    pub fallback: Fallback,
    /// What requests go through.
    http: Option<HttpClient>,
}

impl Models {
    /// Returns the candidates that arguments and settings name; none when nothing is to be written by a model.
    ///
    /// # Errors
    /// [`Error::Usage`] for what is unknown, has no key, or cannot go together; nothing is sent.
    pub fn of(
        args: &ModelArgs,
        given: Option<TokenCount>,
        settings: &AppSettings,
        wanted: Wanted,
    ) -> Result<Self, Error> {
        let named = named(args, settings);
        let endpoint = settings.compaction.session.endpoint();
        let nobody = named.is_empty() && endpoint.is_none();
        if let Wanted::No(why) = wanted
            && !args.models.is_empty()
        {
            ui::note(&format!("no model is asked: {why}"));
        }
        if nobody || matches!(wanted, Wanted::No(_)) {
            // No catalog, no key, no certificates, no network.
            return Ok(Self {
                candidates: Vec::new(),
                native_is_named: false,
                window: given,
                policy: RetryPolicy::NEVER,
                fallback: Fallback::Extractive,
                http: None,
            });
        }
        let http = http::http_client(settings, args.record.as_deref())?;
        let catalog = usable_catalog(settings)?;
        let mut resolved: Vec<Resolved> = Vec::new();
        for name in &named {
            let selection = Selection {
                model: name.clone(),
                base_url: args.base_url.clone(),
                wire: args.wire.map(ApiProtocol::from),
                api_key_env: args.api_key_env.clone(),
                window: given.map(|window| window.0),
            };
            resolved.push(catalog.resolve(&selection).map_err(|error| usage(&error))?);
        }
        one_place(args, &resolved)?;
        // The session may go on with any of them; none should be left behind.
        let windows = resolved
            .iter()
            .filter_map(|one| one.model.capabilities.window);
        let own = windows.max();
        if let (Some(first), None, None) = (resolved.first(), own, given) {
            ui::note(&format!(
                "the window of {} is not known; {DEFAULT_WINDOW} tokens are assumed; name it with --window",
                ui::clean(&first.model.full_name())
            ));
        }
        let window = given.or(own.map(TokenCount)).or(Some(DEFAULT_WINDOW));
        let mut candidates = candidates(&resolved, args.native, settings, &http)?;
        if let Some(endpoint) = endpoint {
            candidates.push(remote(endpoint, settings, &http)?);
        }
        Ok(Self {
            policy: http::policy(settings),
            native_is_named: args.native != NativeArg::Auto,
            candidates,
            window,
            fallback: match args.fallback {
                None => Fallback::UnlessMistaken,
                Some(FallbackArg::Extractive) => Fallback::Extractive,
                Some(FallbackArg::None) => Fallback::None,
            },
            http: Some(http),
        })
    }
}

/// Whether a model is wanted at all.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// Yes, where one is named.
    Yes,
    /// No, for this reason.
    No(&'static str),
}

impl Wanted {
    /// Returns whether a strategy asks models.
    pub fn by(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Extractive => Self::No("the strategy extractive asks no model"),
            Strategy::PruneOnly => Self::No("strategy prune-only writes no summary"),
            Strategy::Off => Self::No("the strategy is off"),
            Strategy::ContextFull | Strategy::Handoff | Strategy::Restore => Self::Yes,
        }
    }
}

/// A key and an address belong to one provider: given once, they must not reach another.
fn one_place(args: &ModelArgs, resolved: &[Resolved]) -> Result<(), Error> {
    let given = [
        ("--base-url", args.base_url.is_some()),
        ("--api-key-env", args.api_key_env.is_some()),
        ("--wire", args.wire.is_some()),
    ];
    let given = given.iter().find(|(_, given)| *given);
    let first = resolved.first().map(|one| &one.provider.name);
    let other = resolved
        .iter()
        .find(|one| Some(&one.provider.name) != first);
    match (given, other) {
        (Some((option, _)), Some(other)) => Err(Error::Usage(format!(
            "{option} would also go to {}; with models of several providers, set it in the settings (providers.NAME)",
            other.provider.name
        ))),
        _ => Ok(()),
    }
}

/// Returns the names of the models that may be asked: the arguments', else the settings'.
fn named(args: &ModelArgs, settings: &AppSettings) -> Vec<String> {
    if !args.models.is_empty() {
        return args.models.clone();
    }
    let models = settings.compaction.session.summary_models();
    models.cloned().collect()
}

/// Returns the error for the command line: the catalog names facts and settings, here the options are added.
fn usage(error: &CatalogError) -> Error {
    Error::Usage(match error {
        CatalogError::Selection { field, reason } => match field {
            SelectionField::Model => format!("--model {reason}; agent-cli models lists them"),
            SelectionField::BaseUrl => format!("--base-url {reason}"),
            SelectionField::ApiKeyEnv => format!("--api-key-env {reason}"),
            SelectionField::Window => format!("--window {reason}"),
        },
        CatalogError::UnknownProvider { .. } => format!("{error}, or give --base-url"),
        CatalogError::UnlistedModel { .. } => format!("{error}, or --window TOKENS"),
        CatalogError::Setting { .. }
        | CatalogError::UnservedProvider { .. }
        | CatalogError::UnknownModel { .. }
        | CatalogError::AmbiguousModel { .. }
        | CatalogError::InsecureKey { .. } => error.to_string(),
    })
}

/// Returns the candidates, model by model: its native forms, then its summary in words.
fn candidates(
    resolved: &[Resolved],
    native: NativeArg,
    settings: &AppSettings,
    http: &HttpClient,
) -> Result<Vec<Candidate>, Error> {
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
    native: NativeArg,
    enabled: bool,
    resolved: &Resolved,
) -> Result<Vec<NativeForm>, Error> {
    let capabilities = &resolved.model.capabilities;
    let possible = |form| match resolved.provider.wire {
        ApiProtocol::Responses => true,
        ApiProtocol::Messages => form == NativeForm::InBand,
        _ => false,
    };
    let asked = match native {
        NativeArg::Off => return Ok(Vec::new()),
        NativeArg::Auto => {
            let forms = [
                (capabilities.native_standalone, NativeForm::Standalone),
                (capabilities.native_in_band, NativeForm::InBand),
            ];
            let forms = forms.into_iter().filter(|(has, _)| *has && enabled);
            let forms = forms.map(|(_, form)| form);
            return Ok(forms.filter(|form| possible(*form)).collect());
        }
        NativeArg::Standalone => NativeForm::Standalone,
        NativeArg::InBand => NativeForm::InBand,
    };
    match possible(asked) {
        true => Ok(vec![asked]),
        false => Err(Error::Usage(format!(
            "{}/{} has no such native compaction on its wire; use --native off, or --wire responses where the service speaks it",
            resolved.provider.name, resolved.model.id
        ))),
    }
}

fn candidate(resolved: &Resolved, http: &HttpClient) -> Result<Candidate, Error> {
    let key = key(&resolved.provider)?;
    if key.is_some() || !resolved.provider.headers.is_empty() {
        resolved
            .provider
            .check_key_transport()
            .map_err(|error| usage(&error))?;
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
fn key(provider: &ProviderInfo) -> Result<Option<Secret>, Error> {
    let Some(variable) = &provider.api_key_env else {
        return Ok(None);
    };
    match secret(variable)? {
        Some(key) => Ok(Some(key)),
        None if provider.key_optional => Ok(None),
        None => Err(Error::Usage(format!(
            "no key for {}: set {variable}, or name another variable with --api-key-env",
            provider.name
        ))),
    }
}

/// Returns the key or token that an environment variable holds.
fn secret(variable: &str) -> Result<Option<Secret>, Error> {
    let found = std::env::var(variable).ok();
    let secret = found.as_deref().and_then(Secret::new);
    match &secret {
        Some(key) if key.expose().bytes().any(|byte| byte.is_ascii_control()) => {
            Err(Error::Usage(format!(
                "{variable} holds a line break or another control character within the key; set it again"
            )))
        }
        _ => Ok(secret),
    }
}

fn remote(url: &str, settings: &AppSettings, http: &HttpClient) -> Result<Candidate, Error> {
    let compaction = &settings.compaction.session;
    let token = match &compaction.remote_token_env {
        None => None,
        Some(variable) => Some(secret(variable)?.ok_or_else(|| {
            Error::Usage(format!(
                "compaction.remoteTokenEnv names {variable}, which is not set"
            ))
        })?),
    };
    let insecure = compaction.remote_allow_insecure;
    let endpoint = RemoteEndpoint::new(http.clone(), url, token, insecure)
        .map_err(|error| Error::Usage(format!("compaction.remoteEndpoint: {error}")))?;
    Ok(Candidate {
        summarizer: Summarizer::Remote {
            endpoint: endpoint.model().to_owned(),
        },
        provider: Arc::new(endpoint),
        way: SummaryMethod::Summary,
        prices: None::<ModelInfo>,
    })
}

impl Models {
    /// Returns the candidates in the order in which they are asked for the summary of a session in which `answering`
    /// answers.
    pub fn in_order(&self, answering: Option<&ModelRef>) -> Vec<Candidate> {
        let answering = answering.filter(|_| !self.native_is_named);
        in_order(self.candidates.clone(), answering)
    }

    /// Returns a run over the session of `path` that Ctrl-C ends.
    pub fn run<'a>(
        &self,
        path: &SessionPath<'_>,
        watch: &'a mut (dyn FnMut(SummaryStep<'_>) + Send),
    ) -> Run<'a> {
        let header = path.tree().header();
        Run {
            cancel: crate::cancel::token(),
            policy: self.policy,
            fallback: self.fallback,
            cache_key: header.map(|header| header.id.to_string()),
            watch,
            report: ModelReport::default(),
        }
    }

    /// Has a plan answered by the first candidate that can, or by the extractive summarizer. Returns the plan as it was asked.
    pub fn answer<P: Foldable>(
        &self,
        what: &str,
        window: TokenCount,
        path: &SessionPath<'_>,
        plan_for: &(dyn Fn(SummarizerLimits) -> Result<P, String> + Sync),
        extractive: &(dyn Fn(&P) -> Vec<SummaryAnswer> + Sync),
    ) -> Result<(P, Vec<SummaryAnswer>, ModelReport), Error> {
        let mut writing = Writing::default();
        let mut watch = |step: SummaryStep<'_>| writing.step(&step);
        let mut run = self.run(path, &mut watch);
        let candidates = self.in_order(None);
        let answering = answer_plan(&candidates, window, plan_for, extractive, &mut run);
        match block_on(answering)? {
            Ok((plan, answers)) => Ok((plan, answers, self.account(run.report))),
            Err(error) => Err(no_summary(what, error, self.account(run.report))),
        }
    }

    /// Returns the account of a run, its requests counted where they left.
    pub fn account(&self, report: ModelReport) -> ModelReport {
        let sent = self.http.as_ref().map(HttpClient::requests_sent);
        ModelReport {
            requests_sent: sent.unwrap_or(report.requests_sent),
            ..report
        }
    }
}

/// Returns the error for what nobody wrote.
pub fn no_summary(what: &str, error: NoSummary, report: ModelReport) -> Error {
    match error {
        NoSummary::Cancelled => Error::Cancelled,
        NoSummary::Nothing(reason) => Error::NothingToDo(reason.to_string()),
        NoSummary::Failed(failure) => failed(what, &failure, report),
    }
}

/// Waits for models on this thread.
pub fn block_on<F: Future>(future: F) -> Result<F::Output, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::io("start", "the network runtime", error))?;
    let output = runtime.block_on(future);
    // A name that is still being looked up is not waited for.
    runtime.shutdown_background();
    Ok(output)
}

/// Returns the error for a summary that no candidate wrote.
fn failed(what: &str, failure: &Failure, report: ModelReport) -> Error {
    let hint = match failure {
        Failure::Provider(error) => match error.kind {
            ProviderErrorKind::Unreachable => "; leave out --model for an extractive summary",
            // The error itself names the setting to change.
            ProviderErrorKind::Auth => "",
            ProviderErrorKind::InvalidRequest if error.status == Some(404) => "",
            ProviderErrorKind::InvalidRequest => "; check model, address and wire",
            _ => "; try again, name another --model, or use --fallback extractive",
        },
        _ => "; name another --model, or use --fallback extractive",
    };
    let kind = match failure {
        Failure::Provider(error) => error.kind.name(),
        _ => "no_summary",
    };
    let failure = failure.to_string();
    let failure = failure.trim_end_matches('.');
    Error::Provider {
        message: format!("{what} failed: {failure}{hint}; nothing was changed"),
        kind,
        report: Some(Box::new(report)),
    }
}
