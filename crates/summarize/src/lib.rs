//! Summaries by models: candidates in their order, folding on overflow, fallbacks, and an account of it all.
//!
//! The core and `llm-providers` have the rules; here is the order in which they are tried, in commands and sessions.

mod answer;
mod candidates;
mod handoff;
pub mod models;
mod native;
mod provenance;
mod report;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use compaction_core::{
    AnswerError, AppliedCompaction, ApplyError, BranchPlan, CannotShrink, CompactionPlan,
    HandoffPlan, NothingToDo, PlanOptions, Summarizer, SummarizerLimits, SummaryAnswer,
    SummaryRequest, TokenCount, Trigger, plan_for_context,
};
use llm_providers::{
    BoxFuture, CancellationToken, ModelInfo, NativeForm, Provider, ProviderError, Request,
    RetryPolicy,
};
use session_model::{SessionContext, SessionPath, Usage};

use candidates::{Asking, first_answer, in_words, outline_limits};

pub use answer::answer_all;
pub use candidates::in_order;
pub use handoff::{HandoffJob, handoff};
pub use native::native_tokens_before;
pub use provenance::{
    SkippedStrategy, add_details, bill_in_details, main_place, seconds_in_details,
    skipped_in_details, summary_draft,
};
pub use report::{Failed, Failure, ModelReport};

/// How a candidate is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryMethod {
    /// For a summary in words.
    Summary,
    /// For the provider's own form of a compacted history.
    Native(NativeForm),
}

impl SummaryMethod {
    /// Returns the name that reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Native(NativeForm::Standalone) => "native standalone",
            Self::Native(NativeForm::InBand) => "native in-band",
        }
    }
}

/// Somebody who may write the summary.
#[derive(Clone)]
pub struct Candidate {
    /// Who is asked.
    pub provider: Arc<dyn Provider>,
    /// How.
    pub way: SummaryMethod,
    /// What it costs; `None` for what has no price list.
    pub prices: Option<ModelInfo>,
    /// Who is named in the summary's provenance.
    pub summarizer: Summarizer,
}

impl Candidate {
    /// Returns the candidate that writes a summary in words by this provider, at an unknown price.
    pub fn of(provider: Arc<dyn Provider>) -> Self {
        Self {
            summarizer: Summarizer::Model {
                provider: provider.name().to_owned(),
                model: provider.model().to_owned(),
            },
            provider,
            way: SummaryMethod::Summary,
            prices: None,
        }
    }

    /// Returns the name that people read: `openai/gpt-5`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name(), self.provider.model())
    }

    /// Returns what it can take and give; `window` is assumed where its own is not known.
    pub fn limits(&self, window: TokenCount) -> SummarizerLimits {
        let capabilities = self.provider.capabilities();
        SummarizerLimits {
            window: capabilities.window.map_or(window, TokenCount),
            max_output: capabilities.max_output.map(TokenCount),
        }
    }
}

/// What happens when no candidate writes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// The outline is used, unless every failure is a mistake that the user can mend (a wrong key, a
    /// wrong address).
    #[default]
    UnlessMistaken,
    /// The outline is used.
    Extractive,
    /// That is an error.
    None,
}

/// What happens while models write, for whoever watches.
#[non_exhaustive]
#[derive(Debug)]
pub enum SummaryStep<'a> {
    /// A request goes out.
    Asking {
        /// Whom.
        candidate: &'a str,
        /// Which request, from 1.
        request: usize,
        /// How many there are.
        requests: usize,
    },
    /// More of the answer is there: characters so far, thinking included.
    Writing(usize),
    /// It is tried again after a delay.
    Retry {
        /// Why.
        error: &'a ProviderError,
        /// After which delay.
        delay: Duration,
        /// For how long, at most.
        budget: Duration,
    },
    /// The answer was no summary; it is asked once more, with a larger cap.
    Again(AnswerError),
    /// The requests exceeded the window; they are sent in smaller pieces.
    Folding,
    /// The provider did not take its own earlier history back; the readable summary takes its place.
    NativeRefused(&'a ProviderError),
    /// The candidate is given up.
    Failed(&'a Failed),
}

impl fmt::Display for SummaryStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asking {
                candidate,
                requests: 1,
                ..
            } => write!(f, "asking {candidate}"),
            Self::Asking {
                candidate,
                request,
                requests,
            } => write!(f, "asking {candidate}, part {request} of {requests}"),
            Self::Writing(characters) => write!(f, "{characters} characters"),
            Self::Retry {
                error,
                delay,
                budget,
            } => {
                let [delay, budget] = [delay, budget].map(Duration::as_secs_f64);
                write!(
                    f,
                    "{error}; again in {delay:.1} s, for {budget:.0} s at most"
                )
            }
            Self::Again(error) => write!(f, "{error}; asking once more"),
            Self::Folding => {
                f.write_str("too large for the model's window; asking in smaller pieces")
            }
            Self::NativeRefused(error) => write!(
                f,
                "{error}; the readable summary takes the place of the native history"
            ),
            Self::Failed(failed) => {
                write!(
                    f,
                    "{} ({}): {}",
                    failed.candidate, failed.way, failed.message
                )
            }
        }
    }
}

