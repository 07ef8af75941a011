//! A provider behind HTTP: a protocol, an address, a key, a model.

mod advice;
#[cfg(feature = "bedrock")]
pub(crate) mod bedrock;
mod events;
mod listed;
mod native;
#[cfg(feature = "vertex")]
pub(crate) mod vertex;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use session_model::json::RawJson;
use tokio_util::sync::CancellationToken;

use crate::capabilities::Capabilities;
use crate::endpoint::{ModelInfo, ProviderInfo};
use crate::error::{ProviderError, ProviderErrorKind};
use crate::extra_body::ExtraBody;
use crate::native::{NativeAnswer, NativeRequest};
use crate::native_history::{MESSAGES_KEY, RESPONSES_KEY};
use crate::provider::{BoxFuture, EventStream, Provider};
use crate::request::{Reasoning, Request};
use crate::secret::{Redactor, Secret};
use crate::transport::{Call, DataStream, HttpClient, joined};
#[cfg(feature = "bedrock")]
use crate::wire::converse;
use crate::wire::{
    ApiProtocol, Decode, Platform, Target, chat, gemini, messages, reasoning, responses,
};
use events::events;

/// OpenAI's error for organizations that are not verified.
const UNVERIFIED: &str = "must be verified to generate reasoning summaries";

