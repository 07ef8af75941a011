//! `write`: a file's whole content.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::diff;
use super::edit::text_of;
use super::file_tool::FileTool;
use super::replace::replace;
use crate::context::ToolContext;
use crate::file::{CommitPoint, Target};
use crate::output::ToolOutput;
use crate::text::count;
use crate::tool::{Concurrency, PathArgument, ToolKind, ToolMeta};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file, from the workspace on or absolute.
    path: String,
    /// All that the file is to hold.
    content: String,
}

/// The tool.
pub(super) const WRITE: FileTool<Arguments> = FileTool {
    name: "write",
    description: "Makes a file, or replaces all that is in it. Missing folders are made. To change a part of a \
         file, use edit.",
    meta: ToolMeta {
        kind: ToolKind::Edit,
        read_only: false,
        concurrency: Concurrency::WithOtherPaths,
        path: Some(PathArgument::File),
        ..ToolMeta::READ
    },
    work: put,
};

fn put(
    arguments: &Arguments,
    context: &ToolContext,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let Arguments { path, content } = arguments;
    let describe = |reason: String| format!("cannot write {path}: {reason}");
    let place = context.workspace.locate_to_change(path)?;
    if path.ends_with('/') {
        return Err(describe("names a folder; name a file in it".to_owned()));
    }
    let target = Target::at(&place).map_err(describe)?;
    let before = match &target {
        Target::New => Some(String::new()),
        Target::Old(_) => text_of(&place, context.limits.edit_bytes),
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
        diff::bounded(diff, &context.limits, &context.redactor)
    });
    let details = json!({
        "new": is_new,
        "bytes": content.len(),
        "lines": content.lines().count(),
        "diff": diff,
    });
    Ok(ToolOutput::text(text).with_details(details))
}
