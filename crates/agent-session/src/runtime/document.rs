//! The document of a handoff.

use compaction_core::{
    HandoffOptions, Profile, Strategy, SummarizerLimits, TokenCount, measure, plan_handoff,
};
use llm_providers::Request;
use session_model::{SessionContext, SessionPath};

use crate::machine::JobEnd;
use crate::runtime::compaction::{CompactionJob, CompactionOutput, HandoffDocument, author};
use crate::runtime::jobs::ended;
use crate::runtime::pins::pinned_on;
use session_protocol::event::CompactionResult;
use summarize::{Candidate, Fallback, HandoffJob, SummaryStep, handoff};

impl CompactionJob {
    pub(super) async fn handed_off(
        &self,
        path: &SessionPath<'_>,
        context: &SessionContext,
    ) -> Result<CompactionOutput, JobEnd> {
        const NOTHING_SAID: &str = "nothing was said in this session";
        let added = self.collect_from_hooks(Strategy::Handoff, context).await?;
        // Of what hooks add, a handoff takes only the lines of context.
        let mut focus: Vec<String> = self
            .trigger
            .focus()
            .map(str::to_owned)
            .into_iter()
            .collect();
        focus.extend(added.context);
        let focus = (!focus.is_empty()).then(|| focus.join("\n"));
        let plan_for = |limits: SummarizerLimits| {
            let options = HandoffOptions {
                settings: self.settings.compaction.clone(),
                summarizer: limits,
                focus: focus.clone(),
            };
            match plan_handoff(path, context, &options) {
                Ok(Some(plan)) => Ok(plan),
                Ok(None) => Err(NOTHING_SAID.to_owned()),
                Err(error) => Err(error.to_string()),
            }
        };
        let request_for = |candidate: &Candidate| {
            Request::for_context(path, context, &*candidate.provider, true).0
        };
        let window = self.models.model.window;
        let tokens = measure(path, context, Profile::Own).tokens;
        let job = HandoffJob {
            tokens,
            window,
            plan_for: &plan_for,
            request_for: &request_for,
            cap: window.scaled(1, 4).min(TokenCount(8192)),
        };
        let events = self.events.clone();
        let mut watch = move |step: SummaryStep<'_>| events.step(&step);
        let mut run = self.summary_run(&mut watch);
        if !self.models.summarizers().is_empty() {
            // Where models give no document, another strategy is better than an extractive one.
            run.fallback = Fallback::None;
        }
        let done = handoff(&job, &self.models.summarizers(), &mut run).await;
        let report = run.report;
        self.events.account(&report);
        let text = done.map_err(ended)?;
        if text.trim().is_empty() {
            return Err(JobEnd::Failed("the document is empty".to_owned()));
        }
        let own = SummarizerLimits {
            window,
            max_output: None,
        };
        // A window too small for any plan has room for no ledger either.
        let ledger = plan_for(own).map(|plan| plan.ledger).unwrap_or_default();
        let after = Profile::Own.counter().text(&text);
        let result = CompactionResult {
            strategy: Strategy::Handoff.name().into(),
            tokens_before: tokens.0,
            tokens_after: after.0,
            ledger_tokens: ledger.tokens.0,
            summarized_entries: context.entries.len(),
            summarizer: author(&report),
            summary: Some(text.clone()),
            cost_usd: report.cost_usd,
            ..CompactionResult::default()
        };
        Ok(CompactionOutput::Document(Box::new(HandoffDocument {
            text,
            ledger: ledger.details(),
            report,
            result,
            pinned: pinned_on(path),
        })))
    }
}
