//! `ls`: the names in a folder.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::file_tool::FileTool;
use super::listing::Listing;
use super::walk::list;
use crate::context::ToolContext;
use crate::file::CommitPoint;
use crate::kind::Kind;
use crate::output::ToolOutput;
use crate::text::{count, one_line, reason};
use crate::tool::{PathArgument, ToolMeta};

/// The default number of names shown.
const SHOWN: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The folder, from the workspace on or absolute. Without it, the workspace.
    path: Option<String>,
    /// How many names to show: 1000 when nothing is said.
    limit: Option<NonZeroUsize>,
}

/// The tool.
pub(super) const LS: FileTool<Arguments> = FileTool {
    name: "ls",
    description: "Lists a folder by name, hidden and ignored files included: folders end in /, links show where they \
         lead, files have their size.",
    meta: ToolMeta {
        path: Some(PathArgument::Folder),
        ..ToolMeta::READ
    },
    work: show,
};

fn show(
    arguments: &Arguments,
    context: &ToolContext,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let place = context.workspace.locate_or_top(arguments.path.as_deref())?;
    let shown = arguments.path.as_deref().unwrap_or(".");
    let describe = |reason: String| format!("cannot list {shown}: {reason}");
    let kind = place.kind().map_err(|error| describe(reason(&error)))?;
    kind.check_folder()
        .map_err(|error| describe(reason(&error)))?;
    let folder = place.folder().map_err(|error| describe(reason(&error)))?;
    let listed = list(&folder, commit).map_err(|error| describe(reason(&error)))?;
    let total = listed.names.len();
    let limit = arguments.limit.map_or(SHOWN, NonZeroUsize::get);
    let mut listing = Listing::new(&context.limits);
    for (name, kind) in listed.names.iter().take(limit) {
        if commit.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let mut line = one_line(&name.to_string_lossy());
        match kind {
            Kind::Folder => line.push('/'),
            Kind::File => {
                if let Ok(found) = folder.symlink_metadata(name) {
                    let bytes = usize::try_from(found.len()).unwrap_or(usize::MAX);
                    line.push_str(&format!(" ({})", count(bytes, "byte")));
                }
            }
            Kind::Link => {
                let target = folder.read_link_contents(name);
                let target = target.map(|target| one_line(&target.to_string_lossy()));
                line.push_str(&format!(" -> {}", target.as_deref().unwrap_or("?")));
            }
            Kind::Pipe | Kind::Socket | Kind::Device | Kind::Other => {
                line.push_str(&format!(" ({})", kind.name()));
            }
        }
        if !listing.add(&line) {
            break;
        }
    }
    let lines = listing.lines();
    let mut notices = Vec::new();
    if total == 0 {
        notices.push("the folder is empty".to_owned());
    }
    if lines < total || listed.more {
        let more = if listed.more { "more than " } else { "" };
        let hint = match listing.is_full() {
            true => "use find with a pattern",
            false => "set limit to see more, or use find with a pattern",
        };
        notices.push(format!("{lines} of {more}{total} names are shown; {hint}"));
    }
    let details = json!({ "entries": total, "shown": lines });
    Ok(ToolOutput::text(listing.into_text(&notices)).with_details(details))
}
