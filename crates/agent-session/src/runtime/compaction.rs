//! One compaction of a running session: strategies in their order, hooks, candidates; nothing is written here.

use std::collections::BTreeSet;
use std::sync::Arc;

use compaction_core::undoable::Replaceable;
use compaction_core::{
    CompactionPlan, ElisionPlan, HookInput, LossKind, NothingToDo, PlanOptions, Profile,
    PromptCache, PrunePlan, Settings, Strategy, TokenCount, Trigger, measure, message_counts,
    plan_elision, plan_for_context, plan_prune, threshold, touched_files,
};
use hooks::{CompactingResult, HookContext, HookSet};
use llm_providers::CancellationToken;
use session_model::json::RawJson;
use session_model::{
    EntryDraft, EntryId, Leaf, SessionContext, SessionPath, SessionTree, build_context,
};
use tokio::time::Instant;

use crate::machine::JobEnd;
use crate::runtime::choices::Chosen;
use crate::runtime::events::Events;
use crate::runtime::jobs::ended;
use crate::runtime::overflow::leave_room;
use crate::runtime::pins::pinned_on;
use crate::runtime::review::Review;
use session_protocol::event::CompactionResult;
use session_tools::restoring::{Disk, Stopped};
use summarize::models::LiveModels;
use summarize::{
    Candidate, Compacted, ModelReport, Run, SkippedStrategy, Subject, SummaryMethod, SummaryStep,
    compact, seconds_in_details, skipped_in_details, summary_draft,
};

/// What a compaction is made from.
pub(super) struct CompactionJob {
    /// The session as it is.
    pub tree: SessionTree,
    /// Where it is compacted: the leaf, or the entry before an answer that failed.
    pub leaf: Leaf,
    pub settings: Settings,
    /// The strategies, in the order in which they are tried.
    pub strategies: Vec<Strategy>,
    pub models: LiveModels,
    pub hooks: Arc<HookSet>,
    /// The session as hooks are told of it.
    pub hook_context: HookContext,
    pub trigger: Trigger,
    /// Whether the turn is asked again afterwards.
    pub will_retry: bool,
    /// The compaction in whose place it is written.
    pub replaces: Option<Replaceable>,
    /// Where touched files are read.
    pub disk: Disk,
    pub cancel: CancellationToken,
    pub events: Events,
    /// What whoever asked for it has decided.
    pub chosen: Chosen,
    /// Where its summary waits to be read, if somebody wants to.
    pub review: Option<Review>,
}

/// What comes of a compaction, to the point of being written.
#[derive(Debug)]
pub(super) enum CompactionOutput {
    /// Entries to append.
    Entries(Box<CompactionEntries>),
    /// The document of a handoff.
    Document(Box<HandoffDocument>),
}

/// The document of a handoff, and its account.
#[derive(Debug)]
pub(super) struct HandoffDocument {
    /// The document.
    pub text: String,
    /// The typed copy of its ledger.
    pub ledger: serde_json::Value,
    /// Who wrote it.
    pub report: ModelReport,
    /// What is told of it.
    pub result: CompactionResult,
    /// What was pinned when it was planned.
    pub pinned: BTreeSet<EntryId>,
}

/// The entries that carry out a compaction.
#[derive(Debug)]
pub(super) struct CompactionEntries {
    /// The entries, in order.
    pub drafts: Vec<EntryDraft>,
    /// What is told of them.
    pub result: CompactionResult,
    /// Whether the context is well below the threshold afterwards.
    pub frees_enough: bool,
    /// Whether the newest answer, which failed, leaves the context with them.
    pub omits_failed: bool,
    /// The compaction in whose place they are written.
    pub replaces: Option<Replaceable>,
    /// What was pinned when it was planned.
    pub pinned: BTreeSet<EntryId>,
}

/// Why a strategy brought nothing.
#[derive(Debug)]
pub(super) enum StrategyError {
    /// The next one may do better.
    Next(JobEnd),
    /// Somebody does not want the compaction, by whatever strategy.
    Refused(JobEnd),
}

