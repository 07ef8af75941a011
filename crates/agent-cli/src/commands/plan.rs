//! `plan`: the dry run of a compaction; the same code as the run.

mod document;

pub(super) use document::compaction_document;

use std::path::PathBuf;

use clap::Args;
use compaction_core::{
    CompactionPlan, CompactionSettings, NothingToDo, PlanOptions, Profile, PromptCache,
    RestoreInput, Strategy, SummarizerLimits, TokenCount, Trigger, measure, plan_elision,
    plan_for_context, plan_prune, threshold,
};
use serde_json::{Value, json};
use session_model::{SessionContext, SessionPath, build_context};

use crate::commands::order::{Order, Passed};
use crate::commands::restoring::{self, Found};
use crate::commands::{Outcome, all_diagnostics};
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs, WindowArgs};
use crate::ui::edits::Edits;
use crate::ui::{self, progress};
use session_protocol::Snapshot;
use session_protocol::settings::SessionCompaction;
use summarize::ModelReport;

/// Show what a compaction would do, without doing it.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub window: WindowArgs,
    /// What the summary should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    /// Comma-separated strategies, tried in order until one succeeds: context-full, restore, extractive, prune-only.
    #[arg(long, value_name = "NAMES")]
    pub strategy: Option<String>,
    /// Where restore reads the files that were touched; the session's own folder unless given.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// Says of a preview that it is one.
pub(super) const PREVIEW: &str = "preview: nothing has changed yet";

/// What a strategy would do.
pub(super) enum Planned {
    /// A summary of older history.
    Compaction(Box<CompactionPlan>),
    /// No summary: what is in the context is shortened where it stands.
    Edits(Edits),
    /// Nothing, for this reason.
    Nothing(String),
    /// Nothing, because the window is too small for any summary.
    WindowTooSmall(String),
}

impl Planned {
    /// Returns why nothing is to be done; `None` where something is.
    pub(super) fn nothing(&self) -> Option<&str> {
        match self {
            Self::Nothing(reason) | Self::WindowTooSmall(reason) => Some(reason),
            Self::Compaction(_) | Self::Edits(_) => None,
        }
    }

    /// Refuses a window in which nothing can be summarized: another one is to be named.
    pub(super) fn refuse_small_window(&self) -> Result<(), Error> {
        match self {
            Self::WindowTooSmall(reason) => {
                Err(Error::Usage(format!("{reason}; name a larger --window")))
            }
            Self::Nothing(_) | Self::Compaction(_) | Self::Edits(_) => Ok(()),
        }
    }
}

impl From<NothingToDo> for Planned {
    fn from(reason: NothingToDo) -> Self {
        match reason {
            NothingToDo::Window(error) => Self::WindowTooSmall(error.to_string()),
            reason => Self::Nothing(reason.to_string()),
        }
    }
}

/// A context that may be compacted, and what decides how.
pub(super) struct Planning<'a> {
    pub path: &'a SessionPath<'a>,
    pub context: &'a SessionContext,
    pub args: &'a PlanArgs,
    pub window: TokenCount,
    pub global: &'a Global,
}

impl Planning<'_> {
    /// Returns the limits of a summarizer with the session's own window.
    pub(super) fn own_limits(&self) -> SummarizerLimits {
        SummarizerLimits {
            window: self.window,
            max_output: None,
        }
    }

    /// Returns what decides a plan, as the arguments and settings have it.
    pub(super) fn input(
        &self,
        summarizer: SummarizerLimits,
        found: &Found,
    ) -> Result<(Trigger, PlanOptions), Error> {
        let mut options = PlanOptions::new(self.global.load_settings()?, self.window);
        options.profile = self.global.profile();
        options.summarizer = summarizer;
        options.restore = found.input.clone();
        options.settings.compaction.strategy = found.strategy.into();
        let focus = self.args.focus.clone();
        Ok((Trigger::Manual { focus }, options))
    }

    /// Plans what the arguments ask for.
    pub(super) fn plan(
        &self,
        summarizer: SummarizerLimits,
        found: &Found,
    ) -> Result<Planned, Error> {
        let (trigger, options) = self.input(summarizer, found)?;
        Ok(plan_by(self.path, self.context, &trigger, &options))
    }

    pub(super) fn document(&self, planned: &Planned, found: &Found) -> Result<Value, Error> {
        let (settings, profile) = (self.global.app_settings()?, self.global.profile());
        let place = (self.path, self.context);
        Ok(document(
            planned,
            place,
            self.window,
            (&settings.compaction.rules, &settings.compaction.session),
            profile,
            found,
        ))
    }
}

