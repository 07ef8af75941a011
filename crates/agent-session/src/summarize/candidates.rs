//! The order in which candidates are asked, and what happens when none answers: one rule for every kind of summary.

use std::time::Instant;

use compaction_core::{Summarizer, SummarizerLimits, TokenCount};
use llm_providers::{BoxFuture, RetryPolicy};

use crate::summarize::{Candidate, Failure, Fallback, NoSummary, Run, Way};

/// Asks one candidate. A trait and not an asynchronous closure, so that the future can be sent to another thread.
pub(super) trait Asking<T>: Sync {
    /// Returns what the candidate gives.
    fn ask<'a>(
        &'a self,
        candidate: &'a Candidate,
        run: &'a mut Run<'_>,
    ) -> BoxFuture<'a, Result<T, NoSummary>>;
}

/// Returns what the first candidate gives that can, among those that are `wanted`; `None` when the built-in rules are
/// to write. `asking` fails with [`NoSummary::Failed`] where the next candidate may do better, and otherwise for good.
pub(super) async fn first_answer<T>(
    candidates: &[Candidate],
    wanted: fn(&Candidate) -> bool,
    run: &mut Run<'_>,
    asking: &dyn Asking<T>,
) -> Result<Option<T>, NoSummary> {
    let policy = run.policy;
    let mut worst: Option<Worst> = None;
    for (place, candidate) in candidates.iter().enumerate() {
        if !wanted(candidate) {
            continue;
        }
        run.policy = policy_for(policy, candidates, place);
        let started = Instant::now();
        let done = asking.ask(candidate, run).await;
        run.report.seconds += started.elapsed().as_secs_f64();
        let failure = match done {
            Ok(done) => {
                run.report.answered_by = Some(candidate.name());
                run.report.way = Some(candidate.way.name());
                return Ok(Some(done));
            }
            Err(NoSummary::Failed(failure)) if failure.is_cancelled() => {
                return Err(NoSummary::Cancelled);
            }
            Err(NoSummary::Failed(failure)) => failure,
            Err(other) => return Err(other),
        };
        run.fail(candidate, &failure);
        // A service next to the models may be away without anybody's mistake.
        let aside = matches!(candidate.summarizer, Summarizer::Remote { .. });
        let is_mistake = failure.is_mistake() && !aside;
        // What no user can mend says more about why there is no summary than a mistake next to it.
        if worst
            .as_ref()
            .is_none_or(|worst| worst.is_mistake && !is_mistake)
        {
            worst = Some(Worst {
                failure,
                is_mistake,
            });
        }
    }
    match worst {
        Some(worst) if run.fallback == Fallback::None => Err(worst.failure.into()),
        Some(worst) if run.fallback == Fallback::UnlessMistaken && worst.is_mistake => {
            Err(worst.failure.into())
        }
        _ => Ok(None),
    }
}

/// The failure that says most about why there is no summary.
struct Worst {
    failure: Failure,
    is_mistake: bool,
}

/// Returns true for candidates that write in words.
pub(super) fn in_words(candidate: &Candidate) -> bool {
    candidate.way == Way::Summary
}

/// Returns the limits of the built-in rules, which read everything.
pub(super) fn rules_limits(window: TokenCount) -> SummarizerLimits {
    SummarizerLimits {
        window,
        max_output: None,
    }
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
