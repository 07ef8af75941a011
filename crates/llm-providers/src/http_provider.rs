//! A provider behind HTTP: a wire, an address, a key, a model.

use std::collections::VecDeque;

use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use session_model::json::RawJson;
use session_model::{Block, StopReason};
use tokio_util::sync::CancellationToken;

use crate::catalog::{ModelInfo, ProviderInfo};
use crate::classify::classify;
use crate::context::{MESSAGES_KEY, RESPONSES_KEY};
use crate::error::{ProviderError, ProviderErrorKind};
use crate::native::{NativeAnswer, NativeRequest};
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
        // Headers that the user adds may be keys as well, and services say them back in part: without the scheme
        // before them, for example.
        for (name, value) in provider.headers.iter() {
            let name = name.to_ascii_lowercase();
            if ["authorization", "cookie", "key", "token", "secret"]
                .iter()
                .any(|word| name.contains(word))
            {
                let part =
                    |character: char| character.is_whitespace() || "=;,:".contains(character);
                // The name of a scheme is no secret.
                let parts = value.split(part).filter(|part| part.len() >= 12);
                for part in std::iter::once(value.as_str()).chain(parts) {
                    redactor.add(part);
                }
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

    pub(crate) fn call(&self, cancel: CancellationToken) -> Call {
        Call {
            http: self.http.clone(),
            provider: self.provider.name.clone(),
            model: self.model.id.clone(),
            cancel,
            redactor: self.redactor.clone(),
        }
    }

    pub(crate) fn target(&self) -> Target<'_> {
        Target {
            provider: &self.provider.name,
            model: &self.model.id,
            wire: self.provider.wire,
            quirks: &self.provider.quirks,
            capabilities: &self.model.capabilities,
        }
    }

    pub(crate) fn headers(&self, call: &Call) -> Result<HeaderMap, ProviderError> {
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
        for (name, text) in self.provider.headers.iter() {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| {
                let text = format!("{name:?} is no name of a header");
                call.error(ProviderErrorKind::InvalidRequest, &text)
            })?;
            let value = value(name.as_str(), text)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    pub(crate) fn info(&self) -> &ProviderInfo {
        &self.provider
    }

    /// Sends a body that streams, and returns the data of what comes back. `beta` names a feature of the
    /// Messages wire that the body uses.
    pub(crate) async fn data(
        &self,
        call: Call,
        body: &RawJson,
        beta: Option<&'static str>,
    ) -> Result<DataStream, ProviderError> {
        let mut headers = self.headers(&call)?;
        if let Some(beta) = beta {
            headers.append("anthropic-beta", HeaderValue::from_static(beta));
        }
        let base = &self.provider.base_url;
        let client = |call| OpenAi::new(call, base, headers.clone(), Expect::Events);
        match self.provider.wire {
            Wire::Responses => client(call)?.responses(body).await,
            Wire::Chat => client(call)?.chat(body).await,
            Wire::Messages => {
                let url = format!("{}/v1/messages", base.trim_end_matches('/'));
                call.post_for_events(&url, headers, body).await
            }
        }
    }

    /// Fails where a native history stands in the place of messages, but nothing of it would be sent: everything
    /// before it would be lost without a word. Asked without it, the readable summary goes.
    pub(crate) fn check_native(&self, request: &Request, call: &Call) -> Result<(), ProviderError> {
        let target = self.target();
        let native = request.native.as_ref();
        if !native.is_some_and(|one| one.replays_on(target.provider, target.model)) {
            return Ok(());
        }
        let sent = match self.provider.wire {
            Wire::Responses => true,
            Wire::Messages => messages::replays_compaction(request, &target),
            Wire::Chat => false,
        };
        if sent {
            return Ok(());
        }
        let text = "the native history of the compaction cannot be sent over this wire";
        Err(call.error(ProviderErrorKind::InvalidRequest, text))
    }

    fn encode(&self, request: &Request) -> (RawJson, Box<dyn Decode>) {
        let target = self.target();
        match self.provider.wire {
            Wire::Responses => (
                responses::encode(request, &target),
                Box::new(responses::Decoder::default()),
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
            self.check_native(&request, &call)?;
            let (body, decoder) = self.encode(&request);
            let replays = self.provider.wire == Wire::Messages
                && messages::replays_compaction(&request, &self.target());
            let beta = replays.then_some(messages::COMPACTION_BETA);
            let data = self.data(call.clone(), &body, beta).await?;
            let limits = Limits {
                window: self.model.capabilities.window,
                max_output: request.max_output,
            };
            Ok(events(data, decoder, call, limits))
        })
    }

    fn native_key(&self) -> Option<&'static str> {
        match self.provider.wire {
            Wire::Responses => Some(RESPONSES_KEY),
            Wire::Messages => Some(MESSAGES_KEY),
            Wire::Chat => None,
        }
    }

    fn compact_native(
        &self,
        request: NativeRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<NativeAnswer, ProviderError>> {
        Box::pin(self.send_native(request, cancel))
    }

    fn capabilities(&self) -> &Capabilities {
        &self.model.capabilities
    }
}

/// What an answer is checked against.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    pub window: Option<u64>,
    pub max_output: Option<u64>,
}

struct Reading {
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    limits: Limits,
    ready: VecDeque<Event>,
    over: bool,
}

/// Returns the events that `data` decodes to. The stream ends after [`Event::Done`] or an error.
pub(crate) fn events(
    data: DataStream,
    decoder: Box<dyn Decode>,
    call: Call,
    limits: Limits,
) -> EventStream {
    let reading = Reading {
        data,
        decoder,
        call,
        limits,
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

    /// Notices what servers keep to themselves: a request whose beginning was cut off, because more was billed than
    /// the window holds, and an answer that was cut off, because it took all that it was allowed.
    fn check(&self, event: Event) -> Result<Event, ProviderError> {
        let Event::Done(mut answer) = event else {
            return Ok(event);
        };
        let billed = answer.usage.prompt_tokens();
        if let Some(window) = self.limits.window
            && window > 0
            && billed > window
        {
            let text = format!(
                "the request took {billed} tokens, more than the model's window of {window}; part of it was not read"
            );
            return Err(ProviderError {
                usage: Some(Box::new(answer.usage)),
                ..self.call.error(ProviderErrorKind::ContextOverflow, &text)
            });
        }
        let full = self
            .limits
            .max_output
            .is_some_and(|most| answer.usage.output >= most);
        if full && answer.stop_reason == StopReason::Stop {
            answer.stop_reason = StopReason::Length;
        }
        // What a model was told by accident must not be stored.
        for block in &mut answer.content {
            if let Block::Text(block) = block {
                block.text = self.call.redactor.clean_answer(&block.text);
            }
        }
        Ok(Event::Done(answer))
    }
}
