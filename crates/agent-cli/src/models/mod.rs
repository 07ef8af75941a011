//! From what the user names to who is asked: the catalog, keys from the environment, and the order of candidates.

mod options;

pub use options::{FallbackArg, ModelArgs, ProtocolArg};

use std::path::Path;

use agent_settings::AppSettings;
use agent_settings::models::{self, ModelsError, NativeChoice, candidates, http_client, remote};
use compaction_core::{Strategy, SummarizerLimits, SummaryAnswer, TokenCount};
use llm_catalog::{Catalog, CatalogError, Resolved, Selection, SelectionField};
use llm_providers::{ApiProtocol, HttpClient, ProviderErrorKind, RetryPolicy};
use session_model::{ModelRef, SessionPath};
use summarize::models::LiveModels;
use summarize::{
    Candidate, Failure, Fallback, Foldable, ModelReport, NoSummary, Run, SummaryStep, answer_plan,
    in_order,
};

use crate::error::Error;
use crate::ui::{self, writing::Writing};

/// The window that is assumed where none is known.
pub(crate) const DEFAULT_WINDOW: TokenCount = TokenCount(200_000);

/// Who may write summaries, and within what.
pub struct Models {
    /// Those that are named, in the order of their names; none when the outline is written.
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
        let http = http_client(settings, args.record.as_deref())?;
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
            resolved.push(catalog.resolve(&selection).map_err(ModelsError::from)?);
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
            policy: models::retry_policy(settings),
            native_is_named: args.native != NativeChoice::Auto,
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

/// Returns the catalog that commands use.
///
/// # Errors
/// [`Error::Usage`] with the setting that cannot be used.
pub(crate) fn usable_catalog(settings: &AppSettings) -> Result<Catalog, Error> {
    let again = "write it again with agent-cli models --refresh";
    let mut note = |text: &str| ui::note(&format!("{text}; {again}"));
    Ok(models::usable_catalog(settings, &mut note)?)
}

/// Returns the environment variables that hold keys, as the settings name them.
pub(crate) fn secret_variables(settings: &AppSettings) -> Result<Vec<String>, Error> {
    let catalog = usable_catalog(settings)?;
    let mut variables = session_tools::rights::secret_variables(&catalog);
    variables.extend(settings.compaction.session.remote_token_env.clone());
    Ok(variables)
}

/// Returns the models of a session in which `name` answers, or else the model of the settings.
///
/// # Errors
/// [`Error::Usage`] for what is unknown or has no key.
pub(crate) fn live_models(
    name: Option<&str>,
    given: Selection,
    record: Option<&Path>,
    settings: &AppSettings,
) -> Result<LiveModels, Error> {
    if name.or(settings.model.as_deref()).is_none() {
        return Err(ModelsError::NoModel.into());
    }
    let catalog = usable_catalog(settings)?;
    Ok(models::live_models(
        name, given, record, settings, &catalog,
    )?)
}

/// What is reported where no model is named.
pub const NO_MODEL: &str = "no model: name one with --model PROVIDER/MODEL (agent-cli models lists them), set \"model\" in the settings, or play a script with --provider scripted:FILE";

impl From<ModelsError> for Error {
    fn from(error: ModelsError) -> Self {
        let text = error.to_string();
        match error {
            ModelsError::NoModel => Self::Usage(NO_MODEL.to_owned()),
            ModelsError::Catalog(error) => usage(&error),
            ModelsError::NoKey { .. } => Self::Usage(format!(
                "{text}, or name another variable with --api-key-env"
            )),
            ModelsError::NoNative(_) => Self::Usage(format!(
                "{text}; use --native off, or --wire responses where the service speaks it"
            )),
            ModelsError::RecordExists(_) => Self::Usage(format!(
                "{text}; --record never overwrites, choose another name"
            )),
            ModelsError::NoProvider => Self::Usage(format!(
                "{text}: name one with --provider NAME, or set \"model\" in the settings to PROVIDER/MODEL"
            )),
            ModelsError::Io {
                action,
                path,
                source,
            } => Self::io(action, path, source),
            ModelsError::Provider(error) => Self::Provider {
                kind: error.kind.name(),
                message: text,
                report: None,
            },
            _ => Self::Usage(text),
        }
    }
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
    let _noticing = crate::cancel::notice();
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
