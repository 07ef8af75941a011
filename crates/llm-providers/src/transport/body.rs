//! The body of an answer: bounded in size and time, recorded as it passes, cut off by cancellation.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::Instant;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::transport::Call;
use crate::transport::record::Exchange;

/// Where the error of a body is kept, because clients between here and the reader only pass texts on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<ProviderError>>>);

impl Failure {
    pub fn set(&self, error: ProviderError) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Returns the error, if there was one.
    pub fn take(&self) -> Option<ProviderError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

struct Guard<S> {
    bytes: S,
    call: Call,
    exchange: Exchange,
    failure: Failure,
    left: usize,
    deadline: Instant,
    over: bool,
}

/// Returns the answer with its body guarded. An error ends the body; it is kept in `failure`.
pub(super) fn guarded(
    response: reqwest::Response,
    call: Call,
    exchange: Exchange,
    failure: Failure,
    limit: usize,
    started: Instant,
) -> reqwest::Response {
    let mut head = http::Response::builder().status(response.status());
    if let Some(headers) = head.headers_mut() {
        headers.clone_from(response.headers());
    }
    let deadline = started + call.http.settings.total;
    let guard = Guard {
        bytes: response.bytes_stream(),
        call,
        exchange,
        failure,
        left: limit,
        deadline,
        over: false,
    };
    let stream = futures_util::stream::unfold(guard, step);
    // Status and headers were good before, so they are now.
    head.body(reqwest::Body::wrap_stream(stream))
        .unwrap_or_default()
        .into()
}

async fn step<S>(mut guard: Guard<S>) -> Option<(io::Result<Bytes>, Guard<S>)>
where
    S: Stream<Item = reqwest::Result<Bytes>> + Unpin,
{
    if guard.over {
        return None;
    }
    let cancel = guard.call.cancel.clone();
    let idle = guard.call.http.settings.idle;
    let next = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(guard.call.cancelled()),
        () = tokio::time::sleep_until(guard.deadline) => {
            let text = format!("the answer took longer than {} s", guard.call.http.settings.total.as_secs());
            Err(guard.call.error(ProviderErrorKind::Timeout, &text))
        }
        next = tokio::time::timeout(idle, guard.bytes.next()) => match next {
            Ok(None) => return None,
            Ok(Some(Ok(bytes))) => Ok(bytes),
            Ok(Some(Err(error))) => Err(guard.call.transport_error(error)),
            Err(_) => {
                let text = format!("the service fell silent for {} s", idle.as_secs());
                Err(guard.call.error(ProviderErrorKind::Timeout, &text))
            }
        },
    };
    let next = next.and_then(|bytes| match guard.left.checked_sub(bytes.len()) {
        Some(left) => {
            guard.left = left;
            Ok(bytes)
        }
        None => {
            let text = "the answer is larger than any answer should be; the rest was not read";
            Err(guard.call.error(ProviderErrorKind::Malformed, text))
        }
    });
    match next {
        Ok(bytes) => {
            guard.exchange.received(&bytes);
            Some((Ok(bytes), guard))
        }
        Err(error) => {
            guard.exchange.fail(&error);
            guard.failure.set(error);
            guard.over = true;
            Some((Err(io::Error::other("the answer broke off")), guard))
        }
    }
}

/// Reads the body up to `limit` bytes; what follows, and what breaks, is left out.
pub(crate) async fn read_bounded(response: reqwest::Response, limit: usize) -> Vec<u8> {
    let mut bytes = response.bytes_stream();
    let mut body = Vec::new();
    while body.len() < limit {
        let Some(Ok(piece)) = bytes.next().await else {
            break;
        };
        let room = limit - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
    }
    body
}
