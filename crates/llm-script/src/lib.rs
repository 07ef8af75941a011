//! A [`Provider`] that answers without a network, from a [`Script`] in a file, which also contains the user's actions.

mod file;
mod play;
mod read;
mod stage;
mod values;

use std::sync::Arc;

use llm_providers::{
    BoxFuture, CancellationToken, Capabilities, EventStream, Provider, ProviderError, Request,
};
use stage::Stage;

pub use file::{Script, ScriptAction, ScriptDelivery, ScriptError, ScriptHeader};
pub use play::ScriptPlay;

/// The name of the provider, as settings and sessions have it.
const PROVIDER: &str = "scripted";

/// The default name of the model.
const MODEL: &str = "script";

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
