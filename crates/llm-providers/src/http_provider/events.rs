//! The events of an answer: decoded from the stream, checked against what the request allowed.

use std::collections::VecDeque;

use futures_util::StreamExt;
use session_model::{Block, StopReason};

use crate::answer::Event;
use crate::classify::classify;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::provider::EventStream;
use crate::transport::{Call, DataStream};
use crate::wire::{Decode, WireError};

struct Reading {
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    /// The most that the request allows the answer, in tokens.
    max_output: Option<u64>,
    ready: VecDeque<Event>,
    over: bool,
}

/// Returns the events that `data` decodes to. The stream ends after [`Event::Done`] or an error.
pub(super) fn events(
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    max_output: Option<u64>,
) -> EventStream {
    let reading = Reading {
        data,
        decoder,
        call,
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
                let checked = self.check(event);
                self.over = matches!(checked, Event::Done(_));
                return Some(Ok(checked));
            }
            let data = tokio::select! {
                biased;
                () = cancel.cancelled() => Some(Err(self.call.cancelled())),
                data = self.data.next() => data,
            };
            let decoded = match data {
                Some(Ok(data)) => self.decoder.data(&data),
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
                let classified = classify(None, &text);
                // The service said that it failed: garbage it is not.
                let kind = match classified.kind {
                    ProviderErrorKind::Malformed => ProviderErrorKind::Overloaded,
                    kind => kind,
                };
                self.call.error(kind, &classified.message)
            }
            WireError::Malformed(text) => self.call.error(ProviderErrorKind::Malformed, &text),
            WireError::EndedEarly => self.call.error(
                ProviderErrorKind::Interrupted,
                "the answer ended without its closing event",
            ),
        }
    }

    /// Notices what servers keep to themselves, an answer that was cut off because it took all that it was allowed,
    /// and takes keys out of what is stored.
    fn check(&self, event: Event) -> Event {
        let Event::Done(mut answer) = event else {
            return event;
        };
        let full = self
            .max_output
            .is_some_and(|most| answer.usage.output >= most);
        if full && answer.stop_reason == StopReason::Stop {
            answer.stop_reason = StopReason::Length;
        }
        // What a model was told by accident must not be stored.
        let redactor = &self.call.redactor;
        for block in &mut answer.content {
            if let Block::Text(block) = block {
                block.text = redactor.clean_answer(&block.text);
            }
        }
        for text in [&mut answer.id, &mut answer.model].into_iter().flatten() {
            *text = redactor.clean(text);
        }
        if let StopReason::Other(reason) = &mut answer.stop_reason {
            *reason = redactor.clean(reason);
        }
        Event::Done(answer)
    }
}
