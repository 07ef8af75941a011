//! Asking the model: the request from the session, the answer as it comes, and what is kept of one that broke off.

use std::sync::{Arc, Mutex, PoisonError};

use compaction_core::TokenCount;
use llm_providers::{
    Answer, CancellationToken, Event as Piece, PieceRedactor, Progress, ProviderError,
    ProviderErrorKind, Request, classify, complete,
};
use session_model::{AssistantMessage, Block, Content, Cost, StopReason, Usage};

use crate::machine::{AnswerEnd, Job, Write};
use crate::runtime::AgentSession;
use crate::runtime::events::Events;
use crate::runtime::jobs::Done;
use session_protocol::event::SessionEvent;
use session_tools::recalling::teach_recall;
use summarize::models::LiveModel;

/// An answer, whole or not.
#[derive(Debug, Clone)]
pub(super) struct ModelResponse {
    /// The message as the session keeps it.
    pub message: AssistantMessage,
    /// How it ended.
    pub end: AnswerEnd,
    /// What it cost in USD, where prices are known.
    pub cost_usd: Option<f64>,
    /// Why the provider refused the request.
    pub refused: Option<ProviderErrorKind>,
}

impl ModelResponse {
    /// Returns the price as entries have it.
    pub fn cost(&self) -> Option<Cost> {
        self.cost_usd.map(|total| Cost {
            total,
            ..Cost::default()
        })
    }
}

/// How the error of an answer begins that failed because the context is too large.
const OVERFLOW: &str = "context overflow: ";

/// Room that is kept for what an estimate misses, in twentieths of the context.
const MARGIN: u64 = 1;

/// The least that an answer may be capped at.
const LEAST_OUTPUT: u64 = 256;

impl AgentSession {
    pub(super) async fn ask(&mut self, job: Job) {
        if self.ends_in_acknowledgement()
            && let Err(error) = self.write(&Write::Continue).await
        {
            let refusal = self.unwritten(error);
            self.fail(refusal.message);
        }
        let path = self.path();
        let view = self.view();
        let model = self.models.model.clone();
        let tokens = view.measured(&path).tokens;
        let prepare = |replays| {
            let (mut request, _) =
                Request::for_context(&path, &view.context, &*model.provider, replays);
            teach_recall(&mut request, &view.context);
            request.max_output = max_output(&model, tokens);
            request.reasoning = self.reasoning;
            request.cache_key = Some(self.store.id().to_owned());
            request
        };
        let request = prepare(true);
        let unsendable = match &view.read_failure {
            Some(reason) => Some(format!("cannot read the session: {reason}")),
            None => request
                .messages
                .is_empty()
                .then(|| "the context has no messages".to_owned()),
        };
        // A provider may not take its own earlier history back; then the readable form is sent.
        let readable = request.native.is_some().then(|| prepare(false));
        let events = self.events.clone();
        let policy = self.models.policy;
        self.work.start(job, |cancel| async move {
            let asking = Asking {
                model,
                policy,
                events,
                cancel,
            };
            if let Some(reason) = unsendable {
                return Done::Answer(Box::new(asking.unsent(&reason)));
            }
            let mut received = asking.ask(&request).await;
            if let (Some(readable), Err(error)) = (readable, &received.0)
                && error.kind.may_refuse_history()
            {
                asking.events.notice(format!(
                    "{error}; the readable summary takes the place of the native history"
                ));
                received = asking.ask(&readable).await;
            }
            Done::Answer(Box::new(asking.response(received)))
        });
    }

    /// Returns whether the context ends in the acknowledgement of a summary, which no model can go on from.
    fn ends_in_acknowledgement(&self) -> bool {
        let context = &self.view().context;
        let last = context.messages().next_back();
        let compaction = context.compaction();
        compaction.is_some_and(|(id, compaction)| {
            compaction.restores() && last.is_some_and(|(last, _)| last == id)
        })
    }

    /// Returns whether a stored answer is a context overflow, by its words.
    pub(super) fn was_overflow(&self, answer: &AssistantMessage) -> bool {
        let text = answer.error_message.as_deref().unwrap_or_default();
        // What this agent writes begins so; peers write the provider's words.
        let kind = || classify(Some(400), text).kind;
        text.starts_with(OVERFLOW) || kind() == ProviderErrorKind::ContextOverflow
    }
}

/// Returns the most that the model may answer: its own cap, and what is left of its window. Nothing where the cap is
/// unknown: services refuse a bound above it, and servers refuse one above what is left by their own count.
fn max_output(model: &LiveModel, tokens: TokenCount) -> Option<u64> {
    let own = model.provider.capabilities().max_output?;
    if model.window == TokenCount::ZERO {
        return Some(own);
    }
    let estimate = tokens.0.saturating_add(tokens.scaled(MARGIN, 20).0);
    let left = model.window.0.saturating_sub(estimate).max(LEAST_OUTPUT);
    Some(own.min(left))
}

/// What has come of an answer so far.
struct Stream {
    answer_text: String,
    /// Hold back what may be the beginning of a key, since a key may be split over deltas.
    text: PieceRedactor,
    thinking: PieceRedactor,
    /// An earlier attempt broke off, and what it is billed is not known.
    is_incomplete: bool,
}

impl Stream {
    fn new(events: &Events) -> Self {
        Self {
            answer_text: String::new(),
            text: events.piece_redactor(),
            thinking: events.piece_redactor(),
            is_incomplete: false,
        }
    }
}

/// What came of a request, and the stream as it was when it ended.
type Received = (Result<Answer, ProviderError>, Stream);

struct Asking {
    model: LiveModel,
    policy: llm_providers::RetryPolicy,
    events: Events,
    cancel: CancellationToken,
}

