//! `find`: files and folders by their names.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::file_tool::FileTool;
use super::listing::Listing;
use super::walk::{Pattern, walk};
use crate::context::ToolContext;
use crate::file::CommitPoint;
use crate::kind::Kind;
use crate::output::ToolOutput;
use crate::text::reason;
use crate::tool::{PathArgument, ToolKind, ToolMeta};

/// The default number of names shown.
const SHOWN: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A pattern for names: *.rs for names anywhere below the folder, src/**/*.rs for paths from the folder on.
    pattern: String,
    /// The folder to look in, from the workspace on or absolute. Without it, the workspace.
    path: Option<String>,
    /// How many names to show: 1000 when nothing is said.
    limit: Option<NonZeroUsize>,
}

/// The tool.
pub(super) const FIND: FileTool<Arguments> = FileTool {
    name: "find",
    description: "Finds files and folders by name, sorted by path; folders end in /. What .gitignore names is left out, \
         hidden files are not; links are not followed.",
    meta: ToolMeta {
        kind: ToolKind::Search,
        path: Some(PathArgument::Folder),
        ..ToolMeta::READ
    },
    work: find,
};

fn find(
    arguments: &Arguments,
    context: &ToolContext,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let pattern = Pattern::new(&arguments.pattern);
    let pattern = pattern.map_err(|reason| format!("pattern: {reason}"))?;
    let place = context.workspace.locate_or_top(arguments.path.as_deref())?;
    let shown = arguments.path.as_deref().unwrap_or(".");
    let describe = |reason: String| format!("cannot look in {shown}: {reason}");
    let kind = place.kind().map_err(|error| describe(reason(&error)))?;
    kind.check_folder()
        .map_err(|error| describe(reason(&error)))?;
    let limit = arguments.limit.map_or(SHOWN, NonZeroUsize::get);
    let mut listing = Listing::new(&context.limits);
    let mut more = false;
    let passed = walk(&place, commit, |found| {
        if !pattern.matches(&found.names) {
            return ControlFlow::Continue(());
        }
        let mut line = context.workspace.shown(found.place.path());
        if found.kind == Kind::Folder {
            line.push('/');
        }
        more = listing.lines() == limit || !listing.add(&line);
        match more {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let passed = passed.map_err(describe)?;
    let lines = listing.lines();
    let mut notices = Vec::new();
    if lines == 0 {
        notices.push("no name matches; ignored files were not looked at".to_owned());
    }
    if more {
        let hint = match listing.is_full() {
            true => "narrow the pattern, or name a folder in path",
            false => "narrow the pattern, name a folder in path, or set limit",
        };
        notices.push(format!(
            "the first {lines} are shown and there are more; {hint}"
        ));
    }
    notices.extend(passed.notices());
    let details = json!({ "shown": lines, "more": more });
    Ok(ToolOutput::text(listing.into_text(&notices)).with_details(details))
}