/// One run: what it obeys and what it tells.
pub struct Run<'a> {
    /// Ends it.
    pub cancel: CancellationToken,
    /// When failed requests are sent again.
    pub policy: RetryPolicy,
    /// What happens when every candidate fails.
    pub fallback: Fallback,
    /// What requests of this session share, for the providers' caches.
    pub cache_key: Option<String>,
    /// Who watches.
    pub watch: &'a mut (dyn FnMut(SummaryStep<'_>) + Send),
    /// The account.
    pub report: ModelReport,
}

impl Run<'_> {
    fn fail(&mut self, candidate: &Candidate, failure: &Failure) {
        let provider = match failure {
            Failure::Provider(error) => Some(error),
            _ => None,
        };
        let failed = Failed {
            candidate: candidate.name(),
            way: candidate.way.name(),
            kind: failure.kind(),
            message: match provider {
                Some(error) => error.message.to_string(),
                None => failure.to_string(),
            },
            status: provider.and_then(|error| error.status),
            request_id: provider.and_then(|error| error.request_id.as_deref().map(str::to_owned)),
        };
        (self.watch)(SummaryStep::Failed(&failed));
        self.report.failed.push(failed);
    }

    /// Counts one request with its new attempts. Answers of no use are billed like others.
    fn count(&mut self, candidate: &Candidate, retries: usize, billed: &[Usage]) {
        self.report.requests_sent += 1 + retries;
        self.report.retries += retries;
        for usage in billed {
            self.bill(candidate, usage);
        }
    }

    /// Counts what an answer took.
    fn bill(&mut self, candidate: &Candidate, usage: &Usage) {
        let cost = candidate.prices.as_ref();
        match cost.and_then(|model| model.cost(usage)) {
            Some(cost) => *self.report.cost_usd.get_or_insert(0.0) += cost,
            None => self.report.cost_is_partial = true,
        }
        self.report.usage += Usage {
            total_tokens: usage.context_tokens(),
            ..*usage
        };
    }
}

/// What is compacted, and by what it is planned.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The path.
    pub path: &'a SessionPath<'a>,
    /// Its context.
    pub context: &'a SessionContext,
    /// Why it is compacted.
    pub trigger: &'a Trigger,
    /// The options; each candidate has limits of its own.
    pub options: &'a PlanOptions,
}

impl Subject<'_> {
    fn plan(&self, limits: SummarizerLimits) -> Result<CompactionPlan, NothingToDo> {
        let mut options = self.options.clone();
        options.summarizer = limits;
        plan_for_context(self.path, self.context, self.trigger, &options)
    }

    /// Returns the request that a turn would send, with or without replaying the native history of the compaction
    /// before, and its tokens where that history takes the place of a part of the context.
    fn turn_request(&self, candidate: &Candidate, replays: bool) -> (Request, Option<TokenCount>) {
        let provider = &*candidate.provider;
        let request = Request::for_context(self.path, self.context, provider, replays).0;
        let history = request.native.as_ref();
        let tokens = history.map(|history| native_tokens_before(self.context, history, &request));
        (request, tokens)
    }
}

/// A plan whose requests can be asked in smaller pieces.
pub trait Foldable: Sized + Send {
    /// Returns the requests, in order.
    fn requests(&self) -> &[SummaryRequest];
    /// Returns the plan with smaller requests.
    ///
    /// # Errors
    /// [`CannotShrink`] when they cannot be smaller.
    fn shrink(self) -> Result<Self, CannotShrink>;
}

macro_rules! foldable {
    ($($plan:ty),*) => {
        $(impl Foldable for $plan {
            fn requests(&self) -> &[SummaryRequest] {
                self.requests()
            }
            fn shrink(self) -> Result<Self, CannotShrink> {
                self.shrink()
            }
        })*
    };
}
foldable!(CompactionPlan, BranchPlan, HandoffPlan);

