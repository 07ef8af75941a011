//! What a compaction would do that somebody is about to ask for.

use compaction_core::{
    CompactionPlan, ContextLoss, Disposition, NothingToDo, PlanOptions, Profile, Strategy,
    TokenCount, Trigger, plan_for_context,
};
use session_model::{SessionContext, build_context};

use crate::runtime::choices::Chosen;
use session_protocol::CompactionRequest;
use session_protocol::Snapshot;

/// What a compaction would do.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The plan, with what was chosen.
    pub plan: CompactionPlan,
    /// The context that it is about; what was left out is not in it any more.
    pub context: SessionContext,
    /// Tokens of the context now.
    pub tokens_before: TokenCount,
    /// An estimate of them after, with the largest summary that is useful.
    pub tokens_after: TokenCount,
    /// What would leave the context without a model; none where they could not.
    pub loss: Option<ContextLoss>,
}

/// Why there is no preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoPreview {
    /// A compaction would do nothing, and why.
    Nothing(String),
    /// No summary would be written: output is shortened where it stands, or a new session begins.
    NoSummary,
    /// What was chosen cannot be.
    Refused(String),
}

impl Preview {
    /// Returns what a compaction would do by the first strategy that has something to do.
    ///
    /// # Errors
    /// [`NoPreview`] when nothing would be summarized, or what was chosen cannot be.
    pub async fn of(session: &Snapshot, request: &CompactionRequest) -> Result<Self, NoPreview> {
        let chosen = Chosen::of(
            &session.tree,
            session.leaf,
            &request.choices,
            (&session.settings, session.window),
        );
        let chosen = chosen.map_err(|refusal| NoPreview::Refused(refusal.message))?;
        let (tree, leaf) = chosen.place(&session.tree, session.leaf);
        let path = tree.path(leaf);
        let context = build_context(&path, Profile::Own.context_rules());
        let strategies: Vec<Strategy> = match request.strategy {
            Some(strategy) => vec![strategy],
            None => session.settings.compaction.strategy.iter().collect(),
        };
        let focus = request.focus.clone();
        let trigger = Trigger::Manual { focus };
        let mut why = NoPreview::Nothing("compaction.strategy is off".to_owned());
        for strategy in strategies {
            match strategy {
                Strategy::Off => continue,
                Strategy::PruneOnly | Strategy::Handoff => return Err(NoPreview::NoSummary),
                Strategy::ContextFull | Strategy::Extractive | Strategy::Restore => {}
            }
            let mut options = PlanOptions::new(session.settings.clone(), session.window);
            options.settings.compaction.strategy = strategy.into();
            if strategy == Strategy::Restore {
                options.restore = session
                    .disk
                    .of_context(&context, session.settings.compaction.restore)
                    .await;
            }
            match plan_for_context(&path, &context, &trigger, &options) {
                Ok(plan) => return Ok(Self::new(plan, context, chosen.freed)),
                Err(NothingToDo::NothingOld { .. }) => why = NoPreview::NoSummary,
                Err(nothing) => why = NoPreview::Nothing(nothing.to_string()),
            }
        }
        Err(why)
    }

    fn new(plan: CompactionPlan, context: SessionContext, freed: TokenCount) -> Self {
        let loss = plan.extractive().ok();
        Self {
            tokens_before: plan.tokens_in_context() + freed,
            tokens_after: plan.tokens_after("") + plan.summary_cap,
            loss: loss.and_then(|applied| applied.loss),
            context,
            plan,
        }
    }

    /// Returns how many entries of a disposition there are, and their tokens.
    pub fn share(&self, disposition: Disposition) -> (usize, TokenCount) {
        let entries = self.plan.entries.iter();
        let entries = entries.filter(|entry| entry.disposition == disposition);
        (
            entries.clone().count(),
            entries.map(|entry| entry.tokens).sum(),
        )
    }
}
