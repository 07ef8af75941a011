//! Moves of the leaf: the summary of what is left comes first, then the move is written in one step.

use std::sync::Arc;
use std::time::Instant;

use compaction_core::{
    BranchInstructions, BranchOptions, BranchPlan, Profile, Settings, SummarizerLimits, TokenCount,
    branch_budget, plan_branch_summary,
};
use hooks::{BeforeTreeEvent, BeforeTreeResult, HookContext, HookSet, Notification};
use llm_providers::CancellationToken;
use session_model::json::RawJson;
use session_model::{BranchSummaryDraft, EntryDraft, EntryId, LabelDraft, Leaf, SessionTree};

use crate::machine::{Job, JobEnd};
use crate::runtime::AgentSession;
use crate::runtime::events::Events;
use crate::runtime::hooked::{cancelled_by, unless_cancelled};
use crate::runtime::jobs::{Done, ended};
use session_protocol::Moved;
use session_protocol::Navigation;
use session_protocol::event::SessionEvent;
use session_store::NewEntry;
use summarize::models::LiveModels;
use summarize::{ModelReport, Run, SummaryStep, answer_plan, bill_in_details, seconds_in_details};

/// A move, to the point of being written.
pub(super) struct Move {
    plan: BranchPlan,
    draft: EntryDraft,
    label: Option<String>,
    is_summarized: bool,
}

impl AgentSession {
    pub(super) async fn navigate(&mut self, job: Job, mut navigation: Navigation) {
        let focus = navigation.focus.take();
        navigation.focus = focus.map(|focus| self.events.without_keys(&focus));
        let (tree, from, to) = match self.ends_of_move(&navigation).await {
            Ok(ends) => ends,
            Err(ended) => {
                self.work
                    .start(job, |_| std::future::ready(Done::Navigation(Err(ended))));
                return;
            }
        };
        let planned = MoveJob {
            tree,
            from,
            to,
            navigation,
            models: self.models.clone(),
            hooks: self.hooks.clone(),
            hook_context: self.hook_context(),
            events: self.events.clone(),
            settings: self.settings.clone(),
            session_id: self.store.id().to_owned(),
        };
        self.work.start(job, |cancel| async move {
            tokio::task::yield_now().await;
            Done::Navigation(planned.run(cancel).await.map(Box::new))
        });
    }

    /// Returns the two ends of a move, on the tree as it is.
    async fn ends_of_move(
        &mut self,
        navigation: &Navigation,
    ) -> Result<(SessionTree, Leaf, Leaf), JobEnd> {
        // What could not be written belongs to the branch that is left.
        if let Err(error) = self.append(Vec::new()).await {
            return Err(JobEnd::Failed(error.to_string()));
        }
        let tree = self.store.tree();
        let to = match &navigation.target {
            None => Leaf::Root,
            Some(id) => match tree.find(id) {
                Some(index) => Leaf::At(index),
                None => return Err(JobEnd::Failed(format!("no entry {id} in this session"))),
            },
        };
        let from = self.store.leaf();
        if from == to {
            return Err(JobEnd::Failed(
                "the session stands there already".to_owned(),
            ));
        }
        Ok((tree.clone(), from, to))
    }

    /// Writes a move; the leaf moves with it.
    pub(super) async fn write_move(&mut self, moved: Move) -> JobEnd {
        let from = self.leaf_name();
        let parent = moved.plan.new_leaf.clone();
        let parent = match moved.plan.editor_text {
            Some(_) => self.before_hook_context(parent.as_ref()),
            None => parent,
        };
        let mut entries: Vec<NewEntry> = vec![moved.draft.into()];
        if let (Some(label), Some(target)) = (moved.label, &parent) {
            let draft = EntryDraft::Label(LabelDraft {
                target: target.clone(),
                label: Some(label),
            });
            entries.push(draft.into());
        }
        let ids: Vec<EntryId> = match self.append_under(parent, entries).await {
            Ok(ids) => ids,
            Err(error) => return JobEnd::Failed(error.to_string()),
        };
        self.turn.failed_answer = None;
        self.follow_branch();
        let summary = ids.first().filter(|_| moved.is_summarized);
        self.notify(Notification::SessionTree {
            new_leaf: self.leaf_name(),
            old_leaf: from.clone(),
            summary_entry: summary.and_then(|id| self.entry_json(id)),
        });
        let record = Moved {
            leaf: self.leaf_name(),
            from,
            summary_entry_id: summary.map(ToString::to_string),
            editor_text: moved.plan.editor_text.clone(),
        };
        self.events.send(SessionEvent::Navigated {
            leaf: record.leaf.clone(),
            from: record.from.clone(),
            summary_entry_id: record.summary_entry_id.clone(),
            editor_text: record.editor_text.clone(),
            cancelled: false,
        });
        self.calls.moved = Some(record);
        JobEnd::Moved
    }

