//! Native compaction over HTTP: fitting the window, sending, and one more try with less.

use session_model::json::RawJson;
use tokio_util::sync::CancellationToken;

use super::HttpProvider;
use super::events::events;
use crate::answer::Answer;
use crate::complete::last;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::native::{
    NativeAnswer, NativeError, NativeForm, NativeRequest, decode_compact, in_band_answer, trim,
};
use crate::native_history::{MESSAGES_KEY, NativeHistory};
use crate::provider::{EventStream, Provider};
use crate::request::Request;
use crate::transport::{Call, joined};
use crate::wire::{ApiProtocol, Platform, messages, responses};

/// The window that is assumed where none is known.
const ASSUMED_WINDOW: u64 = 128_000;

/// The estimated size of an image in tokens, independent of its bytes.
const IMAGE: u64 = 1500;

/// The output limit of a native compaction in the Messages protocol, in tokens.
const MESSAGES_CAP: u64 = 16_384;

/// Estimates the tokens of an item's JSON text: four bytes each, without images. If it still does not fit, it is
/// trimmed once more.
fn rough(text: &str) -> u64 {
    let mut bytes = text.len();
    let mut images = 0;
    for (at, mark) in text.match_indices(";base64,") {
        let data = &text[at + mark.len()..];
        bytes -= data.find('"').unwrap_or(data.len());
        images += 1;
    }
    bytes as u64 / 4 + 1 + images * IMAGE
}

impl HttpProvider {
    pub(super) async fn send_native(
        &self,
        request: NativeRequest,
        cancel: CancellationToken,
    ) -> Result<NativeAnswer, ProviderError> {
        let call = self.call(cancel, request.request.cache_key.as_ref());
        self.check_native(&request.request, &call)?;
        let answered = match self.info().wire {
            _ if self.info().compat.platform != Platform::Plain => Err(call.error(
                ProviderErrorKind::InvalidRequest,
                "this service has no native compaction",
            )),
            ApiProtocol::Responses => self.by_responses(&request, &call).await,
            ApiProtocol::Messages => self.by_messages(&request.request, &call).await,
            _ => Err(call.error(
                ProviderErrorKind::InvalidRequest,
                "the protocol has no native compaction",
            )),
        };
        answered.map(|answer| NativeAnswer {
            readable: answer
                .readable
                .map(|text| call.redactor.clean_answer(&text)),
            ..answer
        })
    }

    /// Sends the conversation, with its oldest calls and outputs shortened if it exceeds the window; shortens more and
    /// sends once more when the service still finds it too large.
    async fn by_responses(
        &self,
        request: &NativeRequest,
        call: &Call,
    ) -> Result<NativeAnswer, ProviderError> {
        let input = responses::input(&request.request, &self.target());
        let window = self.capabilities().window.unwrap_or(ASSUMED_WINDOW);
        let tools = request.request.tools.iter();
        let overhead: u64 = tools
            .map(|tool| rough(tool.parameters.get()) + rough(&tool.description))
            .chain([rough(&request.request.system)])
            .sum();
        // Estimates err, and the answer needs room.
        let budget = (window / 10 * 8).saturating_sub(overhead);
        let whole: u64 = input.iter().map(|item| rough(item.get())).sum();
        let first = trim(input.clone(), budget, &rough);
        let error = match self.once(request, first.items, first.rewritten, call).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let too_large = matches!(
            error.kind,
            ProviderErrorKind::ContextOverflow | ProviderErrorKind::PayloadTooLarge
        );
        let less = trim(input, budget.min(whole) / 2, &rough);
        if !too_large || less.rewritten <= first.rewritten {
            return Err(error);
        }
        self.once(request, less.items, less.rewritten, call).await
    }

