//! Answers in the frames of Amazon's event streams (`application/vnd.amazon.eventstream`).

use std::collections::VecDeque;

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_types::event_stream::Message;
use aws_smithy_types::str_bytes::StrBytes;
use bytes::BytesMut;
use futures_util::StreamExt;
use serde_json::{Value, json};
use session_model::json::RawJson;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::transport::{Body, Call, DataStream, Expect};

struct Frames {
    bytes: Body,
    decoder: MessageFrameDecoder,
    buffer: BytesMut,
    ready: VecDeque<String>,
    call: Call,
    over: bool,
}

impl Call {
    /// Sends `request` and returns the data of the events that come back in frames.
    pub async fn send_for_frames(
        self,
        request: reqwest::Request,
    ) -> Result<DataStream, ProviderError> {
        let bytes = self.send(request, Expect::Json).await?;
        let frames = Frames {
            bytes,
            decoder: MessageFrameDecoder::new(),
            buffer: BytesMut::new(),
            ready: VecDeque::new(),
            call: self,
            over: false,
        };
        Ok(Box::pin(futures_util::stream::unfold(
            frames,
            |mut frames| async {
                let next = frames.next().await?;
                frames.over = next.is_err();
                Some((next, frames))
            },
        )))
    }
}

impl Frames {
    async fn next(&mut self) -> Option<Result<String, ProviderError>> {
        if self.over {
            return None;
        }
        loop {
            if let Some(data) = self.ready.pop_front() {
                return Some(Ok(data));
            }
            match self.bytes.next().await? {
                Ok(bytes) => {
                    self.buffer.extend_from_slice(&bytes);
                    if let Err(text) = self.decode() {
                        let kind = ProviderErrorKind::Malformed;
                        return Some(Err(self.call.error(kind, &text)));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Takes the whole frames from the buffer.
    fn decode(&mut self) -> Result<(), String> {
        loop {
            let frame = self.decoder.decode_frame(&mut self.buffer);
            match frame.map_err(|error| format!("the answer has a broken frame: {error}"))? {
                DecodedFrame::Incomplete => return Ok(()),
                DecodedFrame::Complete(message) => self.ready.extend(data_of(&message)?),
            }
        }
    }
}

/// Returns the event in a frame: one of the model's own protocol, an error, or one of Amazon's with its type as the
/// only member.
fn data_of(message: &Message) -> Result<Option<String>, String> {
    let header = |name: &str| {
        let mut headers = message.headers().iter();
        let header = headers.find(|header| header.name().as_str() == name)?;
        header.value().as_string().ok().map(StrBytes::as_str)
    };
    let payload = std::str::from_utf8(message.payload())
        .map_err(|_| "a frame of the answer is not valid UTF-8".to_owned())?;
    let failed = |kind: &str, text: &str| {
        json!({"type": "error", "error": {"type": kind, "message": text}}).to_string()
    };
    match (header(":message-type"), header(":event-type")) {
        (Some("exception"), _) => {
            let body: Value = serde_json::from_str(payload).unwrap_or_default();
            let text = body["message"].as_str().unwrap_or(payload);
            Ok(Some(failed(
                header(":exception-type").unwrap_or_default(),
                text,
            )))
        }
        (Some("error"), _) => {
            let text = header(":error-message").unwrap_or_default();
            Ok(Some(failed(
                header(":error-code").unwrap_or_default(),
                text,
            )))
        }
        (_, Some("chunk")) => {
            let body: Value = serde_json::from_str(payload).unwrap_or_default();
            let bytes = body["bytes"].as_str().unwrap_or_default();
            let bytes = aws_smithy_types::base64::decode(bytes).ok();
            let data = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            let data = data.ok_or("a frame of the answer holds no event")?;
            Ok(Some(data))
        }
        (_, Some(kind)) => {
            let body = RawJson::parse(payload).map_err(|error| error.to_string())?;
            Ok(Some(format!("{{{}:{}}}", Value::from(kind), body.get())))
        }
        (_, None) => Ok(None),
    }
}
