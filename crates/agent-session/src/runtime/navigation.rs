//! Moves of the leaf: the summary of what is left comes first, then the move is written in one step.

use std::time::Instant;

use compaction_core::{
    BranchInstructions, BranchOptions, BranchPlan, Profile, SummarizerLimits, branch_budget,
    plan_branch_summary,
};
use hooks::{BeforeTreeEvent, BeforeTreeResult, HookContext, Notification};
use session_model::json::RawJson;
use session_model::{BranchSummaryDraft, EntryDraft, EntryId, LabelDraft, Leaf};

use crate::event::SessionEvent;
use crate::machine::{Ended, Job, Navigation};
use crate::runtime::AgentSession;
use crate::runtime::entries::leaf_name;
use crate::runtime::hooked::{cancelled_by, unless_cancelled};
use crate::runtime::jobs::Done;
use crate::runtime::jobs::ended;
use crate::runtime::reply::Moved;
use crate::summarize::{
    ModelReport, Run, SummaryStep, answer_plan, bill_in_details, seconds_in_details, summary_draft,
};
use session_store::NewEntry;

/// A move, to the point of being written.
pub(super) struct Move {
    plan: BranchPlan,
    drafts: Vec<EntryDraft>,
    label: Option<String>,
    is_summarized: bool,
}

impl AgentSession {
    pub(super) async fn navigate(&mut self, job: Job, mut navigation: Navigation) {
        let focus = navigation.focus.take();
        navigation.focus = focus.map(|focus| self.events.without_keys(&focus));
        let prepared = self.prepare(navigation).await;
        let (plan_source, navigation) = match prepared {
            Ok(prepared) => prepared,
            Err(ended) => {
                self.start(job, |_| std::future::ready(Done::Navigation(Err(ended))));
                return;
            }
        };
        let models = self.models.clone();
        let hooks = self.hooks.clone();
        let hook_context = self.hook_context();
        let events = self.events.clone();
        let settings = self.settings.clone();
        let session = self.store.id().to_owned();
        self.start(job, |cancel| async move {
            tokio::task::yield_now().await;
            let (tree, from, to) = plan_source;
            let options = |limits: SummarizerLimits, budget| BranchOptions {
                budget,
                profile: Profile::Own,
                settings: settings.compaction.clone(),
                summarizer: limits,
                instructions: navigation.focus.clone().map(BranchInstructions::Focus),
            };
            let window = models.model.window;
            let budget = match branch_budget(window, settings.branch_summary.reserve_tokens) {
                Ok(budget) => budget,
                // A small window keeps a share of itself free instead.
                Err(_) => window.scaled(1, 2).max(compaction_core::TokenCount(1)),
            };
            let own = SummarizerLimits {
                window,
                max_output: None,
            };
            let plan = plan_branch_summary(&tree, from, to, &options(own, budget));
            let plan = match plan {
                Ok(plan) => plan,
                Err(error) => return Done::Navigation(Err(Ended::Failed(error.to_string()))),
            };
            for said in &plan.diagnostics {
                events.notice(said.to_string());
            }
            let event = BeforeTreeEvent {
                tree: &tree,
                plan: &plan,
                old_leaf: from,
                target: to,
                user_wants_summary: navigation.summarize,
            };
            let context = HookContext {
                cancel: cancel.clone(),
                ..hook_context
            };
            let asked = hooks.before_tree(&event, &context);
            let Some(asked) = unless_cancelled(&cancel, asked).await else {
                return Done::Navigation(Err(Ended::Cancelled));
            };
            events.hook_failures(&asked.failures);
            let supplied = match asked.result {
                BeforeTreeResult::Proceed => None,
                BeforeTreeResult::Cancel { reason } => {
                    let hook = asked.decided_by.as_deref();
                    let why = cancelled_by(hook, reason.as_deref(), "the move");
                    return Done::Navigation(Err(Ended::Failed(why)));
                }
                BeforeTreeResult::Summary(summary) => Some(summary),
            };
            if let Some(supplied) = supplied {
                let details = supplied.details.as_ref();
                let draft = EntryDraft::BranchSummary(Box::new(BranchSummaryDraft {
                    from: plan.from.clone(),
                    summary: supplied.summary,
                    details: details.and_then(|details| RawJson::of(details).ok()),
                    from_extension: true,
                }));
                return Done::Navigation(Ok(Box::new(Move {
                    plan,
                    drafts: vec![draft],
                    label: navigation.label,
                    is_summarized: true,
                })));
            }
            if !navigation.summarize || plan.requests().is_empty() {
                let draft = plan.move_only();
                return Done::Navigation(Ok(Box::new(Move {
                    plan,
                    drafts: vec![draft],
                    label: navigation.label,
                    is_summarized: false,
                })));
            }
            let started = Instant::now();
            let watcher = events.clone();
            let mut watch = move |step: SummaryStep<'_>| watcher.step(&step);
            let mut run = Run {
                cancel,
                policy: models.policy,
                fallback: models.fallback,
                cache_key: Some(session),
                watch: &mut watch,
                report: ModelReport::default(),
            };
            let plan_for = |limits: SummarizerLimits| {
                let plan = plan_branch_summary(&tree, from, to, &options(limits, budget));
                plan.map_err(|error| error.to_string())
            };
            let quarter = window.scaled(1, 4);
            let cap = settings.compaction.extractive_max_tokens.min(quarter);
            let by_rule = |plan: &BranchPlan| plan.answer_by_rule(cap, Profile::Own.counter());
            let candidates = &models.summarizers();
            let answered = answer_plan(candidates, window, &plan_for, &by_rule, &mut run).await;
            let report = run.report;
            events.account(&report);
            let seconds = started.elapsed().as_secs_f64();
            let answered = answered.map_err(ended);
            Done::Navigation(summarized(answered, &report, seconds, navigation))
        });
    }

