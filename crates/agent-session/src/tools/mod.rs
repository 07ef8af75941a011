//! The tools that look into the session itself: the list of what is to be done, and finding again what was said.

pub mod asking;
mod earlier;
mod recall;
pub mod recalling;
#[cfg(all(test, unix))]
mod tests;
mod todo;

use std::sync::Arc;

use agent_tools::Toolbox;

/// Returns every tool that a session can offer, in the order in which models see them.
pub fn standard_tools() -> Toolbox {
    Toolbox::builtin().with(&[
        Arc::new(todo::Todo),
        Arc::new(recall::RecallTool),
        Arc::new(recall::RecallReadTool),
    ])
}
