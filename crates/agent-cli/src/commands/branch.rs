//! `branch`: goes to another point of the session, with or without a summary of what is left.

use std::num::NonZeroU64;
use std::time::Instant;

use clap::Args;
use compaction_core::{
    BranchError, BranchInstructions, BranchOptions, BranchPlan, SummarizerLimits, TokenCount,
    branch_budget, plan_branch_summary,
};
use serde::Serialize;
use session_model::{Diagnostic, EntryDraft, EntryId, SessionPath};

use crate::commands::unreadable::Unreadable;
use crate::commands::{Opened, Outcome};
use crate::error::Error;
use crate::models::{ModelArgs, Models, Wanted};
use crate::options::{Global, OutputArgs, WindowArgs, named_leaf};
use crate::ui::writing::{account, author};
use crate::ui::{BOLD, clean, counted, first_line, styled, tokens, width};
use agent_session::summarize::{ModelReport, bill_in_details, seconds_in_details};
use std::path::PathBuf;

/// Go to another point of the session, with or without a summary of what is left.
#[derive(Debug, Args)]
pub struct BranchArgs {
    /// The session file, or - for standard input.
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
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub budget: Option<NonZeroU64>,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Who writes the summary.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    from_id: Option<&'a EntryId>,
    target: Option<&'a EntryId>,
    common_ancestor: Option<&'a EntryId>,
    collected: &'a [EntryId],
    tokens: TokenCount,
    conversation: &'a str,
    read_files: Vec<String>,
    modified_files: Vec<String>,
    new_leaf: Option<&'a EntryId>,
    editor_text: Option<&'a str>,
    summary_entry_id: Option<&'a EntryId>,
    leaf_entry_id: Option<&'a EntryId>,
    summary: Option<String>,
    model: Option<&'a ModelReport>,
    diagnostics: Vec<&'a Diagnostic>,
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
    let window = models.window;
    let budget = match args.budget {
        Some(budget) => TokenCount(budget.get()),
        // Where only the leaf moves, nothing has to fit.
        None if !args.summarize && window <= settings.branch_summary.reserve_tokens => window,
        None => branch_budget(window, settings.branch_summary.reserve_tokens).map_err(|error| {
            Error::Usage(format!("{error}; raise --window or lower the reserve"))
        })?,
    };
    let destination = args.output.destination("branch")?;
    if !models.candidates.is_empty() {
        destination.check()?;
    }
    let mut opened = Opened::open(&args.session, &destination)?;
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
        let tree = opened.session().tree();
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
    let noticed = opened.session().decoded.diagnostics.iter();
    Unreadable::check(opened.session(), noticed.chain(&plan.diagnostics))?;
    let draft = summary.clone().unwrap_or_else(|| plan.move_only());
    let ids = opened.commit(&destination, &[draft], plan.new_leaf.as_ref())?;
    let id = ids.first();
    let summary_text = match &summary {
        Some(EntryDraft::BranchSummary(draft)) => Some(draft.summary.clone()),
        _ => None,
    };
    let document = Document {
        from_id: plan.from.as_ref(),
        target: plan.target.as_ref(),
        common_ancestor: plan.common_ancestor.as_ref(),
        collected: &plan.collected,
        tokens: plan.tokens,
        conversation: &plan.conversation,
        read_files: plan.files.read_files(),
        modified_files: plan.files.modified_files(),
        new_leaf: plan.new_leaf.as_ref(),
        editor_text: plan.editor_text.as_deref(),
        summary_entry_id: id.filter(|_| summary.is_some()),
        leaf_entry_id: id.filter(|_| summary.is_none()),
        summary: summary_text,
        model: report.of_models(),
        diagnostics: opened
            .session()
            .decoded
            .diagnostics
            .iter()
            .chain(&plan.diagnostics)
            .collect(),
    };
    let mut text = text(&document, !ids.is_empty());
    if let Some(account) = account(&report) {
        text.push_str(&format!("   {}, {account}\n", author(&report)));
    }
    Ok(Outcome::done(&document, text))
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
    let cap = options.settings.extractive_max_tokens.min(window);
    let by_rule = |plan: &BranchPlan| plan.answer_by_rule(cap, options.profile.counter());
    let (plan, answers, report) = models.answer("Branch summary", path, plan_for, &by_rule)?;
    let mut draft = plan.apply(&answers).map_err(|error| Error::Summary {
        message: format!("Branch summary failed: {error}"),
        report: Some(Box::new(report.clone())),
    })?;
    bill_in_details(&mut draft, &report);
    seconds_in_details(&mut draft, started.elapsed().as_secs_f64());
    Ok((plan, Some(draft), report))
}

fn text(document: &Document<'_>, written: bool) -> String {
    let place = document.new_leaf.map_or("the beginning", |id| id.as_str());
    let verb = if written { "moved" } else { "would move" };
    let mut out = format!(
        "{}\n",
        styled(
            BOLD,
            &format!(
                "{verb} to {}, leaving {}",
                clean(place),
                counted(document.collected.len(), "entry")
            )
        )
    );
    if let Some(ancestor) = document.common_ancestor {
        out.push_str(&format!("   branches off at  {}\n", clean(ancestor)));
    }
    if let Some(text) = document.editor_text {
        let line = first_line(text, width().saturating_sub(24));
        out.push_str(&format!("   to be edited     \"{line}\"\n"));
    }
    out.push_str(&format!(
        "   left behind      {} tokens, {} changed and {} read; still in the file\n",
        tokens(document.tokens),
        counted(document.modified_files.len(), "file"),
        document.read_files.len()
    ));
    if let Some(summary) = &document.summary {
        out.push('\n');
        for line in summary.lines().take(30) {
            out.push_str(&format!(
                "   {}\n",
                first_line(line, width().saturating_sub(4))
            ));
        }
    }
    for said in &document.diagnostics {
        out.push_str(&format!("   {}\n", clean(&said.to_string())));
    }
    out
}
