//! The requests of a plan, asked of one candidate.

use compaction_core::{
    AnswerEnd, AnswerError, Carried, Profile, RequestKind, Summarizer, SummaryAnswer,
    SummaryRequest, TokenCount, check_length,
};
use llm_providers::{
    Answer, Event, Progress, ProviderError, ProviderErrorKind, Reasoning, Request, complete,
};
use session_model::{Content, LlmMessage, StopReason, Usage};

use crate::{Candidate, Failure, Foldable, Run, SummaryStep};

/// The message to a summarizer that called a tool instead of writing.
const NO_TOOLS: &str = include_str!(concat!("../templates/", "summary-no-tools.md"));

/// How often the requests of a plan are halved before a candidate is given up.
const MOST_FOLDS: usize = 6;

/// What thinking may take next to the summary, in tokens, for models that think.
const THINKING_ROOM: u64 = 8192;

/// Returns the answers to all requests of `plan`, and the plan as it was asked: folded further where the
/// candidate found the requests too large. Every answer is a usable summary.
///
/// # Errors
/// The [`Failure`] of the candidate, also when the requests stay too large.
pub async fn answer_all<P: Foldable>(
    mut plan: P,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<(P, Vec<SummaryAnswer>), Failure> {
    for fold in 0.. {
        let failure = match answer_requests(plan.requests(), candidate, run).await {
            Ok(answers) => return Ok((plan, answers)),
            Err(failure) => failure,
        };
        if !failure.is_overflow() || fold >= MOST_FOLDS {
            return Err(failure);
        }
        let Ok(smaller) = plan.shrink() else {
            return Err(failure);
        };
        plan = smaller;
        run.report.folds += 1;
        (run.watch)(SummaryStep::Folding);
    }
    unreachable!("the loop returns at the latest after the last fold")
}

async fn answer_requests(
    requests: &[SummaryRequest],
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<Vec<SummaryAnswer>, Failure> {
    let mut answers: Vec<SummaryAnswer> = Vec::with_capacity(requests.len());
    for (place, request) in requests.iter().enumerate() {
        let name = candidate.name();
        (run.watch)(SummaryStep::Asking {
            candidate: &name,
            request: place + 1,
            requests: requests.len(),
        });
        let previous = match request.carried {
            Carried::PreviousPart => answers
                .last()
                .and_then(|answer| answer.summary(request.kind).ok()),
            Carried::Nothing | Carried::Summary(_) => None,
        };
        let answer = answer_one(request, previous.as_deref(), candidate, run).await?;
        answers.push(answer);
    }
    Ok(answers)
}

async fn answer_one(
    request: &SummaryRequest,
    previous: Option<&str>,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<SummaryAnswer, Failure> {
    let asked = Request::for_prompt(&request.system, &request.prompt(previous));
    let wanted = Wanted {
        kind: request.kind,
        cap: request.max_output,
        replaces: Profile::Own.counter().text(&request.conversation),
    };
    summary_of(asked, wanted, candidate, run).await
}

/// Which summary is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// What it is for, which tells what it is wrapped in.
    pub kind: RequestKind,
    /// The most tokens of it.
    pub cap: TokenCount,
    /// The tokens of what it stands for.
    pub replaces: TokenCount,
}

impl Wanted {
    /// Returns why an answer cannot be used.
    fn fault(self, answer: &SummaryAnswer) -> Option<AnswerError> {
        let summary = match answer.summary(self.kind) {
            Ok(summary) => summary,
            Err(error) => return Some(error),
        };
        check_length(Profile::Own.counter().text(&summary), self.replaces).err()
    }
}

/// Asks for a summary. An answer that is none is asked for once more, with twice the cap and
/// less thinking.
pub(super) async fn summary_of(
    mut asked: Request,
    wanted: Wanted,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<SummaryAnswer, Failure> {
    let capabilities = *candidate.provider.capabilities();
    let texts = asked.messages.iter().map(LlmMessage::content);
    let prompt: usize = texts
        .flat_map(Content::texts)
        .chain([asked.system.as_str()])
        .map(str::len)
        .sum();
    let prompt = prompt as u64 / 4;
    let bound = |tokens: TokenCount| {
        let room = if capabilities.reasoning {
            THINKING_ROOM
        } else {
            0
        };
        // Where prompt and answer share the window, the answer gets what the prompt leaves.
        let left = capabilities
            .window
            .map_or(u64::MAX, |window| window.saturating_sub(prompt));
        let wanted = tokens.0.saturating_add(room).min(left.max(tokens.0 / 2));
        Some(
            capabilities
                .max_output
                .map_or(wanted, |most| wanted.min(most)),
        )
    };
    asked.cache_key.clone_from(&run.cache_key);
    asked.max_output = bound(wanted.cap);
    let first = ask(&asked, candidate, run).await?;
    let first = summary_answer(&first, &candidate.summarizer)?;
    let Some(error) = wanted.fault(&first) else {
        return Ok(first);
    };
    (run.watch)(SummaryStep::Again(error));
    asked.max_output = bound(TokenCount(wanted.cap.0.saturating_mul(2)));
    asked.reasoning = Reasoning::Off;
    if error == AnswerError::CalledTool {
        let text = Content::Text(NO_TOOLS.trim_end().to_owned());
        asked.messages.push(LlmMessage::User(text));
    }
    run.report.retries += 1;
    let second = ask(&asked, candidate, run).await?;
    let second = summary_answer(&second, &candidate.summarizer)?;
    match wanted.fault(&second) {
        Some(error) => Err(error.into()),
        None => Ok(second),
    }
}

async fn ask(
    request: &Request,
    candidate: &Candidate,
    run: &mut Run<'_>,
) -> Result<Answer, Failure> {
    let mut written = 0;
    let mut retries = 0;
    let mut billed: Vec<Usage> = Vec::new();
    let watch = &mut *run.watch;
    let mut progress = |progress: Progress<'_>| match progress {
        Progress::Event(Event::Text(text) | Event::Thinking(text)) => {
            written += text.chars().count();
            watch(SummaryStep::Writing(written));
        }
        Progress::Event(Event::ToolCall { .. } | Event::Done(_)) => {}
        Progress::Retry {
            error,
            delay,
            budget,
            ..
        } => {
            written = 0;
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
    let answered = complete(provider, request, &run.policy, &run.cancel, &mut progress).await;
    match &answered {
        Ok(answer) => billed.push(answer.usage),
        Err(error) => billed.extend(error.billed()),
    }
    run.count(candidate, retries, &billed);
    Ok(answered?)
}

/// Returns the answer as a summarizer's.
fn summary_answer(answer: &Answer, summarizer: &Summarizer) -> Result<SummaryAnswer, Failure> {
    let end = match &answer.stop_reason {
        StopReason::Stop => AnswerEnd::Complete,
        StopReason::Length => AnswerEnd::Truncated,
        StopReason::ToolUse => AnswerEnd::CalledTool,
        StopReason::Error | StopReason::Aborted => AnswerEnd::Truncated,
        StopReason::Other(reason) => {
            let text = format!("the provider ended the answer: {reason}");
            let error = ProviderError::new(ProviderErrorKind::Malformed, &text);
            return Err(Failure::Provider(error));
        }
    };
    let called = answer.tool_calls().next().is_some();
    Ok(SummaryAnswer {
        text: answer.text(),
        end: if called { AnswerEnd::CalledTool } else { end },
        summarizer: summarizer.clone(),
    })
}
