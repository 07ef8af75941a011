//! `branch`: goes to another point of the session, with or without a summary of what is left.

use std::num::NonZeroU64;
use std::time::Instant;

use clap::Args;
use compaction_core::{
    BranchError, BranchInstructions, BranchOptions, BranchPlan, SummarizerLimits, TokenCount,
    branch_budget, plan_branch_summary,
};
use serde_json::json;
use session_model::{Diagnostic, EntryDraft, SessionPath, build_context};

use crate::commands::{Opened, Outcome};
use crate::error::Error;
use crate::models::{ModelArgs, Models, Wanted};
use crate::options::{Global, OutputArgs, WindowArgs, named_leaf, tokens_at_least_one};
use crate::ui::writing::{account, author};
use crate::ui::{clean, counted, first_line, heading, tokens, width};
use std::path::PathBuf;
use summarize::{ModelReport, bill_in_details, seconds_in_details};

/// Go to another point of the session, with or without a summary of what is left.
#[derive(Debug, Args)]
pub struct BranchArgs {
    /// A file, an id or its beginning, newest, AGENT:newest, or - for standard input.
    pub session: PathBuf,
    /// Leave from this entry instead of the last one.
    #[arg(long, value_name = "ID")]
    pub from: Option<String>,
    /// Go to this entry; a message of the user returns to the editor. `root` is before everything.
    #[arg(long, value_name = "ID")]
    pub to: String,
    /// Leave a summary of the branch at the target.
    #[arg(long)]
    pub summarize: bool,
    /// What the summary should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    /// The most tokens of the branch that are summarized; window - branchSummary.reserveTokens unless given.
    #[arg(long, value_name = "TOKENS", value_parser = tokens_at_least_one, allow_negative_numbers = true)]
    pub budget: Option<NonZeroU64>,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub(super) fn run(args: &BranchArgs, global: &Global) -> Result<Outcome, Error> {
    let settings = global.load_settings()?;
    let wanted = match args.summarize {
        true => Wanted::Yes,
        false => Wanted::No("without --summarize no summary is written"),
    };
    let models = Models::of(
        &args.model,
        args.window.given(),
        global.app_settings()?,
        wanted,
    )?;
    let destination = args.output.destination("branch")?;
    if !models.candidates.is_empty() {
        destination.check()?;
    }
    let mut opened = Opened::open(&args.session, &destination)?;
    let window = {
        let tree = opened.tree();
        let path = tree.path(named_leaf(tree, args.from.as_deref())?);
        let context = build_context(&path, global.profile().context_rules());
        global
            .window(models.window, context.model.as_ref(), tree)?
            .tokens
    };
    let budget = match args.budget {
        Some(budget) => TokenCount(budget.get()),
        // Where only the leaf moves, nothing has to fit.
        None if !args.summarize && window <= settings.branch_summary.reserve_tokens => window,
        None => branch_budget(window, settings.branch_summary.reserve_tokens).map_err(|error| {
            Error::Usage(format!("{error}; raise --window or lower the reserve"))
        })?,
    };
    let options = BranchOptions {
        budget,
        profile: global.profile(),
        settings: settings.compaction,
        summarizer: SummarizerLimits {
            window,
            max_output: None,
        },
        instructions: args.focus.clone().map(BranchInstructions::Focus),
    };
    let (plan, summary, report) = {
        let tree = opened.tree();
        let from = named_leaf(tree, args.from.as_deref())?;
        let to = named_leaf(tree, Some(&args.to))?;
        let plan_for = |limits| {
            let options = BranchOptions {
                summarizer: limits,
                ..options.clone()
            };
            plan_branch_summary(tree, from, to, &options)
        };
        let plan = plan_for(options.summarizer).map_err(|error| match error {
            BranchError::Unreadable(reason) => Error::session(&args.session, reason.to_string()),
            BranchError::NoBudget { .. } | BranchError::Window(_) => {
                Error::Usage(error.to_string())
            }
        })?;
        match args.summarize && !plan.requests().is_empty() {
            false => (plan, None, ModelReport::default()),
            true => {
                let path = tree.path(from);
                let plan_for = |limits| plan_for(limits).map_err(|error| error.to_string());
                summarized(&models, &path, &plan_for, &options)?
            }
        }
    };
    let draft = summary.clone().unwrap_or_else(|| plan.move_only());
    let ids = opened.commit(
        &destination,
        &[draft],
        plan.new_leaf.as_ref(),
        global.output_filter(),
    )?;
    let id = ids.first();
    let summary_text = match &summary {
        Some(EntryDraft::BranchSummary(draft)) => Some(draft.summary.clone()),
        _ => None,
    };
    let noticed = opened.diagnostics().iter();
    let diagnostics: Vec<&Diagnostic> = noticed.chain(&plan.diagnostics).collect();
    let document = json!({
        "from_id": plan.from,
        "target": plan.target,
        "common_ancestor": plan.common_ancestor,
        "collected": plan.collected,
        "tokens": plan.tokens,
        "conversation": plan.conversation,
        "read_files": plan.files.read_files(),
        "modified_files": plan.files.modified_files(),
        "new_leaf": plan.new_leaf,
        "editor_text": plan.editor_text,
        "summary_entry_id": id.filter(|_| summary.is_some()),
        "leaf_entry_id": id.filter(|_| summary.is_none()),
        "summary": summary_text,
        "model": report.of_models(),
        "diagnostics": diagnostics,
    });
    let mut text = text(
        &plan,
        summary_text.as_deref(),
        &diagnostics,
        !ids.is_empty(),
    );
    if let Some(account) = account(&report) {
        text.push_str(&format!("   {}, {account}\n", author(&report)));
    }
    Ok(Outcome::done(&document, text).of(opened.report()))
}

/// Returns the plan as it was asked, and its summary entry.
fn summarized(
    models: &Models,
    path: &SessionPath<'_>,
    plan_for: &(dyn Fn(SummarizerLimits) -> Result<BranchPlan, String> + Sync),
    options: &BranchOptions,
) -> Result<(BranchPlan, Option<EntryDraft>, ModelReport), Error> {
    let started = Instant::now();
    // A summary takes at most a quarter of the window, whatever the setting says.
    let window = options.summarizer.window.scaled(1, 4);
    let cap = options.settings.extractive_budget(window, None).min(window);
    let extractive = |plan: &BranchPlan| plan.answer_extractive(cap, options.profile.counter());
    let (plan, answers, report) = models.answer(
        "Branch summary",
        options.summarizer.window,
        path,
        plan_for,
        &extractive,
    )?;
    let mut draft = plan.apply(&answers).map_err(|error| Error::Summary {
        message: format!("Branch summary failed: {error}"),
        report: Some(Box::new(report.clone())),
    })?;
    bill_in_details(&mut draft, &report);
    seconds_in_details(&mut draft, started.elapsed().as_secs_f64());
    Ok((plan, Some(draft), report))
}

fn text(
    plan: &BranchPlan,
    summary: Option<&str>,
    diagnostics: &[&Diagnostic],
    written: bool,
) -> String {
    let place = plan.new_leaf.as_deref().unwrap_or("the beginning");
    let verb = if written { "moved" } else { "would move" };
    let left = counted(plan.collected.len(), "entry");
    let mut out = heading(&format!("{verb} to {}, leaving {left}", clean(place)));
    if let Some(ancestor) = &plan.common_ancestor {
        out.push_str(&format!("   branches off at  {}\n", clean(ancestor)));
    }
    if let Some(text) = &plan.editor_text {
        let line = first_line(text, width().saturating_sub(24));
        out.push_str(&format!("   to be edited     \"{line}\"\n"));
    }
    out.push_str(&format!(
        "   left behind      {} tokens, {} changed and {} read; still in the file\n",
        tokens(plan.tokens),
        counted(plan.files.modified_files().len(), "file"),
        plan.files.read_files().len()
    ));
    if let Some(summary) = summary {
        out.push('\n');
        for line in summary.lines().take(30) {
            let line = first_line(line, width().saturating_sub(4));
            out.push_str(&format!("   {line}\n"));
        }
    }
    for diagnostic in diagnostics {
        out.push_str(&format!("   {}\n", clean(&diagnostic.to_string())));
    }
    out
}