/// A model that is reached over HTTP.
#[derive(Debug, Clone)]
pub struct HttpProvider {
    http: HttpClient,
    provider: ProviderInfo,
    model: ModelInfo,
    key: Option<Secret>,
    redactor: Redactor,
    /// True if the service has refused to summarize its thinking.
    no_summaries: Arc<AtomicBool>,
    #[cfg(feature = "bedrock")]
    aws: Option<bedrock::AwsAccess>,
    #[cfg(feature = "vertex")]
    google: Option<vertex::GoogleAccess>,
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
        // Headers that the user adds may be keys as well, and services quote parts of them: without the scheme before
        // them, for example.
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
            no_summaries: Arc::default(),
            #[cfg(feature = "bedrock")]
            aws: None,
            #[cfg(feature = "vertex")]
            google: None,
        }
    }

    /// Returns what is known of the model.
    pub fn model_info(&self) -> &ModelInfo {
        &self.model
    }

    fn call(&self, cancel: CancellationToken, session: Option<&String>) -> Call {
        Call {
            http: self.http.clone(),
            provider: self.provider.name.clone(),
            model: self.model.id.clone(),
            cancel,
            redactor: self.redactor.clone(),
            bearer: None,
            session: session.cloned(),
        }
    }

    fn target(&self) -> Target<'_> {
        Target {
            provider: &self.provider.name,
            model: &self.model.id,
            wire: self.provider.wire,
            compat: &self.provider.compat,
            capabilities: &self.model.capabilities,
            known: self.model.is_known(),
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
        if let Some(key) = call.bearer.as_ref().or(self.key.as_ref()) {
            let (name, scheme) = self.provider.key_header().form();
            let text = format!("{scheme}{}", key.expose());
            headers.insert(name, value(name, &text)?);
        }
        let platform = self.provider.compat.platform;
        if self.provider.wire == ApiProtocol::Messages && platform == Platform::Plain {
            let version = HeaderValue::from_static("2023-06-01");
            headers.insert("anthropic-version", version);
        }
        let session = self
            .provider
            .session_header
            .as_ref()
            .zip(call.session.as_ref());
        let own = self.provider.headers.iter();
        // The user's headers override the others.
        for (name, text) in session.into_iter().chain(own) {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| {
                let text = format!("{name:?} is not the name of a header");
                call.error(ProviderErrorKind::InvalidRequest, &text)
            })?;
            let value = value(name.as_str(), text)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn info(&self) -> &ProviderInfo {
        &self.provider
    }

    /// Sends a body that streams, and returns the data of the response. `beta` names a feature of the Messages protocol
    /// that the body uses.
    async fn data(
        &self,
        call: Call,
        body: &RawJson,
        beta: Option<&'static str>,
    ) -> Result<DataStream, ProviderError> {
        let body = &self.provider.body_defaults.under(body);
        let body = &self.provider.extra_body.over(body);
        let mut headers = self.headers(&call)?;
        if let Some(beta) = beta {
            headers.append("anthropic-beta", HeaderValue::from_static(beta));
        }
        let data = match self.provider.compat.platform {
            Platform::Plain => self.plain_data(call, headers, body).await,
            #[cfg(feature = "bedrock")]
            Platform::Bedrock => self.bedrock_data(call, headers, body).await,
            #[cfg(feature = "vertex")]
            Platform::Vertex => {
                let url = self.vertex_url();
                call.post_for_events(&url, headers, body).await
            }
        };
        data.map_err(|error| self.advised(error))
    }

    /// Does the same for a turn. OpenAI lets only verified organizations see summaries of the thinking; for others the
    /// request is repeated without them, and so are all later ones.
    async fn turn_data(
        &self,
        call: &Call,
        body: &RawJson,
        beta: Option<&'static str>,
    ) -> Result<DataStream, ProviderError> {
        let no_summary = json!({"reasoning": {"summary": null}});
        let without = || ExtraBody(no_summary.as_object().cloned().unwrap_or_default()).over(body);
        let wants = self.provider.wire == ApiProtocol::Responses;
        if wants && self.no_summaries.load(Ordering::Relaxed) {
            return self.data(call.clone(), &without(), beta).await;
        }
        match self.data(call.clone(), body, beta).await {
            Err(error) if wants && error.message.contains(UNVERIFIED) => {
                self.no_summaries.store(true, Ordering::Relaxed);
                self.data(call.clone(), &without(), beta).await
            }
            answered => answered,
        }
    }

    async fn plain_data(
        &self,
        call: Call,
        headers: HeaderMap,
        body: &RawJson,
    ) -> Result<DataStream, ProviderError> {
        let path = match self.provider.wire {
            ApiProtocol::Responses => "/responses".to_owned(),
            ApiProtocol::Chat => "/chat/completions".to_owned(),
            ApiProtocol::Messages => "/v1/messages".to_owned(),
            ApiProtocol::Gemini => gemini::path(&self.model.id),
            #[cfg(feature = "bedrock")]
            ApiProtocol::Converse => {
                let text = "only amazon-bedrock uses Converse; choose another protocol";
                return Err(call.error(ProviderErrorKind::InvalidRequest, text));
            }
        };
        let url = joined(&self.provider.base_url, &path);
        call.post_for_events(&url, headers, body).await
    }

    /// Fails if a native history replaces messages, but none of it would be sent: all earlier messages would be lost
    /// without notice. Without a native history, the request contains the readable summary.
    fn check_native(&self, request: &Request, call: &Call) -> Result<(), ProviderError> {
        let target = self.target();
        let native = request.native.as_ref();
        if !native.is_some_and(|one| one.replays_on(target.provider, target.model)) {
            return Ok(());
        }
        let sent = match self.provider.wire {
            ApiProtocol::Responses => true,
            ApiProtocol::Messages => messages::replays_compaction(request, &target),
            _ => false,
        };
        if sent {
            return Ok(());
        }
        let text = "the native history of the compaction cannot be sent over this wire";
        Err(call.error(ProviderErrorKind::InvalidRequest, text))
    }

    fn encode(&self, request: &Request) -> (RawJson, Box<dyn Decode>) {
        let target = self.target();
        let body = match self.provider.wire {
            ApiProtocol::Responses => responses::encode(request, &target),
            ApiProtocol::Chat => chat::encode(request, &target),
            ApiProtocol::Messages => messages::encode(request, &target),
            ApiProtocol::Gemini => gemini::encode(request, &target),
            #[cfg(feature = "bedrock")]
            ApiProtocol::Converse => converse::encode(request, &target),
        };
        (body, self.provider.wire.decoder())
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
            let call = self.call(cancel, request.cache_key.as_ref());
            #[cfg(feature = "vertex")]
            let call = self.signed_in(call).await?;
            self.check_native(&request, &call)?;
            // A repeated request for a summary uses less thinking, for every model.
            if request.reasoning != Reasoning::Off
                && let Some(text) = self.refuses_reasoning(request.reasoning)
            {
                return Err(call.error(ProviderErrorKind::InvalidRequest, &text));
            }
            let (body, decoder) = self.encode(&request);
            let replays = self.provider.wire == ApiProtocol::Messages
                && messages::replays_compaction(&request, &self.target());
            let beta = replays.then_some(messages::COMPACTION_BETA);
            let data = self.turn_data(&call, &body, beta).await?;
            let wire = self.provider.wire;
            Ok(events(data, decoder, call, wire, request.max_output))
        })
    }

    fn native_key(&self) -> Option<&'static str> {
        match self.provider.wire {
            ApiProtocol::Responses => Some(RESPONSES_KEY),
            ApiProtocol::Messages => Some(MESSAGES_KEY),
            _ => None,
        }
    }

    fn compact_native(
        &self,
        request: NativeRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<NativeAnswer, ProviderError>> {
        Box::pin(self.send_native(request, cancel))
    }

    fn refuses_reasoning(&self, reasoning: Reasoning) -> Option<String> {
        reasoning::refusal(reasoning, &self.target())
    }

    fn capabilities(&self) -> &Capabilities {
        &self.model.capabilities
    }
}
