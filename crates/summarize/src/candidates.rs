//! The order in which candidates are asked, and what happens when none answers: one rule for every kind of summary.

use std::time::Instant;

use compaction_core::{Summarizer, SummarizerLimits, TokenCount};
use llm_providers::{BoxFuture, is_replayed_on};
use session_model::ModelRef;

use crate::{Candidate, Failure, Fallback, NoSummary, Run, SummaryMethod};

/// Returns the candidates in the order in which they are asked: as given, so that a model is asked for its native forms
/// and then for a summary in words before the next model. A native form that `answering`, the model of the session,
/// cannot replay is left out. The remote endpoint comes before the first summary in words.
pub fn in_order(candidates: Vec<Candidate>, answering: Option<&ModelRef>) -> Vec<Candidate> {
    let is_endpoint =
        |candidate: &Candidate| matches!(candidate.summarizer, Summarizer::Remote { .. });
    let is_replayed = |candidate: &Candidate| {
        let (provider, model) = (candidate.provider.name(), candidate.provider.model());
        answering.is_none_or(|by| is_replayed_on(provider, model, &by.provider, &by.model_id))
    };
    let (endpoints, mut models): (Vec<_>, Vec<_>) = candidates.into_iter().partition(is_endpoint);
    models.retain(|candidate| in_words(candidate) || is_replayed(candidate));
    let place = models.iter().position(in_words).unwrap_or(models.len());
    models.splice(place..place, endpoints);
    models
}

/// Asks one candidate. A trait and not an asynchronous closure, so that the future can be sent to another thread.
pub(super) trait Asking<T>: Sync {
    /// Returns what the candidate gives.
    fn ask<'a>(
        &'a self,
        candidate: &'a Candidate,
        run: &'a mut Run<'_>,
    ) -> BoxFuture<'a, Result<T, NoSummary>>;
}

/// Returns what the first candidate gives that can, among those that are `wanted`; `None` when the outline is
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
        run.policy = match candidates[place + 1..].iter().any(wanted) {
            true => policy.with_alternative(),
            false => policy,
        };
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
    candidate.way == SummaryMethod::Summary
}

/// Returns the limits of the outline, which reads everything.
pub(super) fn outline_limits(window: TokenCount) -> SummarizerLimits {
    SummarizerLimits {
        window,
        max_output: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use compaction_core::Summarizer;
    use llm_providers::ModelInfo;
    use llm_providers::{HttpClient, HttpProvider, HttpSettings, NativeForm, RemoteEndpoint};
    use session_model::ModelRef;

    use super::in_order;
    use crate::{Candidate, SummaryMethod};

    fn candidates() -> Vec<Candidate> {
        let http = HttpClient::new(HttpSettings::default()).expect("a client");
        let catalog = llm_catalog::Catalog::embedded();
        let of = |provider: &str, model: &str, way| {
            let info = ModelInfo::unlisted(provider, model);
            let provider = catalog.provider(provider).expect("a provider").clone();
            let provider = HttpProvider::new(http.clone(), provider, info, None);
            Candidate {
                way,
                ..Candidate::of(Arc::new(provider))
            }
        };
        let url = "http://127.0.0.1:1/";
        let endpoint = RemoteEndpoint::new(http.clone(), url, None, false).expect("an endpoint");
        vec![
            of(
                "anthropic",
                "claude",
                SummaryMethod::Native(NativeForm::InBand),
            ),
            of("anthropic", "claude", SummaryMethod::Summary),
            of(
                "openai",
                "gpt",
                SummaryMethod::Native(NativeForm::Standalone),
            ),
            of("openai", "gpt", SummaryMethod::Native(NativeForm::InBand)),
            of("openai", "gpt", SummaryMethod::Summary),
            Candidate {
                summarizer: Summarizer::Remote {
                    endpoint: url.to_owned(),
                },
                ..Candidate::of(Arc::new(endpoint))
            },
        ]
    }

    fn order(answering: Option<(&str, &str)>) -> Vec<String> {
        let answering = answering.map(|(provider, model)| ModelRef {
            provider: provider.to_owned(),
            model_id: model.to_owned(),
        });
        let named = |candidate: &Candidate| {
            let name = candidate.provider.name();
            format!("{name} {}", candidate.way.name())
        };
        let ordered = in_order(candidates(), answering.as_ref());
        ordered.iter().map(named).collect()
    }

    #[test]
    fn each_model_is_asked_in_every_form_before_the_next_model() {
        let expected = [
            "anthropic native in-band",
            "remote summary",
            "anthropic summary",
            "openai native standalone",
            "openai native in-band",
            "openai summary",
        ];
        assert_eq!(order(None), expected);
    }

    #[test]
    fn a_native_form_is_asked_for_only_where_the_sessions_model_replays_it() {
        let expected = [
            "remote summary",
            "anthropic summary",
            "openai native standalone",
            "openai native in-band",
            "openai summary",
        ];
        assert_eq!(order(Some(("openai", "gpt-2026-01-01"))), expected);
        let expected = ["remote summary", "anthropic summary", "openai summary"];
        assert_eq!(order(Some(("openai", "gpt-mini"))), expected);
    }
}
