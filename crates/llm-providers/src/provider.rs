//! The trait of everything that answers requests.

use std::future::Future;
use std::pin::Pin;

use futures_core::Stream;
use tokio_util::sync::CancellationToken;

use crate::answer::Event;
use crate::capabilities::Capabilities;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::native::{NativeAnswer, NativeRequest};
use crate::request::{Reasoning, Request};

/// A boxed future, because providers are chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The events of one answer; the last one of a good answer is [`Event::Done`].
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, ProviderError>> + Send>>;

/// Answers requests.
pub trait Provider: Send + Sync {
    /// Returns the provider's name, as settings and sessions have it.
    fn name(&self) -> &str;

    /// Returns the model's id, as settings and sessions have it.
    fn model(&self) -> &str;

    /// Sends a request; the stream ends with an error when `cancel` fires.
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>>;

    /// Returns the key under which `preserveData` keeps native histories that this provider can replay; `None` if it
    /// replays none.
    fn native_key(&self) -> Option<&'static str> {
        None
    }

    /// Lets the provider compact a conversation in its own form.
    fn compact_native(
        &self,
        request: NativeRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<NativeAnswer, ProviderError>> {
        let _ = (request, cancel);
        let text = "this provider has no native compaction";
        let error = ProviderError::new(ProviderErrorKind::InvalidRequest, text);
        Box::pin(std::future::ready(Err(error)))
    }

    /// Returns why no request with this level of thinking can be sent, and what to change.
    fn refuses_reasoning(&self, reasoning: Reasoning) -> Option<String> {
        let _ = reasoning;
        None
    }

    /// Returns what the provider can do.
    fn capabilities(&self) -> &Capabilities;
}
