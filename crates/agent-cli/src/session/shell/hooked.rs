//! What hooks make of a compaction: they may refuse it, or supply it.

use compaction_core::{ApplyError, CompactionPlan, Profile, TokenCount};
use hooks::{BeforeCompactEvent, BeforeCompactResult, CompactionOverride};
use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, CompactionDraft, EntryDraft, EntryId, EntryIndex, FirstKept, SessionContext,
    SessionPath, SummaryMessage,
};

use crate::session::event::CompactionResult;
use crate::session::machine::Ended;
use crate::session::shell::compaction::{CompactionJob, Entries, Miss, Product};

impl CompactionJob {
    /// Asks the hooks; returns the compaction that one of them supplies.
    pub(super) fn ask_hooks(
        &self,
        plan: &CompactionPlan,
        path: &SessionPath<'_>,
    ) -> Result<Option<Box<CompactionOverride>>, Miss> {
        let ids = path.entries().iter();
        let branch: Vec<EntryId> = ids
            .map(|index| EntryId::new(self.tree.id(*index)))
            .collect();
        let asked = self.hooks.before_compact(&BeforeCompactEvent {
            plan,
            branch: &branch,
            custom_instructions: self.focus.as_deref(),
            will_retry: self.will_retry,
        });
        self.events.hook_failures(&asked.failures);
        match asked.result {
            BeforeCompactResult::Proceed => Ok(None),
            BeforeCompactResult::Cancel => Err(Miss::Refused(Ended::Nothing(
                "a hook cancelled it".to_owned(),
            ))),
            BeforeCompactResult::Replace(replaced) => Ok(Some(replaced)),
        }
    }

    /// Returns what a hook supplies in the place of the plan.
    pub(super) fn overridden(
        &self,
        plan: &CompactionPlan,
        (path, context): (&SessionPath<'_>, &SessionContext),
        replaced: &CompactionOverride,
    ) -> Result<Product, Ended> {
        let Some(place) = path.place_of(&replaced.first_kept) else {
            return Err(Ended::Failed(format!(
                "a hook keeps from {}, which is not on the path",
                replaced.first_kept
            )));
        };
        if replaced.summary.trim().is_empty() {
            return Err(Ended::Failed("a hook gave an empty summary".to_owned()));
        }
        let before = plan.tokens_in_context();
        let is_there =
            |entry: &session_model::ProjectedEntry| entry.entry.id == replaced.first_kept;
        if !context.entries.iter().any(is_there) {
            return Err(Ended::Failed(format!(
                "a hook keeps from {}, which an earlier compaction took out of the context",
                replaced.first_kept
            )));
        }
        let after = tokens_after(plan, context, &path.entries()[place..], &replaced.summary);
        if after >= before {
            let inflated = ApplyError::Inflated { before, after };
            return Err(Ended::Nothing(inflated.to_string()));
        }
        let preserved = (!replaced.preserve_data.is_empty())
            .then(|| RawJson::of(&replaced.preserve_data).ok())
            .flatten();
        let mut details = replaced.details.clone().unwrap_or_else(|| json!({}));
        if let Some(details) = details.as_object_mut() {
            details.insert("undoTo".to_owned(), json!(plan.leaf));
        }
        let draft = CompactionDraft {
            summary: replaced.summary.clone(),
            short_summary: replaced.short_summary.clone(),
            first_kept: FirstKept::Entry(replaced.first_kept.clone()),
            tokens_before: replaced.tokens_before,
            details: RawJson::of(&details).ok(),
            preserve_data: preserved,
            from_extension: true,
            system: plan.system.clone(),
        };
        let result = CompactionResult {
            strategy: plan.strategy.name(),
            entry_id: None,
            first_kept_entry_id: Some(replaced.first_kept.to_string()),
            tokens_before: before.0,
            tokens_after: after.0,
            kept_entries: path.entries().len() - place,
            summarized_entries: place,
            shortened_entries: 0,
            summarizer: "hook".to_owned(),
            summary: Some(replaced.summary.clone()),
            cost_usd: None,
            seconds: 0.0,
            prepared: false,
        };
        Ok(Product::Entries(Box::new(Entries {
            drafts: vec![EntryDraft::Compaction(Box::new(draft))],
            result,
            lands: self.lands(after),
            omits_failed: self.will_retry,
        })))
    }
}

/// Returns the estimate of the context after a compaction that keeps these entries.
fn tokens_after(
    plan: &CompactionPlan,
    context: &SessionContext,
    kept: &[EntryIndex],
    summary: &str,
) -> TokenCount {
    let counter = Profile::Own.counter();
    let said = |message: AgentMessage| counter.message(&message);
    let entries = context.entries.iter();
    let entries = entries.filter(|projected| kept.contains(&projected.index));
    let messages = entries.flat_map(|projected| &projected.messages);
    let kept: TokenCount = messages.map(|message| counter.message(message)).sum();
    let system = plan.system.clone().map(AgentMessage::System);
    let summary = AgentMessage::CompactionSummary(SummaryMessage {
        summary: summary.to_owned(),
        timestamp: None,
    });
    kept + said(summary) + system.map_or(TokenCount::ZERO, said)
}
