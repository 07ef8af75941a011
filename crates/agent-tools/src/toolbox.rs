//! The tools that a session offers, and the one way in which they are called.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use llm_providers::Tool;
use serde_json::{Map, Value};
use session_model::ToolCall;
use session_model::json::RawJson;

use crate::approval::{Policy, Question};
use crate::builtin;
use crate::context::ToolContext;
use crate::output::ToolOutput;
use crate::text;
use crate::tool::{AgentTool, Repeat};
use crate::workspace::Workspace;

/// The tools whose calls are about a file or folder.
const OF_FILES: [&str; 6] = ["read", "write", "edit", "grep", "find", "ls"];

/// How much of a name that no tool has is repeated, in characters.
const NAME_CHARS: usize = 100;

/// The tools that a session offers, in their order.
#[derive(Clone)]
pub struct Toolbox {
    tools: Arc<[Arc<dyn AgentTool>]>,
}

impl Toolbox {
    /// Returns the built-in tools.
    pub fn builtin() -> Self {
        Self::of(builtin::standard())
    }

    /// Returns a toolbox without tools.
    pub fn none() -> Self {
        Self::of(Vec::new())
    }

    /// Returns a toolbox with these tools, for those that are made with a state of their own.
    pub fn of(tools: Vec<Arc<dyn AgentTool>>) -> Self {
        Self {
            tools: tools.into(),
        }
    }

    /// Returns these tools and `more` behind them.
    #[must_use]
    pub fn with(&self, more: &[Arc<dyn AgentTool>]) -> Self {
        Self::of(self.tools.iter().chain(more).cloned().collect())
    }

    /// Returns those of the tools that have these names, in the order of this box.
    ///
    /// # Errors
    /// A text that names an unknown tool and lists the known ones.
    pub fn choose(&self, names: &[String]) -> Result<Self, String> {
        if let Some(unknown) = names.iter().find(|name| self.get(name).is_none()) {
            let known = self.known();
            return Err(format!("there is no tool {unknown}; choose from {known}"));
        }
        let tools = self.tools.iter();
        let named = tools.filter(|tool| names.iter().any(|name| name == tool.name()));
        Ok(Self::of(named.cloned().collect()))
    }

    /// Returns the tools as a request to a model has them.
    pub fn specs(&self) -> Vec<Tool> {
        let tools = self.tools.iter();
        let specs = tools.filter_map(|tool| {
            Some(Tool {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                parameters: RawJson::of(&tool.parameters()).ok()?,
            })
        });
        specs.collect()
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }

    /// Returns whether a lost call of `name` may run again; not when there is no such tool.
    pub fn repeat(&self, name: &str) -> Repeat {
        self.get(name).map_or(Repeat::Unsafe, AgentTool::repeat)
    }

    /// Runs one call, once it is allowed. Never fails: whatever goes wrong is a result that tells the model what to do.
    pub async fn run(&self, call: &ToolCall, context: &ToolContext) -> ToolOutput {
        let Some(tool) = self.get(&call.name) else {
            let known = match self.known() {
                known if known.is_empty() => "there are no tools in this session".to_owned(),
                known => format!("call one of {known}"),
            };
            let name = text::clip_line(&call.name, NAME_CHARS);
            return ToolOutput::error(format!("there is no tool {name}; {known}")).cleaned();
        };
        let arguments = match &call.arguments {
            Some(raw) => raw.to_value(),
            None => Value::Object(Map::new()),
        };
        if !arguments.is_object() {
            let what = "the arguments are no JSON object; send one with the parameters as keys";
            return ToolOutput::error(what);
        }
        if context.cancel.is_cancelled() {
            return ToolOutput::cancelled();
        }
        if let Some((subject, otherwise)) = leave(tool, &arguments, &context.workspace) {
            let question = Question {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                subject,
            };
            let approvals = &context.approvals;
            let decided = approvals.decide(&question, otherwise, &context.cancel);
            if let Err(refused) = decided.await {
                return refused.without_keys(&context.redactor).cleaned();
            }
        }
        let running = AssertUnwindSafe(tool.run(&arguments, context)).catch_unwind();
        match running.await {
            Ok(output) => output.without_keys(&context.redactor).cleaned(),
            Err(_) => ToolOutput::failed(tool.name()),
        }
    }

    fn get(&self, name: &str) -> Option<&dyn AgentTool> {
        let mut tools = self.tools.iter();
        let found = tools.find(|tool| tool.name() == name)?;
        Some(&**found)
    }

    fn known(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }
}

/// Returns what the call would do, in the words of rules, and what holds where no policy is set; none for a call that
/// cannot run and is told why.
fn leave(
    tool: &dyn AgentTool,
    arguments: &Value,
    workspace: &Workspace,
) -> Option<(String, Policy)> {
    match tool.asks_leave(arguments) {
        Some(subject) => Some((subject, Policy::Ask)),
        None if tool.needs_leave() => None,
        None => Some((subject(tool.name(), arguments, workspace), Policy::Allow)),
    }
}

/// Returns whether calls of a tool are about a file or folder.
pub fn is_of_files(tool: &str) -> bool {
    OF_FILES.contains(&tool)
}

/// Returns what rules say of a call that needs no leave by itself: the file or folder, however it is spelled.
fn subject(tool: &str, arguments: &Value, workspace: &Workspace) -> String {
    if !is_of_files(tool) {
        return arguments.to_string();
    }
    let path = arguments.get("path").and_then(Value::as_str);
    workspace.named(path.unwrap_or("."))
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