impl From<JobEnd> for StrategyError {
    fn from(ended: JobEnd) -> Self {
        Self::Next(ended)
    }
}

/// How far below the threshold a compaction must land, in tenths.
pub(super) const TARGET: u64 = 8;

impl CompactionJob {
    /// Tries the strategies in their order until one makes progress.
    pub async fn run(self) -> Result<CompactionOutput, JobEnd> {
        // What is cancelled immediately does nothing.
        tokio::task::yield_now().await;
        let started = Instant::now();
        let (mut worst, mut passed) = (None, Vec::new());
        let failed_reads = || {
            self.tree
                .source_failure()
                .map_or(0, |failure| failure.count)
        };
        let failed_before = failed_reads();
        for strategy in &self.strategies {
            if self.cancel.is_cancelled() {
                return Err(JobEnd::Cancelled);
            }
            let mut done = self.by(*strategy).await;
            if failed_reads() > failed_before {
                let failure = self.tree.source_failure();
                let reason = failure.map_or_else(String::new, |failure| failure.reason);
                return Err(JobEnd::Failed(format!("cannot read the session: {reason}")));
            }
            if let Ok(product) = &mut done {
                let seconds = started.elapsed().as_secs_f64();
                let result = match product {
                    CompactionOutput::Entries(entries) => {
                        self.chosen.lead(entries);
                        if let Some(draft) = summary_draft(&mut entries.drafts) {
                            seconds_in_details(draft, seconds);
                            skipped_in_details(draft, &passed);
                        }
                        &mut entries.result
                    }
                    CompactionOutput::Document(document) => &mut document.result,
                };
                result.seconds = seconds;
            }
            match done {
                Err(StrategyError::Refused(ended)) => return Err(ended),
                Err(StrategyError::Next(ended)) => {
                    let (JobEnd::Nothing(why) | JobEnd::Failed(why)) = &ended else {
                        return Err(ended);
                    };
                    let failed = matches!(ended, JobEnd::Failed(_));
                    passed.push(SkippedStrategy::new(strategy.name(), failed, why));
                    worst.get_or_insert(ended);
                }
                Ok(product) => return Ok(product),
            }
        }
        let nothing = || JobEnd::Nothing("no strategy is set; see compaction.strategy".to_owned());
        Err(worst.unwrap_or_else(nothing))
    }

    async fn by(&self, strategy: Strategy) -> Result<CompactionOutput, StrategyError> {
        let path = self.tree.path(self.leaf);
        let context = build_context(&path, Profile::Own.context_rules());
        let options = self.options(strategy, &path, &context);
        match strategy {
            Strategy::Off => Err(StrategyError::Next(JobEnd::Nothing(
                "compaction.strategy is off; set another to compact".to_owned(),
            ))),
            Strategy::Restore => {
                let options = self.with_files(options, &context).await?;
                let mut candidates = self.models.summarizers();
                // What comes back follows a summary in words.
                candidates.retain(|candidate| candidate.way == SummaryMethod::Summary);
                self.summarized(&path, &context, options, &candidates).await
            }
            Strategy::PruneOnly => match plan_prune(&path, &options, PromptCache::Cold) {
                Ok(plan) => Ok(self.pruned(&plan, &context)),
                Err(nothing) => Err(StrategyError::Next(JobEnd::Nothing(nothing.to_string()))),
            },
            Strategy::ContextFull => {
                let candidates = &self.models.summarizers();
                self.summarized(&path, &context, options, candidates).await
            }
            Strategy::Extractive => self.summarized(&path, &context, options, &[]).await,
            Strategy::Handoff => Ok(self.handed_off(&path, &context).await?),
        }
    }

