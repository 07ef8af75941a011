//! Edits of the context without a compaction, and how they are shown.

use compaction_core::{ElisionPlan, PlanHash, PrunePlan, PruneReason, Strategy, TokenCount};
use serde::Serialize;
use session_model::{EntryDraft, EntryId};

use crate::ui::{BOLD, clean, counted, rule, styled, tokens, width};

/// Edits of the context without a compaction.
pub(crate) struct Edits {
    /// The leaf that they were planned for.
    pub leaf: EntryId,
    /// Which strategy they carry out.
    pub strategy: &'static str,
    /// The hash of the plan.
    pub hash: PlanHash,
    /// Tokens of the context before.
    pub before: TokenCount,
    /// Tokens saved.
    pub saved: TokenCount,
    /// What is shortened.
    pub rows: Vec<EditRow>,
    /// The entries to append.
    pub drafts: Vec<EntryDraft>,
}

/// An entry that is shortened.
#[derive(Serialize)]
pub(crate) struct EditRow {
    /// The entry.
    pub entry_id: EntryId,
    /// Its tokens before.
    pub tokens: TokenCount,
    /// How many of them are saved.
    pub saved: TokenCount,
    /// Why.
    pub reason: &'static str,
}

impl Edits {
    pub(crate) fn of_pruning(plan: &PrunePlan) -> Self {
        let rows = plan.pruned.iter().map(|result| EditRow {
            entry_id: result.entry_id.clone(),
            tokens: result.tokens,
            saved: result.saved,
            reason: match result.reason {
                PruneReason::Old => "old",
                PruneReason::Superseded => "read again in full later",
            },
        });
        Self {
            leaf: plan.leaf.clone(),
            strategy: Strategy::PruneOnly.name(),
            hash: plan.hash(),
            before: plan.tokens_before,
            saved: plan.saved,
            rows: rows.collect(),
            drafts: plan.apply(),
        }
    }

    pub(crate) fn of_elision(plan: &ElisionPlan, strategy: Strategy) -> Self {
        let rows = plan.elisions.iter().map(|elision| EditRow {
            entry_id: elision.entry_id.clone(),
            tokens: elision.tokens,
            saved: elision.saved,
            reason: "too large for the window; nothing is old enough to be summarized",
        });
        Self {
            leaf: plan.leaf.clone(),
            strategy: strategy.name(),
            hash: plan.hash(),
            before: plan.tokens_before,
            saved: plan.saved,
            rows: rows.collect(),
            drafts: plan.apply(),
        }
    }
}

/// Returns what edits shorten, under a rule that says whether it has been done, and the notes.
pub(crate) fn edits_text(edits: &Edits, title: &str, notes: &[String]) -> String {
    let headline = format!(
        "Prune  {} of {}, {} saved",
        counted(edits.rows.len(), "message"),
        tokens(edits.before),
        tokens(edits.saved)
    );
    let mut out = format!("{}\n{}\n", styled(BOLD, &headline), rule(title, width()));
    for row in &edits.rows {
        out.push_str(&format!(
            "  {}  {:>8}   {}\n",
            clean(&row.entry_id),
            tokens(row.tokens),
            row.reason
        ));
    }
    out.extend(notes.iter().map(|note| format!("  note  {note}\n")));
    out
}
