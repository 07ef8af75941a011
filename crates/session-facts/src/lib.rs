//! What the tool calls of a coding-agent session did, in the dialects of several agents: files read and changed, commands
//! with their outcome, commits, todo lists.
//!
//! [`actions`] returns it in order; [`file_calls`], [`CallBody`] and [`touched_in`] are views of the same reading.
//!
//! ```
//! use session_facts::{FileAction, shell_files};
//!
//! let files = shell_files("cd src && rm -f a.rs 2>/dev/null");
//! assert_eq!(files, [(FileAction::Delete, "src/a.rs".to_owned())]);
//! ```
//!
//! **Invariants.** No sentence is read: what is not certain from a call, its arguments and its result is not returned. There
//! is one reader of shell lines (the module `shell`) and one table of argument names (`arguments`). Nothing here does I/O,
//! reads a clock or draws random numbers.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod actions;
mod arguments;
mod code_mode;
mod commands;
mod commits;
mod outcome;
mod path_normalize;
mod seen;
mod shell;
mod shell_files;
mod source;
mod todos;
mod tool_call;
mod touched;

pub use actions::{Action, ActionKind, CommandRun, actions, failing};
pub use commands::CommandRole;
pub use outcome::Outcome;
pub use path_normalize::{below, resolved};
pub use seen::{comparable, content_hash};
pub use shell::{
    Joint, Program, Runner, ShellCommand, Word, base_name, programs, shell_commands, worker,
};
pub use shell_files::{FileAction, shell_files};
pub use source::SourceMessage;
pub use todos::{OpenTodos, TodoItem, TodoState, open_todos, open_todos_in};
pub use tool_call::{CallBody, changes_files, commands_of, file_call, file_calls, plain_tool_name};
pub use touched::{BroughtBack, LastSeen, RESTORED_CONTEXT, TouchedFile, brought_back, touched_in};
