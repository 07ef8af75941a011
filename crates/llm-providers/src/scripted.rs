//! A provider that answers from a list of turns, without a network.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use session_model::{StopReason, ToolCall, Usage};
use tokio_util::sync::CancellationToken;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::provider::{BoxFuture, Capabilities, Event, EventStream, Provider, Request};

/// One turn of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedTurn {
    /// The model says this.
    Text(String),
    /// The model calls these tools.
    Calls(Vec<ToolCall>),
    /// The provider fails.
    Error(ProviderError),
}

/// A provider that plays a script, one turn a request.
#[derive(Debug)]
pub struct Scripted {
    turns: Mutex<VecDeque<ScriptedTurn>>,
    capabilities: Capabilities,
}

impl Scripted {
    /// Returns a provider that plays `turns` in order.
    pub fn new(turns: Vec<ScriptedTurn>) -> Self {
        Self {
            turns: Mutex::new(turns.into()),
            capabilities: Capabilities {
                tools: true,
                ..Capabilities::default()
            },
        }
    }

    fn next(&self, cancel: &CancellationToken) -> Result<Vec<Event>, ProviderError> {
        if cancel.is_cancelled() {
            let kind = ProviderErrorKind::Cancelled;
            return Err(ProviderError::new(kind, "the request was cancelled"));
        }
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turns.pop_front().ok_or_else(|| {
            let kind = ProviderErrorKind::InvalidRequest;
            ProviderError::new(kind, "the script has no turn left")
        })?;
        let done = |stop_reason| Event::Done {
            stop_reason,
            usage: Usage::default(),
        };
        match turn {
            ScriptedTurn::Text(text) => Ok(vec![Event::Text(text), done(StopReason::Stop)]),
            ScriptedTurn::Calls(calls) => {
                let calls = calls.into_iter().map(Event::ToolCall);
                Ok(calls.chain([done(StopReason::ToolUse)]).collect())
            }
            ScriptedTurn::Error(error) => Err(error),
        }
    }
}

impl Provider for Scripted {
    fn stream(
        &self,
        _request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move {
            let events = self.next(&cancel)?.into_iter().map(Ok);
            let stream: EventStream = Box::pin(futures_util::stream::iter(events));
            Ok(stream)
        })
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::{Scripted, ScriptedTurn};
    use crate::error::ProviderErrorKind;
    use crate::provider::{Provider, Request};
    use tokio_util::sync::CancellationToken;

    #[test]
    fn a_cancelled_request_takes_no_turn_and_an_empty_script_says_so() {
        futures_executor::block_on(async {
            let provider = Scripted::new(vec![ScriptedTurn::Text("one".to_owned())]);
            let cancelled = CancellationToken::new();
            cancelled.cancel();
            let request = || Request::for_prompt("s", "p");
            let kinds = [
                provider.stream(request(), cancelled).await.err(),
                provider
                    .stream(request(), CancellationToken::new())
                    .await
                    .err(),
                provider
                    .stream(request(), CancellationToken::new())
                    .await
                    .err(),
            ]
            .map(|error| error.map(|error| error.kind));
            assert_eq!(
                kinds,
                [
                    Some(ProviderErrorKind::Cancelled),
                    None,
                    Some(ProviderErrorKind::InvalidRequest)
                ]
            );
        });
    }
}