pub(super) fn run(args: &PlanArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let path = session.tree().path(args.session.leaf(session.tree())?);
    let context = build_context(&path, global.profile().context_rules());
    let window = global.window(args.window.given(), context.model.as_ref(), session.tree())?;
    let mut order = Order::of(args, global)?;
    let planning = Planning {
        path: &path,
        context: &context,
        args,
        window: window.tokens,
        global,
    };
    let (planned, found) = order.first(|strategy| {
        let found = restoring::find(&planning, strategy)?;
        let planned = planning.plan(planning.own_limits(), &found)?;
        let passed = passed_over(strategy, &planned);
        Ok(((planned, found), passed))
    })?;
    // The document holds every request twice.
    let mut document = match global.json {
        true => planning.document(&planned, &found)?,
        false => Value::Null,
    };
    let diagnostics = all_diagnostics(&session.decoded.diagnostics, &context);
    document["diagnostics"] = json!(diagnostics);
    document["passed_over"] = json!(order.passed);
    document["window_is_assumed"] = json!(window.is_assumed);
    planned.refuse_small_window()?;
    let notes = [found.notes(), order.notes()].concat();
    let outcome = match planned {
        Planned::Nothing(reason) | Planned::WindowTooSmall(reason) => {
            Outcome::nothing_to_do(reason, document)
        }
        Planned::Compaction(plan) => {
            progress::step("comparing the summary with what leaves the context");
            let extractive = plan.extractive();
            document["extractive"] = match &extractive {
                Ok(applied) => {
                    json!({ "loss": applied.loss, "tokens_after": applied.tokens_after })
                }
                Err(refused) => json!({ "refused": refused.to_string() }),
            };
            let text = ui::plan::compaction_text(&plan, &context, window, &extractive, &notes);
            Outcome::done(&document, text)
        }
        Planned::Edits(edits) => {
            let text = ui::edits::edits_text(&edits, PREVIEW, &notes);
            Outcome::done(&document, text)
        }
    };
    Ok(outcome.of(session.report()))
}

/// Returns the strategy as passed over, where nothing is to be done by it.
fn passed_over(strategy: Strategy, planned: &Planned) -> Option<Passed> {
    let reason = planned.nothing()?;
    Some(Passed::nothing(strategy, reason, &ModelReport::default()))
}

/// Plans by options that are known to be of use.
fn plan_by(
    path: &SessionPath<'_>,
    context: &SessionContext,
    trigger: &Trigger,
    options: &PlanOptions,
) -> Planned {
    let strategy = options.settings.compaction.strategy.first();
    if strategy == Strategy::PruneOnly {
        // Nobody sends this session while it is a file, so no cache is at stake.
        return match plan_prune(path, options, PromptCache::Cold) {
            Ok(plan) => Planned::Edits(Edits::of_pruning(&plan)),
            Err(reason) => Planned::Nothing(reason.to_string()),
        };
    }
    match plan_for_context(path, context, trigger, options) {
        Ok(plan) => Planned::Compaction(Box::new(plan)),
        // Nothing can be summarized, but it is too much: shorten what is large where it stands.
        Err(NothingToDo::NothingOld { .. }) => match plan_elision(path, options) {
            Ok(plan) => Planned::Edits(Edits::of_elision(&plan, strategy)),
            Err(reason) => reason.into(),
        },
        Err(reason) => reason.into(),
    }
}

/// Returns the document of what a running session would do now.
pub(super) async fn live_document(
    session: &Snapshot,
    focus: Option<String>,
) -> Result<Value, Error> {
    let profile = Profile::Own;
    let path = session.tree.path(session.leaf);
    let context = build_context(&path, profile.context_rules());
    let options = PlanOptions::new(session.settings.clone(), session.window);
    let mut order = Order::configured(&options.settings.compaction.strategy, profile)?;
    let mut restore = RestoreInput::default();
    if order.strategies.contains(&Strategy::Restore) {
        restore = session
            .disk
            .of_context(&context, options.settings.compaction.restore)
            .await;
    }
    let trigger = Trigger::Manual { focus };
    let (planned, found) = order.first(|strategy| {
        let mut options = options.clone();
        options.settings.compaction.strategy = strategy.into();
        if strategy == Strategy::Restore {
            options.restore = restore.clone();
        }
        let found = Found {
            strategy,
            input: options.restore.clone(),
            note: None,
        };
        let planned = plan_by(&path, &context, &trigger, &options);
        let passed = passed_over(strategy, &planned);
        Ok(((planned, found), passed))
    })?;
    let place = (&path, &context);
    let mut document = document(
        &planned,
        place,
        session.window,
        (&session.settings.compaction, &session.compaction),
        profile,
        &found,
    );
    let known = session.diagnostics.iter().chain(&context.diagnostics);
    document["diagnostics"] = json!(known.collect::<Vec<_>>());
    document["passed_over"] = json!(order.passed);
    if let Some(reason) = planned.nothing() {
        document["nothing_to_do"] = json!(reason);
    }
    Ok(document)
}

fn document(
    planned: &Planned,
    (path, context): (&SessionPath<'_>, &SessionContext),
    window: TokenCount,
    (rules, session): (&CompactionSettings, &SessionCompaction),
    profile: Profile,
    found: &Found,
) -> Value {
    match planned {
        Planned::Compaction(plan) => compaction_document(plan, session, found),
        Planned::Edits(edits) => json!({
            "plan_hash": edits.hash,
            "leaf": edits.leaf,
            "strategy": edits.strategy,
            "context_tokens": edits.before,
            "saved_tokens": edits.saved,
            "pruned": edits.rows,
        }),
        Planned::Nothing(_) | Planned::WindowTooSmall(_) => {
            let measure = measure(path, context, profile);
            let threshold = threshold(window, rules, &profile.rules());
            let due = threshold
                .as_ref()
                .is_some_and(|threshold| threshold.is_exceeded_by(measure.tokens));
            json!({
                "leaf": context.leaf,
                "context_tokens": measure.tokens,
                "threshold": threshold.map(|threshold| threshold.tokens),
                "should_compact": due && session.enabled,
            })
        }
    }
}