    /// Tells of a move that was cancelled; nothing has changed.
    pub(super) fn report_cancelled_move(&self, ended: &JobEnd) {
        if *ended == JobEnd::Cancelled {
            let leaf = self.leaf_name();
            self.events.send(SessionEvent::Navigated {
                from: leaf.clone(),
                leaf,
                summary_entry_id: None,
                editor_text: None,
                cancelled: true,
            });
        }
    }
}

/// What a move is made from.
struct MoveJob {
    tree: SessionTree,
    from: Leaf,
    to: Leaf,
    navigation: Navigation,
    models: LiveModels,
    hooks: Arc<HookSet>,
    hook_context: HookContext,
    events: Events,
    settings: Settings,
    session_id: String,
}

impl MoveJob {
    /// Returns the move, with a summary of what is left where one is wanted.
    async fn run(self, cancel: CancellationToken) -> Result<Move, JobEnd> {
        let window = self.models.model.window;
        let reserve = self.settings.branch_summary.reserve_tokens;
        // A small window keeps a share of itself free instead.
        let budget = branch_budget(window, reserve)
            .unwrap_or_else(|_| window.scaled(1, 2).max(TokenCount(1)));
        let plan_for = |limits: SummarizerLimits| {
            let options = BranchOptions {
                budget,
                profile: Profile::Own,
                settings: self.settings.compaction.clone(),
                summarizer: limits,
                instructions: self.navigation.focus.clone().map(BranchInstructions::Focus),
            };
            plan_branch_summary(&self.tree, self.from, self.to, &options)
                .map_err(|error| error.to_string())
        };
        let plan = plan_for(SummarizerLimits {
            window,
            max_output: None,
        });
        let plan = plan.map_err(JobEnd::Failed)?;
        for diagnostic in &plan.diagnostics {
            self.events.notice(diagnostic.to_string());
        }
        if let Some(draft) = self.ask_hooks(&plan, &cancel).await? {
            return Ok(self.moved(plan, draft, true));
        }
        if !self.navigation.summarize || plan.requests().is_empty() {
            let draft = plan.move_only();
            return Ok(self.moved(plan, draft, false));
        }
        let started = Instant::now();
        let mut watch = |step: SummaryStep<'_>| self.events.step(&step);
        let mut run = Run {
            cancel,
            policy: self.models.policy,
            fallback: self.models.fallback,
            cache_key: Some(self.session_id.clone()),
            watch: &mut watch,
            report: ModelReport::default(),
        };
        let quarter = window.scaled(1, 4);
        let cap = self
            .settings
            .compaction
            .extractive_budget(window, None)
            .min(quarter);
        let extractive = |plan: &BranchPlan| plan.answer_extractive(cap, Profile::Own.counter());
        let candidates = &self.models.summarizers();
        let answered = answer_plan(candidates, window, &plan_for, &extractive, &mut run).await;
        let report = run.report;
        self.events.account(&report);
        let (plan, answers) = answered.map_err(ended)?;
        let mut draft = plan
            .apply(&answers)
            .map_err(|error| JobEnd::Failed(format!("Branch summary failed: {error}")))?;
        bill_in_details(&mut draft, &report);
        seconds_in_details(&mut draft, started.elapsed().as_secs_f64());
        Ok(self.moved(plan, draft, true))
    }

    /// Asks the hooks; returns the summary that one of them supplies.
    async fn ask_hooks(
        &self,
        plan: &BranchPlan,
        cancel: &CancellationToken,
    ) -> Result<Option<EntryDraft>, JobEnd> {
        let event = BeforeTreeEvent {
            tree: &self.tree,
            plan,
            old_leaf: self.from,
            target: self.to,
            user_wants_summary: self.navigation.summarize,
        };
        let context = HookContext {
            cancel: cancel.clone(),
            ..self.hook_context.clone()
        };
        let asked = self.hooks.before_tree(&event, &context);
        let asked = unless_cancelled(cancel, asked).await;
        let asked = asked.ok_or(JobEnd::Cancelled)?;
        self.events.hook_failures(&asked.failures);
        match asked.result {
            BeforeTreeResult::Proceed => Ok(None),
            BeforeTreeResult::Cancel { reason } => {
                let hook = asked.decided_by.as_deref();
                let why = cancelled_by(hook, reason.as_deref(), "the move");
                Err(JobEnd::Failed(why))
            }
            BeforeTreeResult::Summary(supplied) => {
                let details = supplied.details.as_ref();
                Ok(Some(EntryDraft::BranchSummary(Box::new(
                    BranchSummaryDraft {
                        from: plan.from.clone(),
                        summary: supplied.summary,
                        details: details.and_then(|details| RawJson::of(details).ok()),
                        from_extension: true,
                    },
                ))))
            }
        }
    }

    fn moved(&self, plan: BranchPlan, draft: EntryDraft, is_summarized: bool) -> Move {
        Move {
            plan,
            draft,
            label: self.navigation.label.clone(),
            is_summarized,
        }
    }
}