impl Asking {
    async fn ask(&self, request: &Request) -> Received {
        let stream = Arc::new(Mutex::new(Stream::new(&self.events)));
        let received = stream.clone();
        let events = self.events.clone();
        let spend = |usage: &Usage| self.spend(usage);
        let mut progress = move |progress: Progress<'_>| {
            let mut stream = received.lock().unwrap_or_else(PoisonError::into_inner);
            match progress {
                Progress::Event(Piece::Text(text)) => {
                    stream.answer_text.push_str(text);
                    let text = stream.text.push(text);
                    events.delta(SessionEvent::TextDelta { text });
                }
                Progress::Event(Piece::Thinking(text)) => {
                    let text = stream.thinking.push(text);
                    events.delta(SessionEvent::ThinkingDelta { text });
                }
                // Calls are told when they run.
                Progress::Event(Piece::ToolCall { .. } | Piece::Done(_)) => {}
                Progress::Retry {
                    error,
                    delay,
                    sent,
                    budget,
                } => {
                    let lost = error.billed();
                    let is_incomplete = lost.as_ref().is_some_and(|usage| usage.incomplete);
                    *stream = Stream {
                        is_incomplete: stream.is_incomplete || is_incomplete,
                        ..Stream::new(&events)
                    };
                    if let Some(usage) = lost {
                        spend(&usage);
                    }
                    events.send(SessionEvent::Retry {
                        error: error.to_string(),
                        delay_seconds: delay.as_secs_f64(),
                        sent,
                        budget_seconds: budget.as_secs_f64(),
                    });
                }
            }
        };
        let provider = &*self.model.provider;
        let result = complete(provider, request, &self.policy, &self.cancel, &mut progress).await;
        let mut stream = std::mem::replace(
            &mut *stream.lock().unwrap_or_else(PoisonError::into_inner),
            Stream::new(&self.events),
        );
        let text = stream.thinking.finish();
        self.events.delta(SessionEvent::ThinkingDelta { text });
        let text = stream.text.finish();
        self.events.delta(SessionEvent::TextDelta { text });
        (result, stream)
    }

    /// Returns what is stored where no request was sent.
    fn unsent(&self, reason: &str) -> ModelResponse {
        let reason = format!("{reason}; no request was sent");
        ModelResponse {
            message: AssistantMessage {
                stop_reason: StopReason::Error,
                error_message: Some(reason.clone()),
                ..self.empty_message()
            },
            end: AnswerEnd::Failed(reason),
            cost_usd: None,
            refused: None,
        }
    }

    fn empty_message(&self) -> AssistantMessage {
        AssistantMessage {
            content: Content::Blocks(Vec::new()),
            api: self.model.api.clone(),
            provider: self.model.provider.name().to_owned(),
            model: self.model.provider.model().to_owned(),
            usage: Some(Usage::default()),
            stop_reason: StopReason::Stop,
            error_message: None,
            timestamp: None,
        }
    }

    fn response(&self, (result, stream): Received) -> ModelResponse {
        let message = self.empty_message();
        match result {
            Ok(answer) => self.whole(message, answer, stream.is_incomplete),
            Err(error) => self.broken(message, &error, stream),
        }
    }

    fn whole(
        &self,
        message: AssistantMessage,
        answer: Answer,
        is_incomplete: bool,
    ) -> ModelResponse {
        let calls = answer.content.iter();
        let calls = calls.filter(|block| matches!(block, Block::ToolCall(_)));
        let calls = calls.count() > 0;
        let (end, stop_reason) = match answer.stop_reason {
            StopReason::Length => (AnswerEnd::CutOff, StopReason::Length),
            _ if calls => (AnswerEnd::Calls, StopReason::ToolUse),
            other => (AnswerEnd::Done, other),
        };
        let cost_usd = self.spend(&answer.usage);
        // A block of an unknown kind cannot be spelt.
        let content = answer.content.into_iter();
        let content = content.filter(|block| !matches!(block, Block::Other { .. }));
        ModelResponse {
            message: AssistantMessage {
                content: Content::Blocks(content.collect()),
                usage: Some(Usage {
                    incomplete: answer.usage.incomplete || is_incomplete,
                    ..answer.usage
                }),
                stop_reason,
                ..message
            },
            end,
            cost_usd,
            refused: None,
        }
    }

    fn broken(
        &self,
        message: AssistantMessage,
        error: &ProviderError,
        stream: Stream,
    ) -> ModelResponse {
        let (end, stop_reason) = match error.kind {
            ProviderErrorKind::Cancelled => (AnswerEnd::Aborted, StopReason::Aborted),
            ProviderErrorKind::ContextOverflow | ProviderErrorKind::PayloadTooLarge => {
                (AnswerEnd::Overflow(error.to_string()), StopReason::Error)
            }
            _ => (AnswerEnd::Failed(error.to_string()), StopReason::Error),
        };
        let mut billed = error.billed().unwrap_or_default();
        let cost_usd = self.spend(&billed).filter(|_| error.answer.is_some());
        billed.incomplete |= stream.is_incomplete;
        let content = match stream.answer_text.is_empty() {
            true => Vec::new(),
            false => vec![Block::text(stream.answer_text)],
        };
        ModelResponse {
            message: AssistantMessage {
                content: Content::Blocks(content),
                usage: Some(billed),
                error_message: Some(match end {
                    AnswerEnd::Overflow(_) => format!("{OVERFLOW}{error}"),
                    _ => error.to_string(),
                }),
                stop_reason,
                ..message
            },
            end,
            cost_usd,
            refused: Some(error.kind),
        }
    }

    fn spend(&self, usage: &Usage) -> Option<f64> {
        let prices = self.model.prices.as_ref();
        let cost = prices.and_then(|prices| prices.cost(usage));
        self.events.spend(usage, cost);
        cost
    }
}
