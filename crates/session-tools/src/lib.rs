//! What a session brings to its tools: those that look into the session itself (`todo`, `recall`, `recall_read`), the
//! policies and secrets of all tools, and what touched files hold now.

pub mod asking;
mod earlier;
mod recall;
pub mod recalling;
pub mod restoring;
pub mod rights;
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
