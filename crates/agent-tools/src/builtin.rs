//! The built-in tools: reading, writing, editing and searching files of the workspace, and running commands.
//!
//! A new tool is a file here and a line in the list behind [`Toolbox::builtin`](crate::Toolbox::builtin).

mod arguments;
mod bash;
pub(crate) mod capture;
pub(crate) mod diff;
pub(crate) mod edit;
mod file_tool;
mod find;
mod grep;
mod ignored;
pub(crate) mod image;
mod listing;
mod ls;
mod read;
pub(crate) mod replace;
pub(crate) mod replacement;
pub(crate) mod screen;
mod search;
#[cfg(all(test, unix))]
mod tests;
pub(crate) mod walk;
mod write;

use std::sync::Arc;

use crate::tool::Tool;

pub use arguments::{parse, schema};
pub(crate) use capture::shortened;
pub use image::of_base64 as image_in_base64;

/// Returns the built-in tools, in the order in which models see them.
pub(crate) fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::READ),
        Arc::new(write::WRITE),
        Arc::new(edit::EDIT),
        Arc::new(bash::Bash),
        Arc::new(grep::GREP),
        Arc::new(find::FIND),
        Arc::new(ls::LS),
    ]
}
