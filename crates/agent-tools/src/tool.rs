//! The trait of a tool.

use llm_providers::BoxFuture;
use serde_json::Value;

use crate::context::ToolContext;
use crate::output::ToolOutput;

/// Whether a call whose result was lost may simply run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It may: the second run ends where the first did.
    Safe,
    /// It may not: what the first run did is unknown.
    Unsafe,
}

/// Something that a model can call.
pub trait AgentTool: Send + Sync {
    /// Returns the name that the model calls.
    fn name(&self) -> &str;

    /// Returns what it does, for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of its arguments.
    fn parameters(&self) -> Value;

    /// Returns whether a call whose result was lost may run again.
    fn repeat(&self) -> Repeat;

    /// Returns whether calls need leave by themselves; others are asked about only where the settings say so, and
    /// refused where a rule of the project is against them.
    fn needs_leave(&self) -> bool {
        false
    }

    /// Returns what the call would do, in the words in which it is allowed and remembered; none for a call that
    /// needs no leave.
    fn asks_leave(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Runs one call that is allowed. Ends soon after `context.cancel` fires.
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput>;
}
