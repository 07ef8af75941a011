//! A provider that answers from a list of turns, without a network.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use session_model::{Block, StopReason, ToolCall};
use tokio_util::sync::CancellationToken;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::provider::{Answer, BoxFuture, Capabilities, Event, EventStream, Provider, Request};

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
        match turn {
            ScriptedTurn::Text(text) => {
                let answer = Answer {
                    content: vec![Block::text(text.clone())],
                    ..Answer::default()
                };
                Ok(vec![Event::Text(text), Event::Done(answer)])
            }
            ScriptedTurn::Calls(calls) => {
                let pieces = calls
                    .iter()
                    .enumerate()
                    .map(|(index, call)| Event::ToolCall {
                        index,
                        name: call.name.clone(),
                        arguments: call.arguments_text(),
                    });
                let mut events: Vec<Event> = pieces.collect();
                events.push(Event::Done(Answer {
                    content: calls.into_iter().map(Block::ToolCall).collect(),
                    stop_reason: StopReason::ToolUse,
                    ..Answer::default()
                }));
                Ok(events)
            }
            ScriptedTurn::Error(error) => Err(error),
        }
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &str {
        "script"
    }

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