    fn options(
        &self,
        strategy: Strategy,
        path: &SessionPath<'_>,
        context: &SessionContext,
    ) -> PlanOptions {
        let mut options = PlanOptions::new(self.settings.clone(), self.models.model.window);
        let compaction = &mut options.settings.compaction;
        compaction.strategy = strategy.into();
        if self.trigger == Trigger::Overflow {
            let tokens = measure(path, context, Profile::Own).tokens;
            leave_room(compaction, tokens, context);
        }
        options
    }

    /// Returns the options with what the touched files hold now.
    async fn with_files(
        &self,
        mut options: PlanOptions,
        context: &SessionContext,
    ) -> Result<PlanOptions, JobEnd> {
        let touched = touched_files(context);
        let disk = self.disk.clone();
        let settings = options.settings.compaction.restore;
        if self.trigger == Trigger::Overflow && settings.total_tokens == TokenCount::ZERO {
            return Ok(options);
        }
        let read = disk.read_beside(touched, settings, &self.cancel).await;
        let restore = read.map_err(|Stopped| JobEnd::Cancelled)?;
        options.restore = restore;
        Ok(options)
    }

    fn target(&self) -> Option<TokenCount> {
        let rules = Profile::Own.rules();
        let window = self.models.model.window;
        let threshold = threshold(window, &self.settings.compaction, &rules)?;
        Some(threshold.tokens.scaled(TARGET, 10))
    }

    pub(super) fn session_id(&self) -> String {
        let header = self.tree.header();
        header
            .map(|header| header.id.to_string())
            .unwrap_or_default()
    }

    async fn summarized(
        &self,
        path: &SessionPath<'_>,
        context: &SessionContext,
        mut options: PlanOptions,
        candidates: &[Candidate],
    ) -> Result<CompactionOutput, StrategyError> {
        let trigger = &self.trigger;
        let first = match plan_for_context(path, context, trigger, &options) {
            Ok(plan) => plan,
            // Nothing can be summarized, but it is too much: shorten what is large where it stands.
            Err(NothingToDo::NothingOld { .. }) => {
                let plan = plan_elision(path, &options);
                let plan = plan.map_err(|nothing| JobEnd::Nothing(nothing.to_string()))?;
                let strategy = options.settings.compaction.strategy.first();
                return Ok(self.elided(&plan, context, strategy));
            }
            Err(nothing) => return Err(JobEnd::Nothing(nothing.to_string()).into()),
        };
        if let Some(replaced) = self.ask_hooks(&first, path).await? {
            return Ok(self.overridden(&first, (path, context), &options, &replaced)?);
        }
        let strategy = options.settings.compaction.strategy.first();
        let added = match strategy {
            // Nobody is asked, so there is nothing to add to.
            Strategy::Extractive | Strategy::PruneOnly | Strategy::Off => {
                CompactingResult::default()
            }
            Strategy::ContextFull | Strategy::Restore | Strategy::Handoff => {
                self.collect_from_hooks(strategy, context).await?
            }
        };
        options.hooks = HookInput {
            prompt: added.prompt,
            context: added.context,
        };
        if options.hooks != HookInput::default()
            && let Err(nothing) = plan_for_context(path, context, trigger, &options)
        {
            // Without it there was a plan.
            self.events.notice(format!(
                "what hooks add to the request does not fit and is left out: {nothing}"
            ));
            options.hooks = HookInput::default();
        }
        let subject = Subject {
            path,
            context,
            trigger,
            options: &options,
        };
        let events = self.events.clone();
        let mut watch = move |step: SummaryStep<'_>| events.step(&step);
        let mut run = self.summary_run(&mut watch);
        let done = compact(candidates, subject, &mut run).await;
        let report = run.report;
        self.events.account(&report);
        let Compacted { plan, applied } = done.map_err(ended)?;
        let mut applied = self.reviewed(&plan, applied, &report).await?;
        for (key, value) in &added.preserve_data {
            if let Ok(value) = RawJson::of(value) {
                applied.preserve(key, &value);
            }
        }
        if let Some(restored) = &plan.restored {
            self.events.restored(restored, &options.restore.outside);
        }
        let result = CompactionResult {
            strategy: plan.strategy.name().into(),
            first_kept_entry_id: plan.first_kept().map(ToString::to_string),
            tokens_before: plan.tokens_in_context().0,
            tokens_after: applied.tokens_after.0,
            ledger_tokens: applied.ledger.tokens.0,
            kept_entries: count(&plan, true),
            summarized_entries: count(&plan, false),
            shortened_entries: plan.elisions.len(),
            summarizer: author(&report),
            summary: Some(applied.summary.clone()),
            user_messages: applied
                .loss
                .as_ref()
                .map(|loss| loss.of(LossKind::UserMessage))
                .filter(|figures| figures.total > 0),
            cost_usd: report.cost_usd,
            ..CompactionResult::default()
        };
        Ok(self.entries(applied.drafts, result, applied.tokens_after))
    }

