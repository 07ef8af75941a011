//! A provider behind HTTP: a wire, an address, a key, a model.

use std::collections::VecDeque;

use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use session_model::json::RawJson;
use tokio_util::sync::CancellationToken;

use crate::catalog::{ModelInfo, ProviderInfo};
use crate::classify::classify;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::native::{NativeAnswer, NativeForm, NativeRequest};
use crate::provider::{BoxFuture, Capabilities, Event, EventStream, Provider, Request};
use crate::secret::{Redactor, Secret};
use crate::transport::{Call, DataStream, Expect, HttpClient, OpenAi};
use crate::wire::{Decode, Target, Wire, WireError, chat, messages, responses};

/// A model that is reached over HTTP.
#[derive(Debug, Clone)]
pub struct HttpProvider {
    http: HttpClient,
    provider: ProviderInfo,
    model: ModelInfo,
    key: Option<Secret>,
    redactor: Redactor,
}

impl HttpProvider {
    /// Returns the provider for `model` at `provider`'s address.
    pub fn new(
        http: HttpClient,
        provider: ProviderInfo,
        model: ModelInfo,
        key: Option<Secret>,
    ) -> Self {
        let mut redactor = Redactor::new(&key);
        // Headers that the user adds may be keys as well.
        for (name, value) in &provider.headers {
            if ["authorization", "cookie", "key", "token", "secret"]
                .iter()
                .any(|word| name.to_ascii_lowercase().contains(word))
            {
                redactor.add(value);
            }
        }
        Self {
            http,
            provider,
            model,
            key,
            redactor,
        }
    }

    /// Returns what is known of the model.
    pub fn model_info(&self) -> &ModelInfo {
        &self.model
    }

    fn call(&self, cancel: CancellationToken) -> Call {
        Call {
            http: self.http.clone(),
            provider: self.provider.name.clone(),
            model: self.model.id.clone(),
            cancel,
            redactor: self.redactor.clone(),
        }
    }

    fn target(&self) -> Target<'_> {
        Target {
            provider: &self.provider.name,
            model: &self.model.id,
            wire: self.provider.wire,
            quirks: &self.provider.quirks,
            capabilities: &self.model.capabilities,
        }
    }

    fn headers(&self, call: &Call) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        let value = |name: &str, text: &str| {
            let mut value = HeaderValue::from_str(text).map_err(|_| {
                let text = format!(
                    "the value of the header {name} has characters that no header can have"
                );
                call.error(ProviderErrorKind::InvalidRequest, &text)
            })?;
            value.set_sensitive(true);
            Ok(value)
        };
        if let Some(key) = &self.key {
            match self.provider.wire {
                Wire::Responses | Wire::Chat => {
                    let bearer = format!("Bearer {}", key.expose());
                    headers.insert(AUTHORIZATION, value("authorization", &bearer)?);
                }
                Wire::Messages => {
                    headers.insert("x-api-key", value("x-api-key", key.expose())?);
                }
            }
        }
        if self.provider.wire == Wire::Messages {
            let version = HeaderValue::from_static("2023-06-01");
            headers.insert("anthropic-version", version);
        }
        for (name, text) in &self.provider.headers {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| {
                let text = format!("{name:?} is no name of a header");
                call.error(ProviderErrorKind::InvalidRequest, &text)
            })?;
            let value = value(name.as_str(), text)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    async fn data(&self, call: Call, body: &RawJson) -> Result<DataStream, ProviderError> {
        let headers = self.headers(&call)?;
        let base = &self.provider.base_url;
        let client = |call| OpenAi::new(call, base, headers.clone(), Expect::Events);
        match self.provider.wire {
            Wire::Responses => client(call).responses(body).await,
            Wire::Chat => client(call).chat(body).await,
            Wire::Messages => {
                let url = format!("{}/v1/messages", base.trim_end_matches('/'));
                call.post_for_events(&url, headers, body).await
            }
        }
    }

    fn encode(&self, request: &Request) -> (RawJson, Box<dyn Decode>) {
        let target = self.target();
        match self.provider.wire {
            Wire::Responses => (
                responses::encode(request, &target),
                Box::new(responses::Decoder::new()),
            ),
            Wire::Chat => (
                chat::encode(request, &target),
                Box::new(chat::Decoder::new()),
            ),
            Wire::Messages => (
                messages::encode(request, &target),
                Box::new(messages::Decoder::new()),
            ),
        }
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.provider.name
    }

    fn model(&self) -> &str {
        &self.model.id
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move {
            let call = self.call(cancel);
            let (body, decoder) = self.encode(&request);
            let data = self.data(call.clone(), &body).await?;
            let window = self.model.capabilities.window;
            Ok(events(data, decoder, call, window))
        })
    }

    fn capabilities(&self) -> &Capabilities {
        &self.model.capabilities
    }
}

struct Reading {
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    window: Option<u64>,
    ready: VecDeque<Event>,
    over: bool,
}

/// Returns the events that `data` decodes to. The stream ends after [`Event::Done`] or an error.
fn events(
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    window: Option<u64>,
) -> EventStream {
    let reading = Reading {
        data,
        decoder,
        call,
        window,
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
                self.over = !matches!(
                    checked,
                    Ok(Event::Text(_) | Event::Thinking(_) | Event::ToolCall { .. })
                );
                return Some(checked);
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

    /// A server that quietly cuts off the beginning of what does not fit bills more than its window holds.
    fn check(&self, event: Event) -> Result<Event, ProviderError> {
        if let (Event::Done(answer), Some(window)) = (&event, self.window) {
            let billed = answer.usage.prompt_tokens();
            if window > 0 && billed > window {
                let text = format!(
                    "the request took {billed} tokens, more than the model's window of {window}; part of it was not read"
                );
                return Err(self.call.error(ProviderErrorKind::ContextOverflow, &text));
            }
        }
        Ok(event)
    }
}