    /// Returns the two ends of a move, on the tree as it is.
    async fn prepare(
        &mut self,
        navigation: Navigation,
    ) -> Result<((session_model::SessionTree, Leaf, Leaf), Navigation), Ended> {
        // What could not be written belongs to the branch that is left.
        if let Err(error) = self.append(Vec::new()).await {
            return Err(Ended::Failed(error.to_string()));
        }
        let tree = self.store.tree();
        let to = match &navigation.target {
            None => Leaf::Root,
            Some(id) => match tree.find(id) {
                Some(index) => Leaf::At(index),
                None => return Err(Ended::Failed(format!("no entry {id} in this session"))),
            },
        };
        let from = self.store.leaf();
        if from == to {
            return Err(Ended::Failed("the session stands there already".to_owned()));
        }
        Ok(((tree.clone(), from, to), navigation))
    }

    /// Writes a move; the leaf moves with it.
    pub(super) async fn write_move(&mut self, moved: Move) -> Ended {
        let from = leaf_name(&*self.store);
        let parent = moved.plan.new_leaf.clone();
        let parent = match moved.plan.editor_text {
            Some(_) => self.before_hook_context(parent.as_ref()),
            None => parent,
        };
        let mut entries: Vec<NewEntry> = moved.drafts.into_iter().map(Into::into).collect();
        if let (Some(label), Some(target)) = (moved.label, &parent) {
            let draft = EntryDraft::Label(LabelDraft {
                target: target.clone(),
                label: Some(label),
            });
            entries.push(draft.into());
        }
        let ids: Vec<EntryId> = match self.store.append_under(parent, entries).await {
            Ok(ids) => ids,
            Err(error) => return Ended::Failed(error.to_string()),
        };
        self.failed = None;
        self.follow_branch();
        let summary = ids.first().filter(|_| moved.is_summarized);
        self.notify(Notification::SessionTree {
            new_leaf: leaf_name(&*self.store),
            old_leaf: from.clone(),
            summary_entry: summary.and_then(|id| self.entry_json(id)),
        });
        let told = Moved {
            leaf: leaf_name(&*self.store),
            from,
            summary_entry_id: summary.map(ToString::to_string),
            editor_text: moved.plan.editor_text.clone(),
        };
        self.events.send(SessionEvent::Navigated {
            leaf: told.leaf.clone(),
            from: told.from.clone(),
            summary_entry_id: told.summary_entry_id.clone(),
            editor_text: told.editor_text.clone(),
            cancelled: false,
        });
        self.calls.moved = Some(told);
        Ended::Compacted { lands: true }
    }

    /// Tells of a move that was cancelled; nothing has changed.
    pub(super) fn report_cancelled_move(&self, ended: &Ended) {
        if *ended == Ended::Cancelled {
            let leaf = leaf_name(&*self.store);
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

fn summarized(
    answered: Result<(BranchPlan, Vec<compaction_core::SummaryAnswer>), Ended>,
    report: &ModelReport,
    seconds: f64,
    navigation: Navigation,
) -> Result<Box<Move>, Ended> {
    let (plan, answers) = answered?;
    let draft = plan
        .apply(&answers)
        .map_err(|error| Ended::Failed(format!("Branch summary failed: {error}")))?;
    let mut drafts = vec![draft];
    if let Some(draft) = summary_draft(&mut drafts) {
        bill_in_details(draft, report);
        seconds_in_details(draft, seconds);
    }
    Ok(Box::new(Move {
        plan,
        drafts,
        label: navigation.label,
        is_summarized: true,
    }))
}
