//! The JSON document of a planned compaction.

use compaction_core::{
    CompactionPlan, Disposition, KeepBudget, PlannedEntry, RequestKind, TokenCount,
};
use serde::Serialize;
use session_model::EntryId;

use crate::commands::restoring::Found;
use crate::ui;
use crate::ui::edits::EditRow;

/// The JSON document of a planned compaction.
#[derive(Serialize)]
struct Document<'a> {
    plan_hash: String,
    leaf: &'a EntryId,
    strategy: &'static str,
    context_tokens: TokenCount,
    threshold: Option<TokenCount>,
    threshold_explained: Option<&'a str>,
    should_compact: bool,
    tokens_before: TokenCount,
    keep_recent_tokens: KeepBudget,
    first_kept_entry_id: Option<&'a EntryId>,
    is_split_turn: bool,
    turn_start_entry_id: Option<&'a EntryId>,
    summarize: Vec<&'a EntryId>,
    turn_prefix: Vec<&'a EntryId>,
    kept: Vec<&'a EntryId>,
    pruned: Vec<EditRow>,
    read_files: Vec<String>,
    modified_files: Vec<String>,
    previous_summary: Option<&'a str>,
    ledger: serde_json::Value,
    requests: Vec<Request>,
    entries: &'a [PlannedEntry],
}

#[derive(Serialize)]
struct Request {
    kind: RequestKind,
    part: usize,
    parts: usize,
    system: String,
    conversation: String,
    prompt: String,
    max_output_tokens: TokenCount,
}

/// Returns the JSON document of a plan of a compaction, with what comes back by it.
pub(in crate::commands) fn compaction_document(
    plan: &CompactionPlan,
    found: &Found,
) -> serde_json::Value {
    let mut document = serde_json::to_value(rows(plan)).unwrap_or_default();
    found.tell(plan, &mut document);
    document
}

fn rows(plan: &CompactionPlan) -> Document<'_> {
    let due = plan
        .threshold
        .as_ref()
        .is_some_and(|threshold| threshold.is_exceeded_by(plan.measure.tokens));
    let kept = plan.entries.iter();
    Document {
        plan_hash: plan.hash().to_string(),
        leaf: &plan.leaf,
        strategy: plan.strategy.name(),
        context_tokens: plan.measure.tokens,
        threshold: plan.threshold.as_ref().map(|threshold| threshold.tokens),
        threshold_explained: plan
            .threshold
            .as_ref()
            .map(|threshold| threshold.explain.as_str()),
        should_compact: due && plan.enabled,
        tokens_before: plan.measure.stored,
        keep_recent_tokens: plan.keep,
        first_kept_entry_id: plan.first_kept(),
        is_split_turn: plan.turn_start().is_some(),
        turn_start_entry_id: plan.turn_start(),
        summarize: plan.ids(Disposition::Summarized).collect(),
        turn_prefix: plan.ids(Disposition::TurnPrefix).collect(),
        kept: kept
            .filter(|entry| matches!(entry.disposition, Disposition::Kept | Disposition::Pruned))
            .map(|entry| &entry.entry_id)
            .collect(),
        pruned: plan
            .elisions
            .iter()
            .map(|elision| EditRow {
                entry_id: elision.entry_id.clone(),
                tokens: elision.tokens,
                saved: elision.saved,
                reason: "too large for what is kept",
            })
            .collect(),
        read_files: plan.files.read_files(),
        modified_files: plan.files.modified_files(),
        previous_summary: plan.previous_summary.as_deref(),
        ledger: ui::ledger::document(
            &plan.ledger,
            plan.tokens_after(&plan.ledger.text) + plan.summary_cap,
        ),
        requests: plan
            .requests()
            .iter()
            .map(|request| Request {
                kind: request.kind,
                part: request.part,
                parts: request.parts,
                system: request.system.clone(),
                conversation: request.conversation.clone(),
                prompt: request.prompt(None),
                max_output_tokens: request.max_output,
            })
            .collect(),
        entries: &plan.entries,
    }
}
