//! The remote endpoint: a service of the user that writes summaries. It gets `POST {systemPrompt, prompt, maxTokens}`
//! and answers with a JSON object that has at least `summary`.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use session_model::json::RawJson;
use session_model::{Block, LlmMessage};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Event};
use crate::capabilities::Capabilities;
use crate::endpoint::is_secure_transport;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::provider::{BoxFuture, EventStream, Provider};
use crate::request::Request;
use crate::secret::{Redactor, Secret, plain_address};
use crate::transport::{Call, HttpClient};

/// A remote endpoint. It accepts requests of one message, as for summaries, without tools.
#[derive(Debug, Clone)]
pub struct RemoteEndpoint {
    http: HttpClient,
    url: String,
    shown: String,
    token: Option<Secret>,
    redactor: Redactor,
    capabilities: Capabilities,
}

/// The address of a remote endpoint cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is not a URL. The error does not quote it: it may contain a password.
    #[error("no URL; write https://host/path")]
    NotUrl,
    /// It is not encrypted and not on this machine.
    #[error("{0} is not encrypted and not on this machine; use https, or allow it by name")]
    Insecure(String),
}

#[derive(Deserialize)]
struct Body {
    summary: Option<String>,
}

impl RemoteEndpoint {
    /// Returns the endpoint at `url`.
    ///
    /// # Errors
    /// An invalid address, or one that is neither `https` nor on this machine unless `allow_insecure`.
    pub fn new(
        http: HttpClient,
        url: &str,
        token: Option<Secret>,
        allow_insecure: bool,
    ) -> Result<Self, EndpointError> {
        let parsed = reqwest::Url::parse(url).map_err(|_| EndpointError::NotUrl)?;
        let mut redactor = Redactor::new(&token);
        let password = parsed.password().unwrap_or_default();
        let values = parsed.query_pairs().map(|(_, value)| value.into_owned());
        for secret in values.chain([password.to_owned()]) {
            redactor.add(&secret);
        }
        let shown = plain_address(url).ok_or(EndpointError::NotUrl)?;
        match parsed.scheme() {
            "https" | "http" if allow_insecure || is_secure_transport(url) => {}
            "http" => return Err(EndpointError::Insecure(shown)),
            _ => return Err(EndpointError::NotUrl),
        }
        Ok(Self {
            http,
            url: url.to_owned(),
            shown,
            token,
            redactor,
            capabilities: Capabilities::default(),
        })
    }

    async fn ask(
        &self,
        request: &Request,
        cancel: CancellationToken,
    ) -> Result<Answer, ProviderError> {
        let call = Call {
            http: self.http.clone(),
            provider: self.name().to_owned(),
            model: self.shown.clone(),
            cancel,
            redactor: self.redactor.clone(),
            bearer: None,
            session: None,
        };
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            let bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()));
            let mut bearer = bearer.map_err(|_| {
                let text = "the token has characters that no header can have";
                call.error(ProviderErrorKind::InvalidRequest, text)
            })?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let prompt: Vec<String> = request
            .messages
            .iter()
            .filter(|message| matches!(message, LlmMessage::User(_)))
            .map(|message| message.content().joined_text("\n"))
            .collect();
        let body = json!({
            "systemPrompt": request.system,
            "prompt": prompt.join("\n\n"),
            "maxTokens": request.max_output,
        });
        let malformed = |text: &str| call.error(ProviderErrorKind::Malformed, text);
        let body = RawJson::of(&body).map_err(|error| malformed(&error.to_string()))?;
        let text = call.post_for_text(&self.url, headers, &body).await?;
        let body: Body = serde_json::from_str(&text)
            .map_err(|error| malformed(&format!("the answer is not a JSON object: {error}")))?;
        let summary = body
            .summary
            .ok_or_else(|| malformed("the answer has no summary"))?;
        Ok(Answer {
            content: vec![Block::text(call.redactor.clean_answer(&summary))],
            ..Answer::default()
        })
    }
}

impl Provider for RemoteEndpoint {
    fn name(&self) -> &str {
        "remote"
    }

    fn model(&self) -> &str {
        &self.shown
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move {
            let answer = self.ask(&request, cancel).await?;
            let events = [Event::Text(answer.text()), Event::Done(answer)];
            let events: EventStream = Box::pin(futures_util::stream::iter(events.map(Ok)));
            Ok(events)
        })
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}
