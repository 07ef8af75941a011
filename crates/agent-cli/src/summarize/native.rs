//! Native compaction: the provider's own form, with a readable summary beside it.

use compaction_core::{CompactionPlan, RequestKind, Summarizer, SummaryAnswer, TokenCount};
use llm_providers::{NATIVE_HISTORY_KEY, NativeAnswer, NativeForm, NativeRequest, Request};
use session_model::json::RawJson;

use crate::summarize::{Candidate, Compacted, Failure, Run, Step};

/// Has the provider compact the whole context in its own form. The readable summary is the provider's where it
/// gives one, else written by rule, so that another provider can go on as well.
pub(super) async fn compact(
    plan: CompactionPlan,
    request: Request,
    form: NativeForm,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<Compacted, Failure> {
    let name = candidate.name();
    (run.watch)(Step::Asking {
        candidate: &name,
        request: 1,
        requests: 1,
    });
    let request = NativeRequest {
        request: Request {
            cache_key: run.cache_key.clone(),
            ..request
        },
        form,
    };
    run.report.requests_sent += 1;
    let cancel = run.cancel.clone();
    let answer = candidate.provider.compact_native(request, cancel).await?;
    run.bill(candidate, &answer.usage);
    let before = plan.tokens_in_context();
    let after = native_tokens(&plan, &answer);
    if after >= before {
        return Err(Failure::NoSmaller { before, after });
    }
    let mut applied = plan.apply(&readable(&plan, &answer))?;
    if let Ok(payload) = RawJson::of(&answer.history) {
        applied.preserve(NATIVE_HISTORY_KEY, &payload);
    }
    if let Ok(tokens) = RawJson::of(&after) {
        applied.detail("nativeTokensAfter", &tokens);
    }
    Ok(Compacted { plan, applied })
}

/// Returns what the native history takes: an opaque item what the provider billed for writing it, everything else
/// its text.
fn native_tokens(plan: &CompactionPlan, answer: &NativeAnswer) -> TokenCount {
    let counter = plan.profile.counter();
    let opaque = answer.history.compaction_item.as_ref();
    let readable = answer.history.replacement_history.iter();
    let readable = readable.filter(|item| Some(*item) != opaque);
    let readable: TokenCount = readable.map(|item| counter.text(item.get())).sum();
    let opaque = match (answer.usage.output, opaque) {
        (_, None) => TokenCount::ZERO,
        (0, Some(item)) => counter.text(item.get()),
        (billed, Some(_)) => TokenCount(billed),
    };
    readable + opaque
}

fn readable(plan: &CompactionPlan, answer: &NativeAnswer) -> Vec<SummaryAnswer> {
    let summarizer = Summarizer::Native {
        provider: answer.history.provider.clone(),
        model: answer.history.model.clone(),
        readable: answer.readable.is_some(),
    };
    let mut answers = plan.answer_by_rule();
    for answer in &mut answers {
        answer.summarizer = summarizer.clone();
    }
    if let Some(text) = &answer.readable {
        // What the provider says covers everything; it stands where the history's summary stands.
        let requests = plan.requests().iter().zip(&mut answers);
        for (request, own) in requests {
            if request.kind == RequestKind::History || plan.requests().len() == 1 {
                own.text.clone_from(text);
            }
        }
    }
    answers
}
