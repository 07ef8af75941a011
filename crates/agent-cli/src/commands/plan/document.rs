//! The JSON document of a planned compaction.

use compaction_core::{CompactionPlan, Disposition};
use serde_json::{Value, json};

use crate::commands::restoring::Found;
use crate::ui;
use crate::ui::edits::EditRow;
use session_protocol::settings::SessionCompaction;

/// Returns the JSON document of a plan of a compaction, with what comes back by it.
pub(in crate::commands) fn compaction_document(
    plan: &CompactionPlan,
    settings: &SessionCompaction,
    found: &Found,
) -> Value {
    let threshold = plan.threshold.as_ref();
    let due = threshold.is_some_and(|threshold| threshold.is_exceeded_by(plan.measure.tokens));
    let ids = |disposition| plan.ids(disposition).collect::<Vec<_>>();
    let kept = plan.entries.iter();
    let kept = kept
        .filter(|entry| matches!(entry.disposition, Disposition::Kept | Disposition::Pruned))
        .map(|entry| &entry.entry_id);
    let pruned = plan.elisions.iter().map(|elision| EditRow {
        entry_id: elision.entry_id.clone(),
        tokens: elision.tokens,
        saved: elision.saved,
        reason: "too large for what is kept",
    });
    let requests = plan.requests().iter().map(|request| {
        json!({
            "kind": request.kind,
            "part": request.part,
            "parts": request.parts,
            "system": request.system,
            "conversation": request.conversation,
            "prompt": request.prompt(None),
            "max_output_tokens": request.max_output,
        })
    });
    let mut document = json!({
        "plan_hash": plan.hash().to_string(),
        "leaf": plan.leaf,
        "strategy": plan.strategy.name(),
        "context_tokens": plan.measure.tokens,
        "threshold": threshold.map(|threshold| threshold.tokens),
        "threshold_explained": threshold.map(|threshold| &threshold.explain),
        "should_compact": due && settings.enabled,
        "tokens_before": plan.measure.stored,
        "keep_recent_tokens": plan.keep,
        "first_kept_entry_id": plan.first_kept(),
        "is_split_turn": plan.turn_start().is_some(),
        "turn_start_entry_id": plan.turn_start(),
        "summarize": ids(Disposition::Summarized),
        "turn_prefix": ids(Disposition::TurnPrefix),
        "kept": kept.collect::<Vec<_>>(),
        "pruned": pruned.collect::<Vec<_>>(),
        "read_files": plan.files.read_files(),
        "modified_files": plan.files.modified_files(),
        "previous_summary": plan.previous_summary,
        "ledger": ui::ledger::document(&plan.ledger),
        "requests": requests.collect::<Vec<_>>(),
        "entries": plan.entries,
    });
    found.tell(plan, &mut document);
    document
}
