//! Summaries by models: candidates in their order, folding on overflow, fallbacks, and an account of it all.
//!
//! The rules live in the core and in `llm-providers`; here is the order in which they are tried. The same
//! functions serve the commands and a running session.

mod answer;
mod handoff;
mod native;
mod report;

use std::sync::Arc;
use std::time::{Duration, Instant};

use compaction_core::{
    AnswerError, AppliedCompaction, BranchPlan, CannotShrink, CompactionPlan, HandoffPlan,
    NothingToDo, Summarizer, SummarizerLimits, SummaryAnswer, SummaryRequest, TokenCount,
    add_detail,
};
use llm_providers::catalog::ModelInfo;
use llm_providers::{CancellationToken, NativeForm, Provider, ProviderError, Request, RetryPolicy};
use serde_json::json;
use session_model::json::RawJson;
use session_model::{EntryDraft, Usage};

pub use answer::answer_all;
pub use handoff::{HandoffJob, handoff};
pub use native::NATIVE_TOKENS;
pub use report::{Failed, Failure, ModelReport};

/// How a candidate is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// For a summary in words.
    Summary,
    /// For the provider's own form of a compacted history.
    Native(NativeForm),
}

impl Way {
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
    pub way: Way,
    /// What it costs; `None` for what has no price list.
    pub prices: Option<ModelInfo>,
    /// Who is named in the summary's provenance.
    pub summarizer: Summarizer,
}

impl Candidate {
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
    /// The built-in rules write it, unless every failure is a mistake that the user can mend (a wrong key, a
    /// wrong address).
    #[default]
    UnlessMistaken,
    /// The built-in rules write it.
    Extractive,
    /// That is an error.
    None,
}

/// What happens while models write, for whoever watches.
#[derive(Debug)]
pub enum Step<'a> {
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
    pub watch: &'a mut (dyn FnMut(Step<'_>) + Send),
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
                Some(error) => error.message.clone(),
                None => failure.to_string(),
            },
            status: provider.and_then(|error| error.status),
            request_id: provider.and_then(|error| error.request_id.as_deref().map(str::to_owned)),
        };
        (self.watch)(Step::Failed(&failed));
        self.report.failed.push(failed);
    }

    /// Counts what an answer took.
    fn bill(&mut self, candidate: &Candidate, usage: &Usage) {
        let cost = candidate.prices.as_ref();
        match cost.and_then(|model| model.cost(usage)) {
            Some(cost) => *self.report.cost_usd.get_or_insert(0.0) += cost,
            None => self.report.cost_is_partial = true,
        }
        let total = &mut self.report.usage;
        total.input += usage.input;
        total.output += usage.output;
        total.cache_read += usage.cache_read;
        total.cache_write += usage.cache_write;
        total.total_tokens += usage.context_tokens();
        total.incomplete |= usage.incomplete;
    }
}

/// What a native compaction starts from.
#[derive(Debug)]
pub struct NativeStart {
    /// The request that a turn would send.
    pub request: Request,
    /// Tokens of it, where a native history takes the place of a part of the context.
    pub tokens: Option<TokenCount>,
}

