//! The document of a handoff: asked for at the end of the real conversation where that fits the model's window, so
//! that the provider's cache is hit; else from the conversation as text.

use compaction_core::{HandoffPlan, RequestKind, SummarizerLimits, TokenCount};
use llm_providers::{BoxFuture, ProviderErrorKind, Request, ToolChoice};
use session_model::{Content, LlmMessage};

use crate::answer::{Wanted, summary_of};
use crate::candidates::{Asking, first_answer, in_words, outline_limits};
use crate::{Candidate, Failure, NoSummary, Run, answer_all};

/// What a handoff is made from.
pub struct HandoffJob<'a> {
    /// Tokens of the context.
    pub tokens: TokenCount,
    /// The window that is assumed for models whose own is not known.
    pub window: TokenCount,
    /// Plans for a summarizer's limits.
    pub plan_for: &'a (dyn Fn(SummarizerLimits) -> Result<HandoffPlan, String> + Sync),
    /// Returns the request that goes on with the conversation on a candidate.
    pub request_for: &'a (dyn Fn(&Candidate) -> Request + Sync),
    /// The most that the outline takes.
    pub cap: TokenCount,
}

/// Returns the document, by the first candidate that can, or the outline of the session. Nothing is written.
///
/// # Errors
/// [`NoSummary`] when it was cancelled, or no candidate wrote and the outline is not allowed.
pub async fn handoff(
    job: &HandoffJob<'_>,
    candidates: &[Candidate],
    run: &mut Run<'_>,
) -> Result<String, NoSummary> {
    if let Some(document) = first_answer(candidates, in_words, run, job).await? {
        return Ok(document);
    }
    let plan = (job.plan_for)(outline_limits(job.window)).map_err(Failure::Window)?;
    let answers = plan.answer_extractive(job.cap);
    let (document, _) = plan.document(&answers).map_err(Failure::Answer)?;
    Ok(document)
}

impl Asking<String> for HandoffJob<'_> {
    fn ask<'a>(
        &'a self,
        candidate: &'a Candidate,
        run: &'a mut Run<'_>,
    ) -> BoxFuture<'a, Result<String, NoSummary>> {
        Box::pin(async move { Ok(by(self, candidate, run).await?) })
    }
}

async fn by(
    job: &HandoffJob<'_>,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<String, Failure> {
    let limits = candidate.limits(job.window);
    let plan = (job.plan_for)(limits).map_err(Failure::Window)?;
    let room = limits.window.scaled(9, 10).saturating_sub(plan.max_output);
    if job.tokens <= room {
        match at_the_end(job, &plan, candidate, run).await {
            // Too long after all, or a history that this service refuses as messages (calls of tools that the session
            // does not describe, for example): as text it can be read all the same.
            Err(failure) if failure.is_overflow() || failure.is_refused() => {}
            done => return done,
        }
    }
    let (plan, answers) = answer_all(plan, candidate, run).await?;
    Ok(plan.document(&answers)?.0)
}

/// Asks at the end of the conversation. The tools stay in the request, for the cache, and must not be called; a
/// service that cannot be told so is asked without being told.
async fn at_the_end(
    job: &HandoffJob<'_>,
    plan: &HandoffPlan,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<String, Failure> {
    let mut request = (job.request_for)(candidate);
    let question = Content::Text(plan.question());
    request.messages.push(LlmMessage::User(question));
    request.tool_choice = ToolChoice::None;
    let with_tools = !request.tools.is_empty();
    let wanted = Wanted {
        kind: RequestKind::Handoff,
        cap: plan.max_output,
        replaces: job.tokens,
    };
    let answered = summary_of(request.clone(), wanted, candidate, run).await;
    let answer = match answered {
        Err(Failure::Provider(error))
            if with_tools && error.kind == ProviderErrorKind::InvalidRequest =>
        {
            request.tool_choice = ToolChoice::Auto;
            summary_of(request, wanted, candidate, run).await?
        }
        answered => answered?,
    };
    Ok(plan.with_files(&answer.summary(RequestKind::Handoff)?))
}
