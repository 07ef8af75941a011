//! Requests for server-sent events and for documents.

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use session_model::json::RawJson;
use sse_stream::{Error as SseError, SseByteStream};

use crate::error::{ProviderError, ProviderErrorKind};
use crate::transport::body::read_bounded;
use crate::transport::{Call, DataStream, Expect};

/// The least size that an event counts, in bytes: each event takes memory, even an empty one.
const LEAST_EVENT: usize = 128;

impl Call {
    /// Sends `body` to `url` and returns the data of the events that come back.
    pub async fn post_for_events(
        self,
        url: &str,
        headers: HeaderMap,
        body: &RawJson,
    ) -> Result<DataStream, ProviderError> {
        let accept = HeaderValue::from_static("text/event-stream");
        let request = self.post(url, headers, accept, body)?;
        let answer = self.send(request, Expect::Events).await?;
        // A last event without the empty line after it counts too.
        let end = futures_util::stream::iter([Ok(Bytes::from_static(b"\n\n"))]);
        let mut left = self.http.settings.answer_limit;
        let events = SseByteStream::new(answer.chain(end)).filter_map(move |event| {
            let data = match event {
                Ok(event) => {
                    let data = event.data.unwrap_or_default();
                    match left.checked_sub(data.len().max(LEAST_EVENT)) {
                        Some(rest) => {
                            left = rest;
                            Ok(data)
                        }
                        None => Err(self.too_large()),
                    }
                }
                Err(error) => Err(self.stream_error(error)),
            };
            let says = data.as_ref().map_or(true, |data| !data.is_empty());
            std::future::ready(says.then_some(data))
        });
        Ok(Box::pin(events))
    }

    fn stream_error(&self, error: SseError) -> ProviderError {
        let malformed = |text: &str| self.error(ProviderErrorKind::Malformed, text);
        match error {
            SseError::Body(error) => match error.downcast::<ProviderError>() {
                Ok(error) => *error,
                Err(error) => malformed(&error.to_string()),
            },
            error => malformed(&error.to_string()),
        }
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
        let body = self.send(request, Expect::Json).await?;
        match read_bounded(body, self.http.settings.answer_limit).await {
            (_, Some(error)) => Err(error),
            (bytes, None) => String::from_utf8(bytes).map_err(|_| {
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
