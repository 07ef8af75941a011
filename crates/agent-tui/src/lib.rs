//! A terminal for running coding-agent sessions: chat, approvals, compaction, the session tree.
//!
//! The core is pure: [`update`](fn@update) takes an [`Input`] into the [`State`] and returns [`Action`]s, and
//! [`view`](fn@view) draws the state into a frame. [`run`] is the thin loop that connects both with a terminal and a
//! session. It uses the public interface of `agent-session` alone.
//!
//! Finished output is printed above a viewport at the end of the terminal's scrollback, which stays the terminal's own.
//! Text of models, tools and files is data: no control character of it reaches the terminal.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod block;
mod command;
mod complete;
mod driver;
mod editor;
mod external;
mod gauge;
mod help;
mod live;
mod markdown;
mod matching;
mod menu;
mod pager;
mod picker;
mod plain;
mod preview;
mod report;
mod review;
mod runtime;
mod screen;
mod state;
mod status;
mod text;
mod theme;
mod transcript;
mod tree;
mod update;
mod view;
mod wanted;

pub use driver::{Ended, Host, Options, OtherModels};
pub use picker::Choice;
pub use report::{Built, Environment, Report, build};
pub use runtime::run;
pub use screen::restore;
pub use state::{Action, Input, Listed, Next, Purpose, Setup, State, UserCommand, Where};
pub use theme::Theme;
pub use update::update;
pub use view::{height, view};

#[cfg(test)]
mod tests;
