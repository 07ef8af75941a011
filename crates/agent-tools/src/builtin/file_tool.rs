//! A tool whose work waits for files.

use llm_providers::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::{parse, schema};
use crate::context::ToolContext;
use crate::file::{CommitPoint, blocking};
use crate::output::ToolOutput;
use crate::tool::{Tool, ToolMeta};

/// A tool with arguments of the type `A`, whose work is done on a thread that may wait.
pub(super) struct FileTool<A> {
    pub name: &'static str,
    pub description: &'static str,
    pub meta: ToolMeta,
    /// Does the work, or returns why it cannot.
    pub work: fn(&A, &ToolContext, &CommitPoint) -> Result<ToolOutput, String>,
}

impl<A: DeserializeOwned + JsonSchema + Send + 'static> Tool for FileTool<A> {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn parameters(&self) -> Value {
        schema::<A>()
    }

    fn meta(&self) -> ToolMeta {
        self.meta
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = match parse(arguments) {
                Ok(arguments) => arguments,
                Err(message) => return ToolOutput::error(message),
            };
            let (work, with) = (self.work, context.clone());
            blocking(self.name, context, move |commit| {
                work(&arguments, &with, commit)
            })
            .await
        })
    }
}
