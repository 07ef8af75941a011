//! `compact`: summarizes older history and keeps recent work word for word.

use std::time::Instant;

use compaction_core::{AppliedCompaction, ApplyError, CompactionPlan};
use serde_json::{Value, json};
use session_model::{EntryId, SessionContext, build_context};

use crate::args::{CompactArgs, Global};
use crate::commands::plan::{Edits, PREVIEW, Planned, document, plan};
use crate::commands::{Destination, Opened, Outcome, all_diagnostics, shell_name};
use crate::error::Error;
use crate::ui;

pub(super) fn run(args: &CompactArgs, global: &Global) -> Result<Outcome, Error> {
    let started = Instant::now();
    let destination = args.output.destination("compact")?;
    let mut opened = Opened::open(&args.plan.session.session, &destination)?;
    let (planned, context, mut document) = {
        let tree = opened.session().tree();
        let path = tree.path(args.plan.session.leaf(tree)?);
        let context = build_context(&path, global.profile().context_rules());
        let planned = plan(&path, &context, &args.plan, global)?;
        let window = args.plan.window.tokens()?;
        let document = document(&planned, &path, &context, window, global)?;
        (planned, context, document)
    };
    let written_to = match &destination {
        Destination::Out(path) => Some(shell_name(path)),
        Destination::InPlace => Some(shell_name(&opened.session().path)),
        Destination::DryRun => None,
    };
    document["diagnostics"] = json!(all_diagnostics(opened.session(), &context));
    document["written_to"] = json!(match &destination {
        Destination::Out(path) => Some(path.display().to_string()),
        Destination::InPlace => Some(opened.session().path.display().to_string()),
        Destination::DryRun => None,
    });
    match planned {
        Planned::Nothing(reason) => Ok(Outcome::nothing_to_do(reason, document)),
        Planned::Edits(edits) => {
            let written_to = written_to.as_deref();
            apply_edits(&edits, &mut opened, &destination, document, written_to)
        }
        Planned::Compaction(plan) => {
            let applied = match plan.apply(&plan.answer_by_rule()) {
                Ok(applied) => applied,
                Err(error @ (ApplyError::Inflated { .. } | ApplyError::AboveThreshold { .. })) => {
                    return Ok(Outcome::nothing_to_do(error.to_string(), document));
                }
                Err(error) => return Err(Error::Summary(format!("Compaction failed: {error}"))),
            };
            let ids = opened.commit(&destination, &applied.drafts, Some(&plan.leaf))?;
            let seconds = started.elapsed().as_secs_f64();
            let written_to = written_to.as_deref();
            let facts = ui::compaction::CardFacts {
                window: args.plan.window.tokens()?,
                written_to,
                seconds,
            };
            Ok(outcome(&plan, &context, &applied, &ids, document, &facts))
        }
    }
}

fn outcome(
    plan: &CompactionPlan,
    context: &SessionContext,
    applied: &AppliedCompaction,
    ids: &[EntryId],
    mut document: Value,
    facts: &ui::compaction::CardFacts<'_>,
) -> Outcome {
    document["compaction_entry_id"] = json!(ids.last());
    document["summary"] = json!(applied.summary);
    document["estimated_tokens_before"] = json!(plan.tokens_in_context());
    document["tokens_after"] = json!(applied.tokens_after);
    document["seconds"] = json!(facts.seconds);
    Outcome::done(
        &document,
        ui::compaction::card(plan, context, applied, facts),
    )
}

fn apply_edits(
    edits: &Edits,
    opened: &mut Opened,
    destination: &Destination,
    mut document: Value,
    written_to: Option<&str>,
) -> Result<Outcome, Error> {
    let mut ids = opened.commit(destination, &edits.drafts, Some(&edits.leaf))?;
    let mark = ids.pop();
    document["edit_entry_ids"] = json!(ids);
    document["mark_entry_id"] = json!(mark);
    let title = match mark {
        None => PREVIEW,
        Some(_) => "pruned: what was taken out is still in the file",
    };
    let mut text = ui::plan::edits_text(edits, title);
    if let Some(path) = written_to {
        text.push_str(&format!("  undo  agent-cli undo {path} --in-place\n"));
    }
    Ok(Outcome::done(&document, text))
}
