//! What hooks make of a compaction: they may refuse it, or supply it.

use std::sync::Arc;

use compaction_core::{
    ApplyError, CompactionPlan, LedgerBlock, PlanOptions, Profile, Strategy, TokenCount,
    ledger_beside,
};
use hooks::{
    BeforeCompactEvent, BeforeCompactResult, CompactingEvent, CompactingResult, CompactionOverride,
    HookContext,
};
use llm_providers::CancellationToken;
use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, CompactionDraft, EntryBody, EntryDraft, EntryIndex, FirstKept, SessionContext,
    SessionPath, SummaryMessage,
};

use crate::machine::JobEnd;
use crate::runtime::compaction::{CompactionJob, CompactionOutput, StrategyError};
use session_protocol::event::CompactionResult;

/// Returns what people read when a hook did not want something.
pub(super) fn cancelled_by(hook: Option<&str>, reason: Option<&str>, what: &str) -> String {
    let hook = hook.map_or("a hook".to_owned(), |hook| format!("hook {hook}"));
    match reason {
        Some(reason) => format!("{hook} cancelled {what}: {reason}"),
        None => format!("{hook} cancelled {what}"),
    }
}

/// Awaits what hooks say; none when it is cancelled before, and then they are not waited for.
pub(super) async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    asked: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        // What was said meanwhile is of no use.
        () = cancel.cancelled() => None,
        answer = asked => Some(answer),
    }
}

impl CompactionJob {
    /// Returns the session as hooks are told of it.
    fn hook_context(&self) -> HookContext {
        HookContext {
            cancel: self.cancel.clone(),
            ..self.hook_context.clone()
        }
    }

    /// Collects what hooks add to the requests.
    pub(super) async fn collect_from_hooks(
        &self,
        strategy: Strategy,
        context: &SessionContext,
    ) -> Result<CompactingResult, JobEnd> {
        let messages = as_written(context);
        let messages: Vec<&AgentMessage> = messages.iter().map(|message| &**message).collect();
        let event = CompactingEvent {
            strategy: strategy.name(),
            messages: &messages,
        };
        let hook_context = self.hook_context();
        let asked = self.hooks.compacting(&event, &hook_context);
        let added = unless_cancelled(&self.cancel, asked).await;
        let added = added.ok_or(JobEnd::Cancelled)?;
        self.events.hook_failures(&added.failures);
        let CompactingResult {
            prompt,
            context,
            preserve_data,
        } = added.result;
        let clean = |text: String| self.events.without_keys(&text);
        Ok(CompactingResult {
            prompt: prompt.map(clean),
            context: context.into_iter().map(clean).collect(),
            preserve_data,
        })
    }

    /// Asks the hooks; returns the compaction that one of them supplies.
    pub(super) async fn ask_hooks(
        &self,
        plan: &CompactionPlan,
        path: &SessionPath<'_>,
    ) -> Result<Option<Box<CompactionOverride>>, StrategyError> {
        let event = BeforeCompactEvent {
            plan,
            path,
            custom_instructions: self.trigger.focus(),
            reason: self.trigger.name(),
            will_retry: self.will_retry,
        };
        let hook_context = self.hook_context();
        let asked = self.hooks.before_compact(&event, &hook_context);
        let asked = unless_cancelled(&self.cancel, asked).await;
        let asked = asked.ok_or(JobEnd::Cancelled)?;
        self.events.hook_failures(&asked.failures);
        match asked.result {
            BeforeCompactResult::Proceed => Ok(None),
            BeforeCompactResult::Cancel { reason } => {
                let hook = asked.decided_by.as_deref();
                let message = cancelled_by(hook, reason.as_deref(), "it");
                Err(StrategyError::Refused(JobEnd::Nothing(message)))
            }
            BeforeCompactResult::Replace(replaced) => Ok(Some(replaced)),
        }
    }

