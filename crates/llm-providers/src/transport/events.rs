//! Requests that the OpenAI client does not make: server-sent events and JSON documents of everybody else.

use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use session_model::json::RawJson;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::transport::{Call, DataStream, Expect, StreamErrorCell, read_bounded};

impl Call {
    /// Sends `body` to `url` and returns the data of the events that come back.
    pub async fn post_for_events(
        self,
        url: &str,
        headers: HeaderMap,
        body: &RawJson,
    ) -> Result<DataStream, ProviderError> {
        let stream_error = StreamErrorCell::default();
        let accept = HeaderValue::from_static("text/event-stream");
        let request = self.post(url, headers, accept, body)?;
        let response = self.send(request, Expect::Events, &stream_error).await?;
        let events = response.bytes_stream().eventsource();
        let call = self;
        Ok(Box::pin(events.map(move |event| match event {
            Ok(event) => Ok(event.data),
            Err(error) => Err(stream_error.take().unwrap_or_else(|| match error {
                EventStreamError::Transport(error) => call.transport_error(error),
                other => call.error(ProviderErrorKind::Malformed, &other.to_string()),
            })),
        })))
    }

    /// Sends `body` to `url` and returns the document that comes back, as text.
    pub async fn post_for_text(
        &self,
        url: &str,
        headers: HeaderMap,
        body: &RawJson,
    ) -> Result<String, ProviderError> {
        let accept = HeaderValue::from_static("application/json");
        self.text(self.post(url, headers, accept, body)?).await
    }

    /// Gets the text at `url`.
    pub async fn get_for_text(
        &self,
        url: &str,
        headers: HeaderMap,
    ) -> Result<String, ProviderError> {
        let request = self.http.client_for(url)?.get(url).headers(headers).build();
        let request = request.map_err(|error| self.transport_error(error))?;
        self.text(request).await
    }

    async fn text(&self, request: reqwest::Request) -> Result<String, ProviderError> {
        let stream_error = StreamErrorCell::default();
        let response = self.send(request, Expect::Json, &stream_error).await?;
        let bytes = read_bounded(response, self.http.settings.answer_limit).await;
        match stream_error.take() {
            Some(error) => Err(error),
            None => String::from_utf8(bytes).map_err(|_| {
                let text = "response body is not valid UTF-8";
                self.error(ProviderErrorKind::Malformed, text)
            }),
        }
    }

    pub(crate) fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        accept: HeaderValue,
        body: &RawJson,
    ) -> Result<reqwest::Request, ProviderError> {
        let json = HeaderValue::from_static("application/json");
        let request = self.http.client_for(url)?.post(url).headers(headers);
        let request = request.header(CONTENT_TYPE, json).header(ACCEPT, accept);
        let request = request.body(body.get().to_owned()).build();
        request.map_err(|error| self.transport_error(error))
    }
}
