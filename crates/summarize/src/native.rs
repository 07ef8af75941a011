//! Native compaction: the provider's own form, with a readable summary next to it.

use compaction_core::{CompactionPlan, Profile, Summarizer, TokenCount};
use llm_providers::{
    NativeAnswer, NativeForm, NativeHistory, NativeRequest, Progress, ProviderError, Request,
    compact_native,
};
use session_model::json::{RawJson, member};
use session_model::{SessionContext, Usage};

use crate::{Candidate, Compacted, Failure, Run, Subject, SummaryStep};

/// Where an entry's details keep the tokens of its native history.
pub const NATIVE_TOKENS: &str = "nativeTokensAfter";

/// Has the provider compact the whole context in its own form. The readable summary is the provider's where it
/// gives one, else extracted, so that another provider can continue as well.
pub(super) async fn compact(
    plan: CompactionPlan,
    subject: &Subject<'_>,
    form: NativeForm,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<Compacted, Failure> {
    let name = candidate.name();
    (run.watch)(SummaryStep::Asking {
        candidate: &name,
        request: 1,
        requests: 1,
    });
    let (request, mut before) = subject.turn_request(candidate, true);
    let replays = request.native.is_some();
    let answer = match ask(request, form, candidate, run).await {
        // An opaque item that the provider does not take any more is dropped for the readable summary.
        Err(error) if replays && error.kind.may_refuse_history() => {
            (run.watch)(SummaryStep::NativeRefused(&error));
            before = None;
            let (request, _) = subject.turn_request(candidate, false);
            ask(request, form, candidate, run).await?
        }
        answer => answer?,
    };
    // Both figures are of what this provider sees.
    let before = before.unwrap_or_else(|| plan.tokens_in_context());
    let after = native_tokens(&plan, &answer);
    if after >= before {
        return Err(Failure::NoSmaller { before, after });
    }
    let summarizer = Summarizer::Native {
        provider: answer.history.provider.clone(),
        model: answer.history.model.clone(),
        readable: answer.readable.is_some(),
    };
    let prose = answer.readable.clone();
    let prose = prose.unwrap_or_else(|| plan.extractive_text());
    let mut applied = plan.apply_prose(&prose, summarizer)?;
    if let Ok(payload) = RawJson::of(&answer.history) {
        applied.preserve(answer.key, &payload);
    }
    if let Ok(tokens) = RawJson::of(&after) {
        applied.detail(NATIVE_TOKENS, &tokens);
    }
    run.report.native_tokens_after = Some(after);
    Ok(Compacted { plan, applied })
}

async fn ask(
    request: Request,
    form: NativeForm,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<NativeAnswer, ProviderError> {
    let request = NativeRequest {
        request: Request {
            cache_key: run.cache_key.clone(),
            ..request
        },
        form,
    };
    let mut retries = 0;
    let mut billed: Vec<Usage> = Vec::new();
    let watch = &mut *run.watch;
    let mut progress = |progress: Progress<'_>| {
        if let Progress::Retry {
            error,
            delay,
            budget,
            ..
        } = progress
        {
            retries += 1;
            billed.extend(error.billed());
            watch(SummaryStep::Retry {
                error,
                delay,
                budget,
            });
        }
    };
    let provider = &*candidate.provider;
    let answered =
        compact_native(provider, &request, &run.policy, &run.cancel, &mut progress).await;
    match &answered {
        Ok(answer) => billed.push(answer.usage),
        Err(error) => billed.extend(error.billed()),
    }
    run.count(candidate, retries, &billed);
    answered
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

/// Returns the tokens of a request that replays a native history: what that history took when it was made, and what
/// came after it.
pub fn native_tokens_before(
    context: &SessionContext,
    history: &NativeHistory,
    request: &Request,
) -> TokenCount {
    let counter = Profile::Own.counter();
    let details = context
        .compaction()
        .and_then(|(_, compaction)| compaction.details.as_ref());
    let made = details
        .and_then(|details| member(details.get(), NATIVE_TOKENS)?.parse().ok())
        .map(TokenCount);
    let items = history.replacement_history.iter();
    let made = made.unwrap_or_else(|| items.map(|item| counter.text(item.get())).sum());
    let after = request.messages.iter().map(|message| {
        let texts = message.content().texts().map(|text| counter.text(text));
        let calls = message.content().tool_calls();
        let calls = calls.map(|call| counter.text(&call.arguments_text()));
        texts.chain(calls).sum::<TokenCount>()
    });
    made + after.sum::<TokenCount>()
}
