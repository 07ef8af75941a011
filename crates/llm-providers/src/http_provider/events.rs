//! The events of an answer: decoded from the stream, checked against what the request allowed.

use std::collections::VecDeque;

use futures_util::StreamExt;
use session_model::json::RawJson;
use session_model::{Block, StopReason};

use crate::answer::{Answer, Event};
use crate::error::{ProviderError, ProviderErrorKind};
use crate::provider::EventStream;
use crate::transport::{Call, DataStream};
use crate::wire::{ApiProtocol, Decode, WireError};

struct Reading {
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    wire: ApiProtocol,
    /// The progress of the stream.
    seen: Seen,
    /// The most that the request allows the answer, in tokens.
    max_output: Option<u64>,
    ready: VecDeque<Event>,
    over: bool,
}

/// The progress of a stream.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Nothing,
    /// Data, but nothing that the protocol has.
    Strange,
    Events,
}

/// Returns the events that `data` decodes to. The stream ends after [`Event::Done`] or an error.
pub(super) fn events(
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    wire: ApiProtocol,
    max_output: Option<u64>,
) -> EventStream {
    let reading = Reading {
        data,
        decoder,
        call,
        wire,
        seen: Seen::Nothing,
        max_output,
        ready: VecDeque::new(),
        over: false,
    };
    Box::pin(futures_util::stream::unfold(reading, |mut reading| async {
        let next = reading.next().await?;
        Some((next, reading))
    }))
}

impl Reading {
    async fn next(&mut self) -> Option<Result<Event, ProviderError>> {
        loop {
            if self.over {
                return None;
            }
            let cancel = self.call.cancel.clone();
            if cancel.is_cancelled() {
                self.over = true;
                return Some(Err(self.call.cancelled()));
            }
            if let Some(event) = self.ready.pop_front() {
                self.over = matches!(event, Event::Done(_));
                return Some(Ok(match event {
                    Event::Done(answer) => Event::Done(self.checked(answer)),
                    piece => piece,
                }));
            }
            let data = tokio::select! {
                biased;
                () = cancel.cancelled() => Some(Err(self.call.cancelled())),
                data = self.data.next() => data,
            };
            let decoded = match data {
                Some(Ok(data)) => {
                    let decoded = self.decoder.data(&data);
                    match &decoded {
                        Ok(events) if !events.is_empty() => self.seen = Seen::Events,
                        Ok(_) if self.seen == Seen::Nothing => self.seen = Seen::Strange,
                        _ => {}
                    }
                    decoded
                }
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(error));
                }
                None => self
                    .decoder
                    .end()
                    .and_then(|event| event.map(|event| vec![event]).ok_or(WireError::EndedEarly)),
            };
            match decoded {
                Ok(events) => self.ready.extend(events),
                Err(error) => {
                    self.over = true;
                    return Some(Err(self.wire_error(error)));
                }
            }
        }
    }

    fn wire_error(&self, error: WireError) -> ProviderError {
        match error {
            WireError::Service(text) => {
                let mut error = self.call.described(None, &text);
                // The service reported its failure, so the stream is not garbage.
                if error.kind == ProviderErrorKind::Malformed {
                    error.kind = ProviderErrorKind::Overloaded;
                }
                error
            }
            WireError::NoReason(answer) => ProviderError {
                answer: Some(Box::new(self.checked(*answer))),
                ..self.call.error(
                    ProviderErrorKind::Malformed,
                    "the answer does not say why it ended; it may be cut off",
                )
            },
            WireError::EndedEarly | WireError::Malformed(_) if self.seen == Seen::Strange => {
                let text = format!(
                    "no event of the answer has the form of the protocol {}; check providers.{}.wire",
                    self.wire.name(),
                    self.call.provider
                );
                self.call.error(ProviderErrorKind::Malformed, &text)
            }
            WireError::Malformed(text) => self.call.error(ProviderErrorKind::Malformed, &text),
            WireError::EndedEarly => {
                ProviderError::ended_early().of(&self.call.provider, &self.call.model)
            }
        }
    }

    /// Returns the answer completed with facts that servers do not report: if it used all allowed output, it was cut
    /// off. Removes keys from the content.
    fn checked(&self, mut answer: Answer) -> Answer {
        let full = self
            .max_output
            .is_some_and(|most| answer.usage.output >= most);
        if full && answer.stop_reason == StopReason::Stop {
            answer.stop_reason = StopReason::Length;
        }
        // A key that a model received by accident must not be stored.
        let redactor = &self.call.redactor;
        for block in &mut answer.content {
            match block {
                Block::Text(block) => block.text = redactor.clean_answer(&block.text),
                Block::Thinking(block) => {
                    // Changed content invalidates its signature.
                    let signature = block.signature.take();
                    let signed = signature.filter(|text| redactor.clean_answer(text) == *text);
                    let clean = redactor.clean_answer(&block.thinking);
                    block.signature = signed.filter(|_| clean == block.thinking);
                    block.thinking = clean;
                }
                Block::ToolCall(call) => {
                    let arguments = call
                        .arguments
                        .as_ref()
                        .map(RawJson::get)
                        .unwrap_or_default();
                    let clean = redactor.clean_answer(arguments);
                    if clean != arguments {
                        call.arguments = RawJson::parse(&clean).ok();
                    }
                }
                Block::Image(_) | Block::Other { .. } => {}
            }
        }
        for text in [&mut answer.id, &mut answer.model].into_iter().flatten() {
            *text = redactor.clean(text);
        }
        if let StopReason::Other(reason) = &mut answer.stop_reason {
            *reason = redactor.clean(reason);
        }
        answer
    }
}
