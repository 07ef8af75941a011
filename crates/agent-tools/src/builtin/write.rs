//! `write`: a file's whole content.

use llm_providers::{BoxFuture, Redactor};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{parse, schema};
use super::diff;
use super::edit::text_of;
use super::replace::replace;
use crate::context::{ToolContext, ToolLimits};
use crate::file::{CommitPoint, Target, blocking};
use crate::output::ToolOutput;
use crate::text::count;
use crate::tool::{Concurrency, PathArgument, Tool, ToolKind, ToolMeta};
use crate::workspace::Workspace;

/// The tool.
pub(super) struct Write;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, from the workspace on or absolute.
    path: String,
    /// All that the file is to hold.
    content: String,
}

impl Tool for Write {
    fn name(&self) -> &str {
        "write"
    }

    fn description(&self) -> &str {
        "Makes a file, or replaces all that is in it. Missing folders are made. To change a part of a \
         file, use edit."
    }

    fn parameters(&self) -> Value {
        schema::<Arguments>()
    }

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            kind: ToolKind::Edit,
            read_only: false,
            concurrency: Concurrency::WithOtherPaths,
            path: Some(PathArgument::File),
            ..ToolMeta::READ
        }
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments: Arguments = match parse(arguments) {
                Ok(arguments) => arguments,
                Err(message) => return ToolOutput::error(message),
            };
            let workspace = context.workspace.clone();
            let limits = context.limits;
            let redactor = context.redactor.clone();
            blocking(self.name(), context, move |commit| {
                put(&workspace, &arguments, &limits, &redactor, commit)
            })
            .await
        })
    }
}

fn put(
    workspace: &Workspace,
    arguments: &Arguments,
    limits: &ToolLimits,
    redactor: &Redactor,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let Arguments { path, content } = arguments;
    let describe = |reason: String| format!("cannot write {path}: {reason}");
    let place = workspace.locate_to_change(path)?;
    if path.ends_with('/') {
        return Err(describe("names a folder; name a file in it".to_owned()));
    }
    let target = Target::at(&place).map_err(describe)?;
    let before = match &target {
        Target::New => Some(String::new()),
        Target::Old(_) => text_of(&place, limits.edit_bytes),
    };
    let lost = replace(&place, content.as_bytes(), &target, commit, || Ok(())).map_err(describe)?;
    let (is_new, verb) = match target {
        Target::New => (true, "made"),
        Target::Old(_) => (false, "replaced"),
    };
    let bytes = count(content.len(), "byte");
    let lines = count(content.lines().count(), "line");
    let notice = lost.map_or(String::new(), |lost| format!("\n[{lost}]"));
    let text = format!("{verb} {path}: {bytes}, {lines}{notice}");
    let diff = before.map(|before| {
        let diff = diff::unified(path, &before, content);
        diff::bounded(diff, limits, redactor)
    });
    let details = json!({
        "new": is_new,
        "bytes": content.len(),
        "lines": content.lines().count(),
        "diff": diff,
    });
    Ok(ToolOutput::text(text).with_details(details))
}
