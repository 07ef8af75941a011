//! The tools of the agent: reading, writing, editing and searching files of the workspace, running commands, keeping a
//! list of what is to be done, and finding again what was said.
//!
//! A new tool is a file here and a line in the list behind [`Toolbox::standard`]. What a tool needs to
//! know of its surroundings comes in a [`ToolContext`]; what it returns is data
//! for a model, free of control characters, errors included.

mod arguments;
mod bash;
mod capture;
mod diff;
mod edit;
mod file;
mod find;
mod grep;
mod ignored;
mod image;
mod kind;
mod listing;
mod ls;
mod output;
mod place;
mod read;
mod recall;
pub(crate) mod recalling;
mod replace;
mod replacement;
pub(crate) mod restoring;
mod screen;
mod search;
#[cfg(all(test, unix))]
mod tests;
mod text;
mod todo;
mod walk;
mod workspace;
mod write;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use llm_providers::{BoxFuture, CancellationToken, Redactor, Tool};
use serde_json::{Map, Value};
use session_model::json::RawJson;
use session_model::{Leaf, SessionTree, ToolCall};

use crate::session::approval::{Approvals, Policy, Question};

pub(in crate::session) use capture::shortened;
pub(crate) use file::{Identity, open_regular, reason};
pub(in crate::session) use image::of_base64 as image_in_base64;
pub use output::ToolOutput;
pub(crate) use text::without_controls;
pub use workspace::Workspace;

/// Returns the tools there are, in the order in which models see them.
fn standard() -> Vec<Arc<dyn AgentTool>> {
    vec![
        Arc::new(read::Read),
        Arc::new(write::Write),
        Arc::new(edit::Edit),
        Arc::new(bash::Bash),
        Arc::new(grep::Grep),
        Arc::new(find::Find),
        Arc::new(ls::Ls),
        Arc::new(todo::Todo),
        Arc::new(recall::RecallTool),
    ]
}

/// The tools whose calls are about a file or folder.
const OF_FILES: [&str; 6] = ["read", "write", "edit", "grep", "find", "ls"];

/// How much of a name that no tool has is repeated, in characters.
const NAME_CHARS: usize = 100;

/// What a tool works in.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The folder that tools stay in.
    pub workspace: Arc<Workspace>,
    /// Ends a running call.
    pub cancel: CancellationToken,
    /// What a call may take and return.
    pub limits: ToolLimits,
    /// Decides about calls that have to be allowed.
    pub approvals: Approvals,
    /// The folder for the whole text of output that was cut; without one that text is lost.
    pub overflow: Option<PathBuf>,
    /// Environment variables that never reach a command, besides those whose name tells.
    pub secret_variables: Vec<String>,
    /// Takes keys out of whatever a call returns.
    pub redactor: Arc<Redactor>,
    /// The session as it was when the calls began, for tools that look into it; none where there is none.
    pub history: Option<History>,
}

/// What a call may take and return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// The longest text of a result, in bytes, notices aside.
    pub output_bytes: usize,
    /// The most lines of a result, notices aside.
    pub output_lines: usize,
    /// The longest line of a result, in characters.
    pub line_chars: usize,
    /// The most that is kept of a command's output in the overflow folder, in bytes.
    pub full_output_bytes: u64,
    /// The largest image that is shown, in bytes.
    pub image_bytes: u64,
    /// The largest file that is edited, in bytes.
    pub edit_bytes: u64,
    /// How long a command may run when the call says nothing.
    pub bash_timeout: Duration,
    /// The longest that a call may ask for.
    pub bash_timeout_most: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            output_bytes: 50_000,
            output_lines: 2000,
            line_chars: 2000,
            full_output_bytes: 100_000_000,
            image_bytes: 5_000_000,
            edit_bytes: 10_000_000,
            bash_timeout: Duration::from_secs(120),
            bash_timeout_most: Duration::from_secs(600),
        }
    }
}

/// A session at one of its entries.
#[derive(Debug, Clone)]
pub struct History {
    /// The entries, those of other branches and what compactions took out of the context included.
    pub tree: SessionTree,
    /// Where it stands.
    pub leaf: Leaf,
}

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

/// The tools that a session offers, in their order.
#[derive(Clone)]
pub struct Toolbox {
    tools: Arc<[Arc<dyn AgentTool>]>,
}

impl Toolbox {
    /// Returns all tools.
    pub fn standard() -> Self {
        Self::of(standard())
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

    /// Returns the tools with these names in the usual order, or the text of an error that lists those there are.
    pub fn named(names: &[String]) -> Result<Self, String> {
        let all = Self::standard();
        if let Some(unknown) = names.iter().find(|name| all.get(name).is_none()) {
            let known = all.known();
            return Err(format!("there is no tool {unknown}; choose from {known}"));
        }
        let tools = all.tools.iter();
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
pub(crate) fn is_of_files(tool: &str) -> bool {
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
