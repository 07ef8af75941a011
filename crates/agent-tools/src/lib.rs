//! Tools for coding agents.
//!
//! [`Tool`] is what a model can call; [`Toolbox`] offers tools and runs calls: it checks the arguments, asks
//! [`approval`] where a call needs it, and cleans what comes back. The built-in tools stay inside a [`Workspace`];
//! [`mcp`] starts servers of the Model Context Protocol and offers their tools next to them.
//!
//! ```
//! use agent_tools::Toolbox;
//!
//! let tools = Toolbox::builtin();
//! assert!(tools.names().any(|name| name == "read"));
//! ```
//!
//! **Invariants.** No tool leaves the workspace, even if links change meanwhile. A call that needs approval runs only
//! after an answer. Output is bounded, without control characters and without known secrets. A call never fails: errors
//! are results that describe to the model what to do.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod approval;
mod builtin;
mod context;
mod file;
mod kind;
mod live;
pub mod mcp;
mod output;
pub mod text;
mod tool;
mod toolbox;
pub mod workspace;

pub use builtin::{image_in_base64, parse as parse_arguments, schema as arguments_schema};
pub use context::{Archive, History, ToolContext, ToolLimits};
pub use file::{Identity, blocking, open_regular};
pub use live::LiveOutput;
pub use output::ToolOutput;
pub use text::reason;
pub use tool::{Concurrency, Idempotency, PathArgument, Tool, ToolKind, ToolMeta};
pub use toolbox::Toolbox;
pub use workspace::{Around, Workspace, WorkspaceError};
