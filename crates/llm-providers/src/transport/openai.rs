//! The OpenAI client over our HTTP layer: its own retries are off, and its errors carry ours.

use std::task::{Context, Poll};

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures_util::StreamExt;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use secrecy::SecretString;
use session_model::json::RawJson;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::provider::BoxFuture;
use crate::transport::{Call, DataStream, Expect, StreamErrorCell, joined};

/// The OpenAI client for one request.
pub(crate) struct OpenAi {
    client: Client<Place>,
    call: Call,
    stream_error: StreamErrorCell,
}

/// Where requests go and what they carry. The client's own configuration reads the environment, and would
/// send what it finds there to any host.
#[derive(Debug, Clone)]
struct Place {
    base: String,
    headers: HeaderMap,
    no_key: SecretString,
}

impl Config for Place {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        joined(&self.base, path)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    // Nobody asks for it: the key is in our headers.
    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

impl OpenAi {
    /// Returns a client for one request to `base`; `headers` carry the key.
    pub fn new(
        call: Call,
        base: &str,
        mut headers: HeaderMap,
        expect: Expect,
    ) -> Result<Self, ProviderError> {
        let accepted = match expect {
            Expect::Events => "text/event-stream",
            Expect::Json => "application/json",
        };
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static(accepted));
        let stream_error = StreamErrorCell::default();
        let place = Place {
            base: base.to_owned(),
            headers,
            no_key: SecretString::default(),
        };
        let service = Service {
            call: call.clone(),
            stream_error: stream_error.clone(),
            expect,
        };
        let builder = call.http.client_for(base)?.clone();
        let client = Client::build(builder, place).with_http_service(service);
        Ok(Self {
            client,
            call,
            stream_error,
        })
    }

    /// Returns the data of the events of `POST {base}/responses`.
    pub async fn responses(self, body: &RawJson) -> Result<DataStream, ProviderError> {
        let events = self.client.responses().create_stream_byot(body).await;
        self.data(events)
    }

    /// Returns the data of the events of `POST {base}/chat/completions`.
    pub async fn chat(self, body: &RawJson) -> Result<DataStream, ProviderError> {
        let events = self.client.chat().create_stream_byot(body).await;
        let stream_error = self.stream_error.clone();
        // The client keeps the closing event to itself.
        let closing = futures_util::stream::iter([()]).filter_map(move |()| {
            let closed = stream_error.saw_done();
            std::future::ready(closed.then(|| Ok("[DONE]".to_owned())))
        });
        Ok(Box::pin(self.data(events)?.chain(closing)))
    }

    /// Returns the answer of `POST {base}/responses/compact`, verbatim.
    pub async fn compact(self, body: &RawJson) -> Result<RawJson, ProviderError> {
        let answer: Result<RawJson, _> = self.client.responses().compact_byot(body).await;
        answer.map_err(|error| client_error(&self.call, &self.stream_error, error))
    }

    fn data<S>(self, events: Result<S, OpenAIError>) -> Result<DataStream, ProviderError>
    where
        S: futures_core::Stream<Item = Result<RawJson, OpenAIError>> + Send + Unpin + 'static,
    {
        let (call, stream_error) = (self.call, self.stream_error);
        let events = events.map_err(|error| client_error(&call, &stream_error, error))?;
        Ok(Box::pin(events.map(move |event| match event {
            Ok(data) => Ok(data.get().to_owned()),
            Err(error) => Err(client_error(&call, &stream_error, error)),
        })))
    }
}

/// Returns the error that the client's own stands for: ours, where our layer made it.
fn client_error(call: &Call, stream_error: &StreamErrorCell, error: OpenAIError) -> ProviderError {
    if let Some(kept) = stream_error.take() {
        return kept;
    }
    let malformed = |text: &str| call.error(ProviderErrorKind::Malformed, text);
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<ProviderError>() {
            Ok(error) => *error,
            Err(error) => call.error(ProviderErrorKind::Interrupted, &error.to_string()),
        },
        OpenAIError::Reqwest(error) => call.transport_error(error),
        OpenAIError::JSONDeserialize(error, text) => {
            malformed(&format!("the answer is no JSON ({error}): {text}"))
        }
        OpenAIError::InvalidArgument(text) => call.error(ProviderErrorKind::InvalidRequest, &text),
        other => malformed(&other.to_string()),
    }
}

/// Our HTTP layer, as the client calls it.
#[derive(Debug, Clone)]
struct Service {
    call: Call,
    stream_error: StreamErrorCell,
    expect: Expect,
}

impl tower_service::Service<HttpRequestFactory> for Service {
    type Response = reqwest::Response;
    type Error = OpenAIError;
    type Future = BoxFuture<'static, Result<reqwest::Response, OpenAIError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let Self {
            call,
            stream_error,
            expect,
        } = self.clone();
        Box::pin(async move {
            let request = factory.build().await?;
            let sent = call.send(request, expect, &stream_error).await;
            sent.map_err(|error| OpenAIError::Boxed(Box::new(error)))
        })
    }
}
