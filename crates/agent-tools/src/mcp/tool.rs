//! A tool of a server, as one of the agent's.

use std::sync::Arc;

use llm_providers::BoxFuture;
use serde_json::Value;

use super::connection::{CallError, Link};
use super::content;
use super::listing::Listed;
use super::text::one_line;
use crate::context::ToolContext;
use crate::output::ToolOutput;
use crate::tool::{Tool, ToolMeta};

/// The length of the arguments that a question shows, in characters.
const ARGUMENT_CHARS: usize = 500;

/// The adapter.
pub(super) struct ServerTool {
    /// The tool.
    pub listed: Listed,
    /// The way to its server.
    pub link: Arc<Link>,
}

impl Tool for ServerTool {
    fn name(&self) -> &str {
        &self.listed.name
    }

    fn description(&self) -> &str {
        &self.listed.description
    }

    fn parameters(&self) -> Value {
        self.listed.parameters.clone()
    }

    fn meta(&self) -> ToolMeta {
        self.listed.meta
    }

    fn approval_subject(&self, arguments: &Value) -> Option<String> {
        let arguments = one_line(&arguments.to_string(), ARGUMENT_CHARS);
        Some(format!("{} {arguments}", self.listed.name))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            let called = self
                .link
                .call(&self.listed, arguments, &context.cancel)
                .await;
            match called {
                Ok(result) => content::output(result, context),
                Err(CallError::Cancelled) => ToolOutput::error(
                    "cancelled; the server was told, and may have done some of it already",
                ),
                Err(CallError::Failed(message)) => ToolOutput::error(message),
            }
        })
    }
}
