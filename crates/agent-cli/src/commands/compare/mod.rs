//! `compare`: several strategies on one session, side by side. The session is not changed.

mod table;

use std::time::Instant;

use clap::Args;
use compaction_core::{CompactionPlan, ContextLoss, Strategy, TokenCount, loss_of_drafts, measure};
use serde::Serialize;
use serde_json::json;
use session_model::{SessionContext, SessionPath, Usage, build_context};

use crate::commands::compact::{Done, execute};
use crate::commands::plan::{PlanArgs, Planned, Planning};
use crate::commands::{Outcome, all_diagnostics, order, restoring};
use crate::error::Error;
use crate::files::open_session;
use crate::models::{ModelArgs, Models, Wanted};
use crate::options::{Global, SessionArgs, WindowArgs};
use crate::read_report::refuse_failed_reads;
use crate::ui::{clean, counted, tokens};
use std::path::PathBuf;
use summarize::{Candidate, ModelReport, SummaryMethod};

/// Show what several strategies would make of a session, side by side.
#[derive(Debug, Args)]
pub struct CompareArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Comma-separated strategies: context-full, restore, extractive, prune-only.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "context-full,extractive,prune-only"
    )]
    pub strategies: Vec<String>,
    #[command(flatten)]
    pub window: WindowArgs,
    /// What the summaries should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    /// Where restore reads the files that were touched; the session's own folder unless given.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Who writes the summaries of context-full and restore.
    #[command(flatten)]
    pub model: ModelArgs,
}

/// What a strategy would make of the session.
#[derive(Debug, Default, Serialize)]
struct Row {
    /// The strategy.
    strategy: &'static str,
    /// Why nothing would be done; none where something would.
    nothing_to_do: Option<String>,
    /// Why there is no summary although there should be one; none where nothing failed.
    failed: Option<String>,
    /// Who would have written: a model or `rules`; none where there is no summary.
    by: Option<String>,
    /// Tokens of the context before, by estimate.
    tokens_before: TokenCount,
    /// Tokens of it after.
    tokens_after: TokenCount,
    /// Tokens of the summary.
    summary_tokens: TokenCount,
    /// Tokens of the ledger in it.
    ledger_tokens: TokenCount,
    /// What would be asked of the first model, before anything is sent; none where no model is named.
    estimate: Option<Estimate>,
    /// How many requests were sent.
    requests_sent: usize,
    /// What was billed for them.
    usage: Usage,
    /// What that costs in USD, where prices are known.
    cost_usd: Option<f64>,
    /// How long it took.
    seconds: f64,
    /// What would leave the context.
    #[serde(flatten)]
    loss: ContextLoss,
}

impl Row {
    /// Returns why there are no figures, behind the name of the strategy.
    fn remark(&self) -> Option<String> {
        let failed = self.failed.as_ref();
        let failed = failed.map(|reason| format!("{} failed: {reason}", self.strategy));
        let nothing = self.nothing_to_do.as_ref();
        failed.or_else(|| nothing.map(|reason| format!("{}: {reason}", self.strategy)))
    }
}

/// What a strategy would ask of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Estimate {
    /// The model.
    model: String,
    /// How many requests there are.
    requests: usize,
    /// Tokens of all of them, by estimate.
    request_tokens: TokenCount,
    /// What they cost at most in USD, where prices are known: with answers as long as they may be.
    cost_usd: Option<f64>,
}

impl Estimate {
    /// Returns what a plan for this model would ask.
    fn of(plan: &CompactionPlan, candidate: &Candidate) -> Self {
        let counter = plan.profile.counter();
        let asked: Vec<(TokenCount, TokenCount)> = match candidate.way {
            SummaryMethod::Summary => {
                let asked = plan.requests().iter();
                let sized = asked.map(|asked| {
                    let prompt = counter.text(&asked.prompt(None));
                    (counter.text(&asked.system) + prompt, asked.max_output)
                });
                sized.collect()
            }
            // The context goes out as it is.
            SummaryMethod::Native(_) => vec![(plan.tokens_in_context(), plan.summary_cap)],
        };
        // The price of a request depends on its size.
        let cost = |(input, output): &(TokenCount, TokenCount)| {
            let usage = Usage {
                input: input.0,
                output: output.0,
                ..Usage::default()
            };
            candidate.prices.as_ref()?.cost(&usage)
        };
        Self {
            model: candidate.name(),
            requests: asked.len(),
            request_tokens: asked.iter().map(|(input, _)| *input).sum(),
            cost_usd: asked.iter().map(cost).sum(),
        }
    }

    /// Says it on standard error, before anything is sent.
    fn tell(&self, strategy: &str) {
        let cost = match self.cost_usd {
            Some(cost) => format!(", at most ${cost:.3}"),
            None => String::new(),
        };
        let line = format!(
            "{strategy} asks {}: {}, {} tokens{cost}",
            clean(&self.model),
            counted(self.requests, "request"),
            tokens(self.request_tokens)
        );
        // Who cannot be told is asked all the same.
        crate::ui::note(&line);
    }
}