    async fn once(
        &self,
        request: &NativeRequest,
        items: Vec<RawJson>,
        shortened: usize,
        call: &Call,
    ) -> Result<NativeAnswer, ProviderError> {
        let answer = match request.form {
            NativeForm::Standalone => self.standalone(&request.request, &items, call).await,
            NativeForm::InBand => self.in_band(&request.request, items, call).await,
        };
        answer.map(|answer| NativeAnswer {
            shortened,
            ..answer
        })
    }

    async fn standalone(
        &self,
        request: &Request,
        items: &[RawJson],
        call: &Call,
    ) -> Result<NativeAnswer, ProviderError> {
        let target = self.target();
        let body = responses::encode_compact_with(request, &target, items);
        let url = joined(&self.info().base_url, "/responses/compact");
        let answered = call.post_for_text(&url, self.headers(call)?, &body).await?;
        decode_compact(&answered, &target).map_err(|error| native_error(call, error))
    }

    async fn in_band(
        &self,
        request: &Request,
        items: Vec<RawJson>,
        call: &Call,
    ) -> Result<NativeAnswer, ProviderError> {
        let target = self.target();
        let body = responses::encode_in_band_with(request, &target, items.clone());
        let data = self.data(call.clone(), &body, None).await?;
        let decoder = Box::new(responses::Decoder::default());
        let answer =
            answer_of(events(data, decoder, call.clone(), target.wire, None), call).await?;
        in_band_answer(&items, &answer, &target)
            .map_err(|error| billed(native_error(call, error), &answer))
    }

    async fn by_messages(
        &self,
        request: &Request,
        call: &Call,
    ) -> Result<NativeAnswer, ProviderError> {
        let target = self.target();
        let request = &Request {
            max_output: Some(MESSAGES_CAP),
            ..request.clone()
        };
        let body = messages::encode_compact(request, &target);
        let tokens = rough(body.get());
        if tokens < messages::MIN_TRIGGER {
            let text = format!(
                "the provider's own compaction begins at {} tokens; this conversation has about {tokens}",
                messages::MIN_TRIGGER
            );
            return Err(call.error(ProviderErrorKind::InvalidRequest, &text));
        }
        let beta = Some(messages::COMPACTION_BETA);
        let data = self.data(call.clone(), &body, beta).await?;
        let decoder = Box::new(messages::Decoder::new());
        let answer =
            answer_of(events(data, decoder, call.clone(), target.wire, None), call).await?;
        let [block] = answer.native.as_slice() else {
            let error = native_error(call, NativeError::Items(answer.native.len()));
            return Err(billed(error, &answer));
        };
        let readable = block
            .string_member("content")
            .map(std::borrow::Cow::into_owned);
        Ok(NativeAnswer {
            readable: readable.filter(|text| !text.trim().is_empty()),
            history: NativeHistory {
                provider: target.provider.to_owned(),
                model: target.model.to_owned(),
                replacement_history: vec![block.clone()],
                compaction_item: Some(block.clone()),
            },
            usage: answer.usage,
            key: MESSAGES_KEY,
            shortened: 0,
        })
    }
}

/// Returns the answer of a compaction, whose pieces are of no use.
async fn answer_of(events: EventStream, call: &Call) -> Result<Answer, ProviderError> {
    let ended = last(events, &mut |_| {}).await?;
    ended.ok_or_else(|| ProviderError::ended_early().of(&call.provider, &call.model))
}

/// An unusable answer was billed too.
fn billed(error: ProviderError, answer: &Answer) -> ProviderError {
    ProviderError {
        answer: Some(Box::new(Answer {
            usage: answer.usage,
            ..Answer::default()
        })),
        ..error
    }
}

fn native_error(call: &Call, error: NativeError) -> ProviderError {
    match error {
        NativeError::Service(text) => call.described(None, &text),
        // The next form or a summary in words may do better; the same request would not.
        error @ (NativeError::Malformed(_) | NativeError::Items(_)) => {
            call.error(ProviderErrorKind::Malformed, &error.to_string())
        }
    }
}
