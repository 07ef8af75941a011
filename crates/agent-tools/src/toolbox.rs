//! The tools that a session offers, and the one way in which they are called.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use llm_providers::Tool as ToolSpec;
use serde_json::{Map, Value};
use session_model::ToolCall;
use session_model::json::RawJson;

use crate::approval::{Policy, Question};
use crate::builtin;
use crate::context::ToolContext;
use crate::output::ToolOutput;
use crate::text;
use crate::tool::{Tool, ToolMeta};
use crate::workspace::Workspace;

/// The quoted length of an unknown tool's name, in characters.
const NAME_CHARS: usize = 100;

/// The tools that a session offers, in their order.
#[derive(Clone)]
pub struct Toolbox {
    tools: Arc<[Arc<dyn Tool>]>,
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

    /// Returns a toolbox with these tools, for tools with a state.
    pub fn of(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self {
            tools: tools.into(),
        }
    }

    /// Returns these tools followed by `more`.
    #[must_use]
    pub fn with(&self, more: &[Arc<dyn Tool>]) -> Self {
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
    pub fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.tools.iter();
        let specs = tools.filter_map(|tool| {
            Some(ToolSpec {
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

    /// Returns what is known about the calls of `name`; [`ToolMeta::UNKNOWN`] when there is no such tool.
    pub fn meta(&self, name: &str) -> ToolMeta {
        self.get(name).map_or(ToolMeta::UNKNOWN, Tool::meta)
    }

    /// Returns the paths that a call names, as it names them.
    pub fn paths(&self, call: &ToolCall) -> Vec<String> {
        let tool = self
            .get(&call.name)
            .filter(|tool| tool.meta().path.is_some());
        let arguments = call.arguments.as_ref();
        let named = tool.zip(arguments);
        named.map_or_else(Vec::new, |(tool, raw)| tool.paths(&raw.to_value()))
    }

    /// Splits calls into groups, in their order: the calls of one group may run at the same time, and a group begins
    /// when the one before it has ended.
    pub fn concurrent_groups<'a>(
        &self,
        calls: &'a [ToolCall],
        workspace: &Workspace,
    ) -> Vec<Vec<&'a ToolCall>> {
        let mut groups: Vec<Vec<&ToolCall>> = Vec::new();
        // Properties and files of the calls of the last group.
        let mut running: Vec<(ToolMeta, Vec<PathBuf>)> = Vec::new();
        for call in calls {
            let meta = self.meta(&call.name);
            let paths = self.paths(call).into_iter().map(|path| {
                // One file has one name, however the call writes it.
                let resolved = workspace.resolve(&path);
                resolved.unwrap_or_else(|_| PathBuf::from(path))
            });
            let paths: Vec<PathBuf> = paths.collect();
            let fits = running.iter().all(|(other, others)| {
                meta.may_run_with(other, paths.iter().any(|path| others.contains(path)))
            });
            match groups.last_mut() {
                Some(group) if fits => group.push(call),
                _ => {
                    groups.push(vec![call]);
                    running.clear();
                }
            }
            running.push((meta, paths));
        }
        groups
    }

    /// Runs one call, once it is allowed. Never fails: an error is a result that describes to the model what to do.
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
            let what = "the arguments are not a JSON object; send one with the parameters as keys";
            return ToolOutput::error(what);
        }
        if context.cancel.is_cancelled() {
            return ToolOutput::cancelled();
        }
        for (subject, otherwise) in permissions(tool, &arguments, &context.workspace) {
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

    fn get(&self, name: &str) -> Option<&dyn Tool> {
        let mut tools = self.tools.iter();
        let found = tools.find(|tool| tool.name() == name)?;
        Some(&**found)
    }

    fn known(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }
}

/// Returns the questions of a call as rules match them, each with the policy that holds if none is set; none for a call
/// that cannot run, since its error says why.
fn permissions(tool: &dyn Tool, arguments: &Value, workspace: &Workspace) -> Vec<(String, Policy)> {
    let meta = tool.meta();
    if meta.needs_approval {
        let subject = tool.approval_subject(arguments);
        return subject
            .map(|subject| (subject, Policy::Ask))
            .into_iter()
            .collect();
    }
    if meta.path.is_none() {
        return vec![(arguments.to_string(), Policy::Allow)];
    }
    let mut paths = tool.paths(arguments);
    if paths.is_empty() {
        paths.push(".".to_owned());
    }
    // A file has one name in rules, however the call writes it.
    let subjects = paths.iter().map(|path| workspace.named(path));
    subjects.map(|subject| (subject, Policy::Allow)).collect()
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
