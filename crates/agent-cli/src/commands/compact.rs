//! `compact`: summarizes older history and keeps recent work verbatim.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use compaction_core::{Strategy, loss_of_drafts, measure};
use serde_json::{Value, json};
use session_model::{EntryDraft, SessionContext, build_context};

use crate::commands::order::{Order, Passed};
use crate::commands::output::draft_documents;
use crate::commands::plan::{PREVIEW, PlanArgs, Planned, Planning, compaction_document};
use crate::commands::restoring::{self, Found};
use crate::commands::{Destination, Opened, Outcome, all_diagnostics};
use crate::error::Error;
use crate::models::{ModelArgs, Models, Wanted, block_on, no_summary};
use crate::options::{Global, OutputArgs};
use crate::output_filter::OutputFilter;
use crate::ui;
use crate::ui::edits::Edits;
use crate::ui::shell_name;
use compaction_core::undoable::{Later, NoReplacing, Replaceable, replaceable};
use summarize::{
    Compacted, Failure, ModelReport, NoSummary, Subject, SummaryMethod, compact, main_place,
    seconds_in_details, skipped_in_details, summary_draft,
};

/// Compact a session: summarize older history, keep recent work verbatim.
#[derive(Debug, Args)]
pub struct CompactArgs {
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub(super) fn run(args: &CompactArgs, global: &Global) -> Result<Outcome, Error> {
    run_at(args, "compact", global, None)
}

/// Compacts at the leaf, or in place of the newest compaction, where `instead` says what becomes of what came after it;
/// `what` is the command.
pub(super) fn run_at(
    args: &CompactArgs,
    what: &str,
    global: &Global,
    instead: Option<Later>,
) -> Result<Outcome, Error> {
    let started = Instant::now();
    let destination = args.output.destination(what)?;
    let mut order = Order::of(&args.plan, global)?;
    let models = Models::of(
        &args.model,
        args.plan.window.given(),
        global.app_settings()?,
        order.wanted(),
    )?;
    if !models.candidates.is_empty() {
        // What cannot be written is not worth asking for.
        destination.check()?;
    }
    let mut opened = Opened::open(&args.plan.session.session, &destination)?;
    let instead = {
        let tree = opened.tree();
        let path = tree.path(args.plan.session.leaf(tree)?);
        let found = instead.map(|later| replaceable(&path, later, "give --leave-later"));
        match found.transpose() {
            Ok(instead) => instead,
            Err(error @ NoReplacing::Later { .. }) => return Err(Error::Usage(error.to_string())),
            Err(error @ NoReplacing::None) => {
                let document = json!({ "diagnostics": opened.diagnostics() });
                let nothing = Outcome::nothing_to_do(error.to_string(), document);
                return Ok(nothing.of(opened.report()));
            }
        }
    };
    let lead = instead.as_ref().map(Replaceable::lead).unwrap_or_default();
    let (context, window, tried) = {
        let tree = opened.tree();
        let leaf = match &instead {
            Some(instead) => instead.base,
            None => args.plan.session.leaf(tree)?,
        };
        let path = tree.path(leaf);
        let context = build_context(&path, global.profile().context_rules());
        let window = global.window(models.window, context.model.as_ref(), tree)?;
        let planning = Planning {
            path: &path,
            context: &context,
            args: &args.plan,
            window: window.tokens,
            global,
        };
        let tried = order.first(|strategy| {
            let tried = try_one(strategy, &planning, &models)?;
            let passed = match &tried {
                Ok(Tried {
                    done: Done::Nothing(reason, report),
                    ..
                }) => Some(Passed::nothing(strategy, reason, report)),
                Ok(_) => None,
                Err(error) => Some(Passed::failed(strategy, error)),
            };
            Ok((tried, passed))
        })??;
        (context, window, tried)
    };
    let Tried {
        done,
        mut document,
        found,
    } = tried;
    document["passed_over"] = json!(order.passed);
    let file = match &destination {
        Destination::Out(path) => Some(path.as_path()),
        Destination::InPlace => Some(opened.path()),
        Destination::DryRun => None,
    };
    let written_to = file.map(shell_name);
    document["written_to"] = json!(file.map(|path| path.display().to_string()));
    let diagnostics = all_diagnostics(opened.diagnostics(), &context);
    document["diagnostics"] = json!(diagnostics);
    if let Some(instead) = &instead {
        document["replaced"] = json!(instead.replaced);
        document["left_behind"] = json!(instead.left_behind);
        document["carried"] = json!(instead.carried_names());
    }
    let mut notes = [order.notes(), found.notes()].concat();
    let carried = instead.as_ref().map(Replaceable::carried_names);
    if let Some(carried) = carried.filter(|carried| !carried.is_empty()) {
        let carried = carried.join(" and ");
        notes.push(format!("the {carried} set since stays set"));
    }
    let outcome = match done {
        Done::Nothing(reason, report) => {
            document["model"] = json!(report.of_models());
            Ok(Outcome::nothing_to_do(reason, document))
        }
        Done::Edits(edits) => {
            let written_to = written_to.as_deref();
            apply_edits(
                &edits,
                lead,
                (&mut opened, &destination),
                document,
                (&notes, written_to),
                global.output_filter(),
            )
        }
        Done::Compacted(mut compacted, report) => {
            let seconds = started.elapsed().as_secs_f64();
            if let Some(draft) = summary_draft(&mut compacted.applied.drafts) {
                seconds_in_details(draft, seconds);
                skipped_in_details(draft, &order.passed_over());
            }
            let plan = &compacted.plan;
            let drafts = [lead, compacted.applied.drafts.clone()].concat();
            let ids = opened.commit(
                &destination,
                &drafts,
                Some(&plan.leaf),
                global.output_filter(),
            )?;
            if ids.is_empty() {
                document["drafts"] = json!(draft_documents(&drafts));
            }
            let place = main_place(&drafts);
            let entry = place.and_then(|place| ids.get(place));
            let facts = ui::compaction::CardFacts {
                window,
                written_to: written_to.as_deref().map(|path| (path, entry)),
                seconds,
                report: &report,
                notes: &notes,
                unreadable: opened.report().text(),
            };
            Ok(outcome(&compacted, &context, document, &facts))
        }
    }?;
    Ok(outcome.of(opened.report()))
}

/// What came of a strategy.
struct Tried {
    done: Done,
    document: Value,
    found: Found,
}

/// Tries a strategy. What it fails at, another may do: that is the inner error; the outer one is for good.
fn try_one(
    strategy: Strategy,
    planning: &Planning<'_>,
    models: &Models,
) -> Result<Result<Tried, Error>, Error> {
    let found = restoring::find(planning, strategy)?;
    let planned = planning.plan(planning.own_limits(), &found)?;
    if let Err(error) = planned.refuse_small_window() {
        return Ok(Err(error));
    }
    let mut document = planning.document(&planned, &found)?;
    let done = match execute(planned, planning, models, &found) {
        Ok(done) => done,
        Err(error @ (Error::Summary { .. } | Error::Provider { .. } | Error::NothingToDo(_))) => {
            return Ok(Err(error));
        }
        Err(error) => return Err(error),
    };
    if let Done::Compacted(compacted, _) = &done {
        // A model may have been asked by a plan of its own: for its window, or in smaller pieces.
        document = compaction_document(
            &compacted.plan,
            &planning.global.app_settings()?.compaction.session,
            &found,
        );
    }
    if let Done::Edits(edits) = &done {
        let (path, context, profile) = (planning.path, planning.context, planning.global.profile());
        let before = measure(path, context, profile).estimated;
        document["estimated_tokens_before"] = json!(before);
        document["tokens_after"] = json!(before.saturating_sub(edits.saved));
        document["loss"] = json!(loss_of_drafts(context, &edits.drafts, profile.counter()));
    }
    Ok(Ok(Tried {
        done,
        document,
        found,
    }))
}

/// What came of a plan.
enum Done {
    Nothing(String, ModelReport),
    Edits(Edits),
    Compacted(Box<Compacted>, ModelReport),
}

/// Carries a plan out, to the point of being written.
fn execute(
    planned: Planned,
    planning: &Planning<'_>,
    models: &Models,
    found: &Found,
) -> Result<Done, Error> {
    let (path, context) = (planning.path, planning.context);
    let first = match planned {
        Planned::Nothing(reason) | Planned::WindowTooSmall(reason) => {
            return Ok(Done::Nothing(reason, ModelReport::default()));
        }
        Planned::Edits(edits) => return Ok(Done::Edits(edits)),
        Planned::Compaction(first) => first,
    };
    let mut candidates = match Wanted::by(first.strategy) {
        Wanted::Yes => models.in_order(context.model.as_ref()),
        // Another strategy of the list asks them.
        Wanted::No(_) => Vec::new(),
    };
    if first.strategy == Strategy::Restore {
        // What comes back follows a summary in words.
        candidates.retain(|candidate| candidate.way == SummaryMethod::Summary);
    }
    let (trigger, options) = planning.input(planning.own_limits(), found)?;
    let subject = Subject {
        path,
        context,
        trigger: &trigger,
        options: &options,
    };
    let mut writing = ui::writing::Writing::default();
    let mut watch = |step: summarize::SummaryStep<'_>| writing.step(&step);
    let mut run = models.run(path, &mut watch);
    let done = block_on(compact(&candidates, subject, &mut run))?;
    let report = match candidates.is_empty() {
        true => run.report,
        false => models.account(run.report),
    };
    match done {
        Ok(compacted) => Ok(Done::Compacted(Box::new(compacted), report)),
        Err(error) => match (error.nothing_to_do(), error) {
            (Some(reason), _) => Ok(Done::Nothing(reason, report)),
            (None, NoSummary::Failed(Failure::Apply(error))) => Err(Error::Summary {
                message: format!("Compaction failed: {error}"),
                report: Some(Box::new(report)),
            }),
            (None, error) => Err(no_summary("Compaction", error, report)),
        },
    }
}

fn outcome(
    compacted: &Compacted,
    context: &SessionContext,
    mut document: Value,
    facts: &ui::compaction::CardFacts<'_>,
) -> Outcome {
    let (plan, applied) = (&compacted.plan, &compacted.applied);
    document["compaction_entry_id"] = json!(facts.written_to.and_then(|(_, entry)| entry));
    document["summary"] = json!(applied.summary);
    document["summary_tokens"] = json!(plan.profile.counter().text(&applied.summary));
    document["estimated_tokens_before"] = json!(plan.tokens_in_context());
    document["tokens_after"] = json!(applied.tokens_after);
    document["loss"] = json!(applied.loss);
    document["ledger"] = ui::ledger::document(&applied.ledger);
    document["seconds"] = json!(facts.seconds);
    document["model"] = json!(facts.report.of_models());
    Outcome::done(
        &document,
        ui::compaction::card(plan, context, applied, facts),
    )
}

fn apply_edits(
    edits: &Edits,
    lead: Vec<EntryDraft>,
    (opened, destination): (&mut Opened, &Destination),
    mut document: Value,
    (notes, written_to): (&[String], Option<&str>),
    filter: &Arc<OutputFilter>,
) -> Result<Outcome, Error> {
    let moves = lead.len();
    let drafts = [lead, edits.drafts.clone()].concat();
    let mut ids = opened.commit(destination, &drafts, Some(&edits.leaf), filter)?;
    ids.drain(..moves.min(ids.len()));
    let mark = ids.pop();
    document["edit_entry_ids"] = json!(ids);
    document["mark_entry_id"] = json!(mark);
    let title = match mark {
        None => PREVIEW,
        Some(_) => "pruned: what was taken out is still in the file",
    };
    let mut text = ui::edits::edits_text(edits, title, notes);
    if let Some(path) = written_to {
        text.push_str(&format!("  undo  agent-cli undo {path} --in-place\n"));
    }
    Ok(Outcome::done(&document, text))
}
