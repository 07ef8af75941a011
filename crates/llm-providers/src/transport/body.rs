//! The body of an answer: bounded in size and time, recorded as it passes, cut off by cancellation.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::Instant;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::transport::Call;
use crate::transport::lines::Lines;
use crate::transport::record::Exchange;

/// Where the error of a body is kept, because clients between here and the reader only pass texts on.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamErrorCell(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    error: Option<ProviderError>,
    done: bool,
}

impl StreamErrorCell {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(&self, error: ProviderError) {
        self.seen().error = Some(error);
    }

    /// Returns the error, if there was one.
    pub fn take(&self) -> Option<ProviderError> {
        self.seen().error.take()
    }

    /// Returns true once an event has passed whose data is `[DONE]`.
    pub fn saw_done(&self) -> bool {
        self.seen().done
    }
}

/// What a line of a stream counts at least, in bytes: each event takes memory, whatever is in it.
const LEAST_LINE: usize = 64;

struct Guard<S> {
    bytes: S,
    call: Call,
    exchange: Exchange,
    stream_error: StreamErrorCell,
    left: usize,
    deadline: Instant,
    /// The lines that have come; `None` when bytes are passed on as they come.
    lines: Option<Lines>,
    over: bool,
}

/// Returns true for the line of an event whose data is `[DONE]`.
fn is_done(line: &[u8]) -> bool {
    let data = line.strip_prefix(b"data:");
    data.is_some_and(|data| data.trim_ascii() == b"[DONE]")
}

/// Returns the answer with its body guarded, in whole lines where `by_lines` says so. An error ends the body; it is
/// kept in `stream_error`.
pub(super) fn guarded(
    response: reqwest::Response,
    call: Call,
    exchange: Exchange,
    stream_error: StreamErrorCell,
    limit: usize,
    by_lines: bool,
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
        stream_error,
        left: limit,
        deadline,
        lines: by_lines.then(Lines::default),
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
    while !guard.over {
        let next = match guard.lines.as_mut().and_then(Lines::next) {
            Some(line) => {
                let in_time = guard.in_time();
                let taken =
                    in_time.and_then(|()| guard.take(LEAST_LINE.saturating_sub(line.len())));
                taken.map(|()| Some(line))
            }
            None => match guard.next().await {
                Ok(Some(bytes)) => {
                    guard.exchange.received(&bytes);
                    match &mut guard.lines {
                        Some(lines) => {
                            lines.push(&bytes);
                            continue;
                        }
                        None => Ok(Some(bytes)),
                    }
                }
                Ok(None) => {
                    guard.over = true;
                    Ok(guard.lines.as_mut().and_then(Lines::rest))
                }
                Err(error) => Err(error),
            },
        };
        match next {
            Ok(Some(bytes)) => {
                if guard.lines.is_some() && is_done(&bytes) {
                    guard.stream_error.seen().done = true;
                }
                return Some((Ok(bytes), guard));
            }
            Ok(None) => return None,
            Err(error) => {
                guard.exchange.fail(&error);
                guard.stream_error.set(error);
                guard.over = true;
                return Some((Err(io::Error::other("the answer broke off")), guard));
            }
        }
    }
    None
}

impl<S> Guard<S> {
    /// Fails once nobody waits any more, or the answer has taken too long.
    fn in_time(&self) -> Result<(), ProviderError> {
        if self.call.cancel.is_cancelled() {
            return Err(self.call.cancelled());
        }
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err(self.too_late()),
        }
    }

    /// Takes bytes off what an answer may have.
    fn take(&mut self, bytes: usize) -> Result<(), ProviderError> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| {
            let text = "the answer is larger than any answer should be; the rest was not read";
            self.call.error(ProviderErrorKind::Malformed, text)
        })?;
        Ok(())
    }

    fn too_late(&self) -> ProviderError {
        let total = self.call.http.settings.total.as_secs();
        let text = format!("the answer took longer than {total} s");
        self.call.error(ProviderErrorKind::Timeout, &text)
    }
}

impl<S> Guard<S>
where
    S: Stream<Item = reqwest::Result<Bytes>> + Unpin,
{
    /// Returns the next bytes, or `None` at the end of the body.
    async fn next(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let cancel = self.call.cancel.clone();
        let idle = self.call.http.settings.idle;
        let bytes = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(self.call.cancelled()),
            () = tokio::time::sleep_until(self.deadline) => return Err(self.too_late()),
            next = tokio::time::timeout(idle, self.bytes.next()) => match next {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(bytes))) => bytes,
                Ok(Some(Err(error))) => return Err(self.call.transport_error(error)),
                Err(_) => {
                    let text = format!("the service fell silent for {} s", idle.as_secs());
                    return Err(self.call.error(ProviderErrorKind::Timeout, &text));
                }
            },
        };
        self.take(bytes.len())?;
        Ok(Some(bytes))
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
