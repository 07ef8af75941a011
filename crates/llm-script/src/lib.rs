//! A [`Provider`] that answers without a network: from a list of turns ([`Scripted::new`]), or from a script in a
//! file ([`Script`]), which also says what the user does.

mod file;
mod play;
mod read;
mod stage;
mod values;

use std::sync::Arc;

use llm_providers::{
    BoxFuture, CancellationToken, Capabilities, EventStream, Provider, ProviderError, Request,
};
use session_model::{StopReason, ToolCall};

use stage::{Cue, Stage, Turn};

pub use file::{
    Script, ScriptAction, ScriptAnswer, ScriptDelivery, ScriptError, ScriptFailure, ScriptHeader,
    ScriptLine, ScriptStep, ScriptSummary, ScriptUsage,
};
pub use play::ScriptPlay;

/// The name of the provider, as settings and sessions have it.
const PROVIDER: &str = "scripted";

/// The name of the model, where the script has none.
const MODEL: &str = "script";

/// One turn of a list.
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
///
/// A turn counts as given when its last event was taken from the stream. A request that is cancelled before, or
/// whose stream is dropped, gives its turn back, and the next request gets it.
#[derive(Debug)]
pub struct Scripted {
    stage: Arc<Stage>,
    capabilities: Capabilities,
    model: Arc<str>,
}

impl Scripted {
    /// Returns a provider that plays `turns` in order. What they bill is 0.
    pub fn new(turns: Vec<ScriptedTurn>) -> Self {
        let cues = turns.into_iter().map(|turn| Cue {
            turn: turn.into(),
            then: Vec::new(),
        });
        let header = ScriptHeader::default();
        Self::on(Arc::new(Stage::new("turn", cues.collect())), &header)
    }

    /// Returns a provider that plays what is on `stage`.
    fn on(stage: Arc<Stage>, header: &ScriptHeader) -> Self {
        Self {
            stage,
            capabilities: Capabilities {
                window: header.window,
                max_output: header.max_output,
                tools: true,
                ..Capabilities::default()
            },
            model: header.name.as_deref().unwrap_or(MODEL).into(),
        }
    }
}

impl From<ScriptedTurn> for Turn {
    fn from(turn: ScriptedTurn) -> Self {
        let (text, calls) = match turn {
            ScriptedTurn::Text(text) => (text, Vec::new()),
            ScriptedTurn::Calls(calls) => (String::new(), calls),
            ScriptedTurn::Error(error) => {
                return Self::Failure(ScriptFailure {
                    error,
                    after_text: String::new(),
                });
            }
        };
        Self::Answer(ScriptAnswer {
            stop: match calls.is_empty() {
                true => StopReason::Stop,
                false => StopReason::ToolUse,
            },
            text,
            calls,
            usage: ScriptUsage {
                input: Some(0),
                output: Some(0),
                ..ScriptUsage::default()
            },
            ..ScriptAnswer::default()
        })
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        PROVIDER
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move { stage::stream(&self.stage, &self.model, &request, cancel) })
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod play_tests;