/// A plan whose requests can be asked in smaller pieces.
pub trait Foldable: Sized {
    /// Returns the requests, in order.
    fn requests(&self) -> &[SummaryRequest];
    /// Returns the plan with smaller requests.
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

/// Why there is no summary at all.
#[derive(Debug)]
pub enum NoSummary {
    /// The user cancelled.
    Cancelled,
    /// Every candidate failed, and the built-in rules may not write it; this is the last failure that says most.
    Failed(Failure),
    /// There is nothing to do.
    Nothing(NothingToDo),
}

/// A compaction that was carried out, to the point of being written.
#[derive(Debug)]
pub struct Compacted {
    /// The plan that it follows.
    pub plan: CompactionPlan,
    /// The entries.
    pub applied: AppliedCompaction,
}

/// Compacts by the first candidate that can, or by the built-in rules. `plan_for` plans for a summarizer's limits;
/// `request_for` gives the request that a native compaction starts from, with or without replaying the native history
/// of the compaction before. Nothing is written.
pub async fn compact(
    candidates: &[Candidate],
    window: TokenCount,
    plan_for: &(dyn Fn(SummarizerLimits) -> Result<CompactionPlan, NothingToDo> + Sync),
    request_for: &(dyn Fn(&Candidate, bool) -> NativeStart + Sync),
    run: &mut Run<'_>,
) -> Result<Compacted, NoSummary> {
    let mut worst = None;
    let policy = run.policy;
    for (place, candidate) in candidates.iter().enumerate() {
        run.policy = policy_for(policy, candidates, place);
        let plan = match plan_for(candidate.limits(window)) {
            Ok(plan) => plan,
            Err(NothingToDo::Window(error)) => {
                let failure = Failure::Window(error.to_string());
                give_up(candidate, failure, &mut worst, run)?;
                continue;
            }
            Err(nothing) => return Err(NoSummary::Nothing(nothing)),
        };
        let started = Instant::now();
        let done = match candidate.way {
            Way::Summary => summarize(plan, candidate, run).await,
            Way::Native(form) => native::compact(plan, request_for, form, candidate, run).await,
        };
        run.report.seconds += started.elapsed().as_secs_f64();
        match done {
            Ok(mut done) => {
                run.report.answered_by = Some(candidate.name());
                run.report.way = Some(candidate.way.name());
                if let Some(draft) = done.applied.drafts.last_mut() {
                    bill_in_details(draft, &run.report);
                }
                return Ok(done);
            }
            Err(failure) => give_up(candidate, failure, &mut worst, run)?,
        }
    }
    fall_back(worst, run.fallback)?;
    let limits = SummarizerLimits {
        window,
        max_output: None,
    };
    let plan = plan_for(limits).map_err(NoSummary::Nothing)?;
    let applied = plan.apply(&plan.answer_by_rule());
    let applied = applied.map_err(|error| NoSummary::Failed(Failure::Apply(error)))?;
    Ok(Compacted { plan, applied })
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

/// Writes what the summary took into the entry, in the spelling that entries have, so that its price is known later.
/// Nothing is written where no model answered.
pub fn bill_in_details(draft: &mut EntryDraft, report: &ModelReport) {
    if report.answered_by.is_none() {
        return;
    }
    let usage = json!({
        "input": report.usage.input,
        "output": report.usage.output,
        "cacheRead": report.usage.cache_read,
        "cacheWrite": report.usage.cache_write,
        "totalTokens": report.usage.total_tokens,
    });
    let millis = Duration::from_secs_f64(report.seconds.max(0.0)).as_millis();
    let facts = [
        ("usage", usage),
        ("costUsd", json!(report.cost_usd)),
        (
            "summarizerMillis",
            json!(u64::try_from(millis).unwrap_or(u64::MAX)),
        ),
    ];
    for (key, value) in facts.iter().filter(|(_, value)| !value.is_null()) {
        if let Ok(value) = RawJson::of(value) {
            add_detail(draft, key, &value);
        }
    }
}

/// Has a plan of another kind answered: by the first candidate that can, or by `by_rule`. Returns the plan as it
/// was asked and the answers.
pub async fn answer_plan<P: Foldable>(
    candidates: &[Candidate],
    window: TokenCount,
    plan_for: &(dyn Fn(SummarizerLimits) -> Result<P, String> + Sync),
    by_rule: &(dyn Fn(&P) -> Vec<SummaryAnswer> + Sync),
    run: &mut Run<'_>,
) -> Result<(P, Vec<SummaryAnswer>), NoSummary> {
    let mut worst = None;
    let policy = run.policy;
    for (place, candidate) in summaries(candidates) {
        run.policy = policy_for(policy, candidates, place);
        let started = Instant::now();
        let done = match plan_for(candidate.limits(window)) {
            Ok(plan) => answer_all(plan, candidate, run).await,
            Err(reason) => Err(Failure::Window(reason)),
        };
        run.report.seconds += started.elapsed().as_secs_f64();
        match done {
            Ok(done) => {
                run.report.answered_by = Some(candidate.name());
                run.report.way = Some(candidate.way.name());
                return Ok(done);
            }
            Err(failure) => give_up(candidate, failure, &mut worst, run)?,
        }
    }
    fall_back(worst, run.fallback)?;
    let limits = SummarizerLimits {
        window,
        max_output: None,
    };
    let plan = plan_for(limits).map_err(|reason| NoSummary::Failed(Failure::Window(reason)))?;
    let answers = by_rule(&plan);
    Ok((plan, answers))
}

/// Returns the candidates that write in words, with their places.
fn summaries(candidates: &[Candidate]) -> impl Iterator<Item = (usize, &Candidate)> {
    let all = candidates.iter().enumerate();
    all.filter(|(_, candidate)| candidate.way == Way::Summary)
}

/// Returns the policy for a candidate: less patient where another model comes after it.
fn policy_for(policy: RetryPolicy, candidates: &[Candidate], place: usize) -> RetryPolicy {
    let name = candidates[place].name();
    let later = &candidates[place + 1..];
    match later.iter().any(|other| other.name() != name) {
        true => policy.with_alternative(),
        false => policy,
    }
}

/// Notes a failure; a cancelled run ends here.
fn give_up(
    candidate: &Candidate,
    failure: Failure,
    worst: &mut Option<Worst>,
    run: &mut Run<'_>,
) -> Result<(), NoSummary> {
    if failure.is_cancelled() {
        return Err(NoSummary::Cancelled);
    }
    run.fail(candidate, &failure);
    // What no user can mend says more about why there is no summary than a mistake beside it.
    // A service beside the models may be away without anybody's mistake.
    let aside = matches!(candidate.summarizer, Summarizer::Remote { .. });
    let is_mistake = failure.is_mistake() && !aside;
    let better = worst
        .as_ref()
        .is_none_or(|worst| worst.is_mistake && !is_mistake);
    if better {
        *worst = Some(Worst {
            failure,
            is_mistake,
        });
    }
    Ok(())
}

/// The failure that says most about why there is no summary.
struct Worst {
    failure: Failure,
    is_mistake: bool,
}

fn fall_back(worst: Option<Worst>, fallback: Fallback) -> Result<(), NoSummary> {
    match worst {
        Some(worst) if fallback == Fallback::None => Err(NoSummary::Failed(worst.failure)),
        Some(worst) if fallback == Fallback::UnlessMistaken && worst.is_mistake => {
            Err(NoSummary::Failed(worst.failure))
        }
        _ => Ok(()),
    }
}
