//! One request to its end: events passed on as they come, failures retried by the one policy.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Event};
use crate::error::{ProviderError, ProviderErrorKind};
use crate::native::{NativeAnswer, NativeRequest};
use crate::provider::{EventStream, Provider};
use crate::request::Request;
use crate::retry::{RetryPolicy, random};
use crate::size::request_tokens;

/// Progress of a request.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A piece of the answer.
    Event(&'a Event),
    /// The attempt failed; its pieces so far are void, and the request is sent again after a delay.
    Retry {
        /// The error of the failed attempt.
        error: &'a ProviderError,
        /// The delay before the next attempt.
        delay: Duration,
        /// The number of attempts so far.
        sent: u32,
        /// The limit of all delays while it fails in this way.
        budget: Duration,
    },
}

/// Sends `request` until it is answered, and returns the answer; `progress` receives every piece and every new attempt.
///
/// # Errors
/// The last attempt's error, once `policy` gives up; [`ProviderErrorKind::Cancelled`] within a moment after
/// `cancel` fires, also in the middle of a delay.
pub async fn complete(
    provider: &dyn Provider,
    request: &Request,
    policy: &RetryPolicy,
    cancel: &CancellationToken,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Answer, ProviderError> {
    let mut tries = Tries::new(provider, policy, cancel);
    loop {
        match once(provider, request, cancel, progress).await {
            Ok(answer) => return Ok(answer),
            Err(mut error) => {
                // Above what a minute allows, only a smaller request helps.
                if error
                    .token_limit
                    .is_some_and(|limit| limit.get() < request_tokens(request))
                {
                    error.kind = ProviderErrorKind::ContextOverflow;
                }
                let answer = error.answer.take();
                let ended = tries.failed(error, progress).await;
                match answer.filter(|_| !cancel.is_cancelled()) {
                    // Asked for again, it ended in the same way.
                    Some(answer) if ended.is_err() => {
                        let done = Event::Done(*answer);
                        progress(Progress::Event(&done));
                        let Event::Done(answer) = done else {
                            unreachable!("it was just made")
                        };
                        return Ok(answer);
                    }
                    _ => ended?,
                }
            }
        }
    }
}

/// Does the same for a native compaction, which has no pieces.
///
/// # Errors
/// As [`complete`].
pub async fn compact_native(
    provider: &dyn Provider,
    request: &NativeRequest,
    policy: &RetryPolicy,
    cancel: &CancellationToken,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<NativeAnswer, ProviderError> {
    let mut tries = Tries::new(provider, policy, cancel);
    loop {
        let answered = provider.compact_native(request.clone(), cancel.clone());
        match answered.await {
            Ok(answer) => return Ok(answer),
            // The same request would give the same error again.
            Err(error) if error.kind == ProviderErrorKind::Malformed => return Err(error),
            Err(error) => tries.failed(error, progress).await?,
        }
    }
}

/// The attempts at one request.
struct Tries<'a> {
    provider: &'a dyn Provider,
    policy: &'a RetryPolicy,
    cancel: &'a CancellationToken,
    failures: Vec<ProviderErrorKind>,
    waited: Duration,
    /// The start of the last attempt.
    began: Instant,
}

impl<'a> Tries<'a> {
    fn new(
        provider: &'a dyn Provider,
        policy: &'a RetryPolicy,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            provider,
            policy,
            cancel,
            failures: Vec::new(),
            waited: Duration::ZERO,
            began: Instant::now(),
        }
    }

    /// Waits until the request may be sent again, or returns the error that ends the attempts.
    async fn failed(
        &mut self,
        error: ProviderError,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<(), ProviderError> {
        if error.kind == ProviderErrorKind::Unreachable {
            // The provider was not working on the request.
            self.waited += self.began.elapsed();
        }
        self.failures.push(error.kind);
        let alike = self.failures.iter().filter(|kind| **kind == error.kind);
        let [sent, alike] = [self.failures.len(), alike.count()]
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let delay = self
            .policy
            .delay(sent, alike, self.waited, &error, random());
        let Ok(delay) = delay else {
            return Err(error);
        };
        progress(Progress::Retry {
            error: &error,
            delay,
            sent,
            budget: self.policy.budget_for(&error),
        });
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled(self.provider)),
            () = tokio::time::sleep(delay) => {
                self.waited += delay;
                self.began = Instant::now();
                Ok(())
            }
        }
    }
}

async fn once(
    provider: &dyn Provider,
    request: &Request,
    cancel: &CancellationToken,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Answer, ProviderError> {
    let events = provider.stream(request.clone(), cancel.clone()).await?;
    let ended = last(events, &mut |event| progress(Progress::Event(event))).await?;
    ended.ok_or_else(|| ProviderError::ended_early().of(provider.name(), provider.model()))
}

/// Returns the answer at the end of `events`, if there is one; `progress` receives each event.
pub(crate) async fn last(
    mut events: EventStream,
    progress: &mut (dyn FnMut(&Event) + Send),
) -> Result<Option<Answer>, ProviderError> {
    while let Some(event) = events.next().await {
        let event = event?;
        progress(&event);
        if let Event::Done(answer) = event {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

fn cancelled(provider: &dyn Provider) -> ProviderError {
    let error = ProviderError::new(ProviderErrorKind::Cancelled, "the request was cancelled");
    error.of(provider.name(), provider.model())
}