    /// Returns what a hook supplies in place of the plan.
    pub(super) fn overridden(
        &self,
        plan: &CompactionPlan,
        (path, context): (&SessionPath<'_>, &SessionContext),
        options: &PlanOptions,
        replaced: &CompactionOverride,
    ) -> Result<CompactionOutput, JobEnd> {
        let Some(place) = path.place_of(&replaced.first_kept) else {
            return Err(JobEnd::Failed(format!(
                "a hook keeps from {}, which is not on the path",
                replaced.first_kept
            )));
        };
        if replaced.summary.trim().is_empty() {
            return Err(JobEnd::Failed("a hook gave an empty summary".to_owned()));
        }
        let before = plan.tokens_in_context();
        let is_there =
            |entry: &session_model::ProjectedEntry| entry.entry.id == replaced.first_kept;
        let Some(first_kept) = context.entries.iter().position(is_there) else {
            return Err(JobEnd::Failed(format!(
                "a hook keeps from {}, which an earlier compaction took out of the context",
                replaced.first_kept
            )));
        };
        let kept = &path.entries()[place..];
        let plain = tokens_after(plan, context, kept, &replaced.summary);
        if plain >= before {
            let after = plain;
            let inflated = ApplyError::Inflated { before, after };
            return Err(JobEnd::Nothing(inflated.to_string()));
        }
        let ledger = match replaced.ledger {
            false => LedgerBlock::default(),
            true => {
                let threshold = plan.threshold.as_ref().map(|threshold| threshold.tokens);
                let most = threshold.map_or(before, |threshold| threshold.min(before));
                let room = most.saturating_sub(plain + TokenCount(1));
                ledger_beside(path, context, first_kept, options, room)
            }
        };
        let summary = format!("{}{}", replaced.summary, ledger.text);
        let after = tokens_after(plan, context, kept, &summary);
        let preserved = (!replaced.preserve_data.is_empty())
            .then(|| RawJson::of(&replaced.preserve_data).ok())
            .flatten();
        let mut details = replaced.details.clone().unwrap_or_else(|| json!({}));
        if let Some(details) = details.as_object_mut() {
            details.insert("undoTo".to_owned(), json!(plan.leaf));
            if !ledger.is_empty() {
                details.insert("ledger".to_owned(), ledger.details());
            }
            let known = [
                ("summarizer", json!({ "by": "hook" })),
                ("strategy", json!(plan.strategy)),
                ("trigger", json!(plan.trigger)),
                ("estimatedTokensBefore", json!(before)),
                ("estimatedTokensAfter", json!(after)),
                ("ended", json!("complete")),
            ];
            // What the hook says of it itself stays.
            for (key, value) in known {
                details.entry(key).or_insert(value);
            }
        }
        let draft = CompactionDraft {
            summary: summary.clone(),
            short_summary: replaced.short_summary.clone(),
            first_kept: FirstKept::Entry(replaced.first_kept.clone()),
            tokens_before: replaced.tokens_before,
            details: RawJson::of(&details).ok(),
            preserve_data: preserved,
            from_extension: true,
            system: plan.system.clone(),
        };
        let result = CompactionResult {
            strategy: plan.strategy.name().into(),
            first_kept_entry_id: Some(replaced.first_kept.to_string()),
            tokens_before: before.0,
            tokens_after: after.0,
            ledger_tokens: ledger.tokens.0,
            kept_entries: path.entries().len() - place,
            summarized_entries: place,
            summarizer: "hook".to_owned(),
            summary: Some(summary),
            ..CompactionResult::default()
        };
        let drafts = vec![EntryDraft::Compaction(Box::new(draft))];
        Ok(self.entries(drafts, result, after))
    }
}

/// Returns the messages of a context as the session holds them: without what is said next to the summary of a
/// compaction that brings things back.
fn as_written(context: &SessionContext) -> Vec<Arc<AgentMessage>> {
    let system = context.system.iter().map(|(_, message)| message.clone());
    let entries = context.entries.iter().flat_map(|projected| {
        let is_framed = match &projected.entry.body {
            EntryBody::Compaction(compaction) => compaction.restores(),
            _ => false,
        };
        match is_framed && !projected.messages.is_empty() {
            true => projected.original_messages(),
            false => projected.messages.clone(),
        }
    });
    let others = entries.filter(|message| !matches!(**message, AgentMessage::System(_)));
    system.chain(others).collect()
}

/// Returns the estimate of the context after a compaction that keeps these entries.
fn tokens_after(
    plan: &CompactionPlan,
    context: &SessionContext,
    kept: &[EntryIndex],
    summary: &str,
) -> TokenCount {
    let counter = Profile::Own.counter();
    let tokens = |message: AgentMessage| counter.message(&message);
    let entries = context.entries.iter();
    let entries = entries.filter(|projected| kept.contains(&projected.index));
    let messages = entries.flat_map(|projected| &projected.messages);
    let kept: TokenCount = messages.map(|message| counter.message(message)).sum();
    let system = plan.system.clone().map(AgentMessage::System);
    let summary = AgentMessage::CompactionSummary(SummaryMessage {
        summary: summary.to_owned(),
        timestamp: None,
    });
    kept + tokens(summary) + system.map_or(TokenCount::ZERO, tokens)
}
