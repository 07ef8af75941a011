//! The body of an answer: bounded in size and time, recorded as it passes, cut off by cancellation.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::Instant;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::transport::Call;
use crate::transport::record::Exchange;

/// The bytes of an answer; an error is the last item.
pub(crate) type Body = Pin<Box<dyn Stream<Item = Result<Bytes, ProviderError>> + Send>>;

struct Guard<S> {
    bytes: S,
    call: Call,
    exchange: Exchange,
    left: usize,
    deadline: Instant,
    over: bool,
}

/// Returns the body of an answer with at most `limit` bytes, guarded.
pub(super) fn guarded(
    response: reqwest::Response,
    call: Call,
    exchange: Exchange,
    limit: usize,
    started: Instant,
) -> Body {
    let deadline = started + call.http.settings.total;
    let guard = Guard {
        bytes: response.bytes_stream(),
        call,
        exchange,
        left: limit,
        deadline,
        over: false,
    };
    Box::pin(futures_util::stream::unfold(guard, |mut guard| async {
        let next = guard.next().await.transpose()?;
        match &next {
            Ok(bytes) => guard.exchange.received(bytes),
            Err(error) => guard.exchange.fail(error),
        }
        guard.over = next.is_err();
        Some((next, guard))
    }))
}

impl<S> Guard<S>
where
    S: Stream<Item = reqwest::Result<Bytes>> + Unpin,
{
    /// Returns the next bytes, or `None` at the end of the body.
    async fn next(&mut self) -> Result<Option<Bytes>, ProviderError> {
        if self.over {
            return Ok(None);
        }
        let settings = self.call.http.settings;
        let bytes = tokio::select! {
            biased;
            () = self.call.cancel.cancelled() => return Err(self.call.cancelled()),
            () = tokio::time::sleep_until(self.deadline) => {
                let text = format!("the answer took longer than {} s", settings.total.as_secs());
                return Err(self.call.error(ProviderErrorKind::Timeout, &text));
            }
            next = tokio::time::timeout(settings.idle, self.bytes.next()) => match next {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(bytes))) => bytes,
                Ok(Some(Err(error))) => return Err(self.call.transport_error(error)),
                Err(_) => {
                    let text = format!("the service fell silent for {} s", settings.idle.as_secs());
                    return Err(self.call.error(ProviderErrorKind::Timeout, &text));
                }
            },
        };
        self.left = self
            .left
            .checked_sub(bytes.len())
            .ok_or_else(|| self.call.too_large())?;
        Ok(Some(bytes))
    }
}

impl Call {
    pub(super) fn too_large(&self) -> ProviderError {
        let text = "the answer is larger than any answer should be; the rest was not read";
        self.error(ProviderErrorKind::Malformed, text)
    }
}

/// Reads up to `limit` bytes of a body, and returns what broke it off.
pub(super) async fn read_bounded(mut body: Body, limit: usize) -> (Vec<u8>, Option<ProviderError>) {
    let mut read = Vec::new();
    while read.len() < limit {
        match body.next().await {
            Some(Ok(piece)) => {
                let room = limit - read.len();
                read.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            Some(Err(error)) => return (read, Some(error)),
            None => break,
        }
    }
    (read, None)
}