    /// Returns the entries of a context that has so many tokens afterwards.
    pub(super) fn entries(
        &self,
        drafts: Vec<EntryDraft>,
        result: CompactionResult,
        after: TokenCount,
    ) -> CompactionOutput {
        CompactionOutput::Entries(Box::new(CompactionEntries {
            drafts,
            result,
            frees_enough: self.target().is_none_or(|target| after <= target),
            omits_failed: self.will_retry,
            replaces: self.replaces.clone(),
            pinned: pinned_on(&self.tree.path(self.leaf)),
        }))
    }

    pub(super) fn summary_run<'a>(
        &self,
        watch: &'a mut (dyn FnMut(SummaryStep<'_>) + Send),
    ) -> Run<'a> {
        Run {
            cancel: self.cancel.clone(),
            policy: self.models.policy,
            fallback: self.models.fallback,
            cache_key: Some(self.session_id()),
            watch,
            report: ModelReport::default(),
        }
    }

    fn pruned(&self, plan: &PrunePlan, context: &SessionContext) -> CompactionOutput {
        let (shortened, figures) = (plan.pruned.len(), (plan.tokens_before, plan.saved));
        let strategy = Strategy::PruneOnly;
        self.edits(strategy, plan.apply(), shortened, figures, context)
    }

    fn elided(
        &self,
        plan: &ElisionPlan,
        context: &SessionContext,
        strategy: Strategy,
    ) -> CompactionOutput {
        let (shortened, figures) = (plan.elisions.len(), (plan.tokens_before, plan.saved));
        self.edits(strategy, plan.apply(), shortened, figures, context)
    }

    fn edits(
        &self,
        strategy: Strategy,
        drafts: Vec<EntryDraft>,
        shortened: usize,
        (before, saved): (TokenCount, TokenCount),
        context: &SessionContext,
    ) -> CompactionOutput {
        let after = before.saturating_sub(saved);
        // Told in the measure of every other compaction; decided by what was billed, too.
        let counts = message_counts(context, Profile::Own.counter());
        let estimated: TokenCount = counts.into_iter().sum();
        let result = CompactionResult {
            strategy: strategy.name().into(),
            tokens_before: estimated.0,
            tokens_after: estimated.saturating_sub(saved).0,
            shortened_entries: shortened,
            summarizer: "extractive".to_owned(),
            ..CompactionResult::default()
        };
        self.entries(drafts, result, after)
    }
}

/// Returns who wrote.
pub(super) fn author(report: &ModelReport) -> String {
    let model = report.answered_by.as_deref();
    model.unwrap_or("extractive").to_owned()
}

fn count(plan: &CompactionPlan, kept: bool) -> usize {
    use compaction_core::Disposition;
    let entries = plan.entries.iter();
    let counted = entries.filter(|entry| match entry.disposition {
        Disposition::Kept | Disposition::Pruned => kept,
        Disposition::Summarized | Disposition::TurnPrefix => !kept,
        Disposition::PreviousSummary | Disposition::NoMessage | Disposition::System => false,
    });
    counted.count()
}