impl From<Failure> for NoSummary {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Why there is no summary at all.
#[derive(Debug)]
pub enum NoSummary {
    /// The user cancelled.
    Cancelled,
    /// Every candidate failed, and the outline is not allowed; this is the last failure that says most.
    Failed(Failure),
    /// There is nothing to do.
    Nothing(NothingToDo),
}

impl NoSummary {
    /// Returns why there was nothing to do, also by a summary that would help nothing.
    pub fn nothing_to_do(&self) -> Option<String> {
        match self {
            Self::Nothing(nothing) => Some(nothing.to_string()),
            Self::Failed(Failure::Apply(
                error @ (ApplyError::Inflated { .. }
                | ApplyError::SavesLittle { .. }
                | ApplyError::AboveWindow { .. }),
            )) => Some(error.to_string()),
            Self::Failed(_) | Self::Cancelled => None,
        }
    }
}

/// A compaction that was carried out, to the point of being written.
#[derive(Debug)]
pub struct Compacted {
    /// The plan that it follows.
    pub plan: CompactionPlan,
    /// The entries.
    pub applied: AppliedCompaction,
}

/// Compacts by the first candidate that can, or quotes the conversation. Nothing is written.
///
/// # Errors
/// [`NoSummary`] when there is nothing to do, it was cancelled, or no candidate wrote and the outline is not allowed.
pub async fn compact(
    candidates: &[Candidate],
    subject: Subject<'_>,
    run: &mut Run<'_>,
) -> Result<Compacted, NoSummary> {
    let asked = first_answer(candidates, |_| true, run, &subject).await?;
    let mut done = match asked {
        Some(done) => done,
        None => {
            let limits = outline_limits(subject.options.window);
            let plan = subject.plan(limits).map_err(NoSummary::Nothing)?;
            let applied = plan.extractive().map_err(Failure::Apply)?;
            Compacted { plan, applied }
        }
    };
    if let Some(draft) = summary_draft(&mut done.applied.drafts) {
        bill_in_details(draft, &run.report);
    }
    Ok(done)
}

impl Asking<Compacted> for Subject<'_> {
    fn ask<'a>(
        &'a self,
        candidate: &'a Candidate,
        run: &'a mut Run<'_>,
    ) -> BoxFuture<'a, Result<Compacted, NoSummary>> {
        Box::pin(async move {
            let plan = match self.plan(candidate.limits(self.options.window)) {
                Ok(plan) => plan,
                Err(NothingToDo::Window(error)) => {
                    return Err(Failure::Window(error.to_string()).into());
                }
                Err(nothing) => return Err(NoSummary::Nothing(nothing)),
            };
            let done = match candidate.way {
                SummaryMethod::Summary => summarize(plan, candidate, run).await,
                SummaryMethod::Native(form) => {
                    native::compact(plan, self, form, candidate, run).await
                }
            };
            Ok(done?)
        })
    }
}

/// How one candidate answers a plan.
struct Answering<'c, P> {
    window: TokenCount,
    plan_for: &'c (dyn Fn(SummarizerLimits) -> Result<P, String> + Sync),
}

impl<P: Foldable> Asking<(P, Vec<SummaryAnswer>)> for Answering<'_, P> {
    fn ask<'a>(
        &'a self,
        candidate: &'a Candidate,
        run: &'a mut Run<'_>,
    ) -> BoxFuture<'a, Result<(P, Vec<SummaryAnswer>), NoSummary>> {
        Box::pin(async move {
            let limits = candidate.limits(self.window);
            let plan = (self.plan_for)(limits).map_err(Failure::Window)?;
            Ok(answer_all(plan, candidate, run).await?)
        })
    }
}

async fn summarize(
    plan: CompactionPlan,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<Compacted, Failure> {
    let (plan, answers) = answer_all(plan, candidate, run).await?;
    let applied = plan.apply(&answers)?;
    Ok(Compacted { plan, applied })
}

/// Has a plan of another kind answered: by the first candidate that can, or by `extractive`. Returns the plan as it
/// was asked and the answers.
///
/// # Errors
/// [`NoSummary`] when it was cancelled, or no candidate answered and the outline is not allowed.
pub async fn answer_plan<P: Foldable>(
    candidates: &[Candidate],
    window: TokenCount,
    plan_for: &(dyn Fn(SummarizerLimits) -> Result<P, String> + Sync),
    extractive: &(dyn Fn(&P) -> Vec<SummaryAnswer> + Sync),
    run: &mut Run<'_>,
) -> Result<(P, Vec<SummaryAnswer>), NoSummary> {
    let ask = Answering { window, plan_for };
    if let Some(done) = first_answer(candidates, in_words, run, &ask).await? {
        return Ok(done);
    }
    let plan = plan_for(outline_limits(window)).map_err(Failure::Window)?;
    let answers = extractive(&plan);
    Ok((plan, answers))
}