pub(super) fn run(args: &CompareArgs, global: &Global) -> Result<Outcome, Error> {
    let strategies = strategies(args, global)?;
    if args.workspace.is_some() && !strategies.contains(&Strategy::Restore) {
        return Err(Error::Usage(
            "--workspace is where the strategy restore reads files; add it to --strategies"
                .to_owned(),
        ));
    }
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let path = tree.path(args.session.leaf(tree)?);
    let context = build_context(&path, global.profile().context_rules());
    let mut rows = Vec::new();
    let mut failures = Vec::new();
    for strategy in strategies {
        crate::cancel::check()?;
        let (row, error) = row(strategy, &path, &context, args, global)?;
        rows.push(row);
        failures.extend(error);
    }
    if failures.len() == rows.len()
        && let Some(first) = failures.into_iter().next()
    {
        return Err(first);
    }
    let diagnostics = all_diagnostics(&session.decoded.diagnostics, &context);
    refuse_failed_reads(session.tree(), &session.path)?;
    let document = json!({
        "strategies": rows,
        "diagnostics": diagnostics,
    });
    if rows.iter().all(|row| row.nothing_to_do.is_some()) {
        let reasons = rows.iter().filter_map(Row::remark);
        let reason = reasons.collect::<Vec<_>>().join("; ");
        return Ok(Outcome::nothing_to_do(reason, document).of(session.report()));
    }
    Ok(Outcome::done(&document, table::text(&rows)).of(session.report()))
}

/// Returns the strategies that were asked for, each once.
fn strategies(args: &CompareArgs, global: &Global) -> Result<Vec<Strategy>, Error> {
    let mut strategies = Vec::new();
    for name in &args.strategies {
        let wanted = order::named(name.trim(), global.profile())?;
        if !strategies.contains(&wanted) {
            strategies.push(wanted);
        }
    }
    Ok(strategies)
}

/// Returns what a strategy would make of the session, and why it failed where it did.
fn row(
    strategy: Strategy,
    path: &SessionPath<'_>,
    context: &SessionContext,
    args: &CompareArgs,
    global: &Global,
) -> Result<(Row, Option<Error>), Error> {
    let started = Instant::now();
    let wanted = Wanted::by(strategy);
    let named = match wanted {
        Wanted::Yes => args.model.clone(),
        Wanted::No(_) => ModelArgs::default(),
    };
    let models = Models::of(&named, args.window.given(), global.app_settings()?, wanted)?;
    let workspace = args.workspace.clone();
    let plan_args = PlanArgs {
        session: args.session.clone(),
        window: args.window.clone(),
        focus: args.focus.clone(),
        strategy: Some(strategy.name().to_owned()),
        workspace: workspace.filter(|_| strategy == Strategy::Restore),
    };
    let window = global
        .window(models.window, context.model.as_ref(), path.tree())?
        .tokens;
    let planning = Planning {
        path,
        context,
        args: &plan_args,
        window,
        global,
    };
    let found = restoring::find(&planning, strategy)?;
    let planned = planning.plan(planning.own_limits(), &found)?;
    let mut estimate = None;
    if let Some(candidate) = models.in_order(context.model.as_ref()).first() {
        let limits = candidate.limits(planning.window);
        if let Planned::Compaction(plan) = planning.plan(limits, &found)? {
            let asked = Estimate::of(&plan, candidate);
            asked.tell(strategy.name());
            estimate = Some(asked);
        }
    }
    let done = match planned.refuse_small_window() {
        // Another strategy may fit.
        Err(error) => Ok(Done::Nothing(error.to_string(), ModelReport::default())),
        Ok(()) => execute(planned, &planning, &models, &found),
    };
    let before = measure(path, context, global.profile()).estimated;
    let counter = global.profile().counter();
    let mut row = Row {
        strategy: strategy.name(),
        tokens_before: before,
        tokens_after: before,
        estimate,
        ..Row::default()
    };
    let account = |row: &mut Row, report: &ModelReport| {
        row.requests_sent = report.requests_sent;
        row.usage = report.usage;
        row.cost_usd = report.cost_usd;
    };
    let mut failure = None;
    match done {
        // What one strategy fails at says nothing of the others.
        Err(error @ (Error::Summary { .. } | Error::Provider { .. })) => {
            if let Some(report) = error.report() {
                account(&mut row, report);
            }
            row.failed = Some(error.to_string());
            failure = Some(error);
        }
        Err(error) => return Err(error),
        Ok(Done::Nothing(reason, report)) => {
            account(&mut row, &report);
            row.nothing_to_do = Some(reason);
        }
        Ok(Done::Edits(edits)) => {
            row.tokens_after = before.saturating_sub(edits.saved);
            row.loss = loss_of_drafts(context, &edits.drafts, counter);
        }
        Ok(Done::Compacted(compacted, report)) => {
            account(&mut row, &report);
            let (plan, applied) = (&compacted.plan, &compacted.applied);
            row.by = Some(
                report
                    .answered_by
                    .unwrap_or_else(|| "extractive".to_owned()),
            );
            row.tokens_before = plan.tokens_in_context();
            row.tokens_after = applied.tokens_after;
            row.summary_tokens = counter.text(&applied.summary);
            row.ledger_tokens = applied.ledger.tokens;
            row.loss = loss_of_drafts(context, &applied.drafts, counter);
        }
    }
    row.seconds = started.elapsed().as_secs_f64();
    Ok((row, failure))
}
