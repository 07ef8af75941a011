//! Sessions of `agent-session` in editors, by version 1 of the
//! [Agent Client Protocol](https://agentclientprotocol.com).
//!
//! [`serve`] reads the requests of an editor from a channel of lines and writes lines to another one. What it needs of
//! a program, opening and listing sessions, is the trait [`Sessions`].
//!
//! The messages are types of this crate, of which the protocol's own client is a test (`cargo xtask ci editor`). The
//! protocol's library is not used, because it changes the order of the members of every JSON document of a program that
//! it is linked into (docs/decisions.md, 18).
//!
//! **Invariants.** Every message of an editor is answered or ignored, never a panic. A request that changes a session
//! goes through its [handle](session_protocol::SessionHandle). When the editor disconnects, every session is closed.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod editor;
mod history;
mod message;
mod params;
mod permission;
mod prompt;
mod running;
mod server;
mod tool;
mod update;

use std::path::PathBuf;

use agent_session::BuiltSession;
use agent_tools::mcp::ServerConfig;
use session_protocol::{EventReceiver, SessionHandle};

pub use server::serve;

/// A line that came from the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Its bytes, without the line break.
    Whole(Vec<u8>),
    /// It was longer than the limit, and was dropped.
    TooLong,
}

/// The requested session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A new one.
    New,
    /// The one of this id.
    Id(String),
}

/// The options for opening a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// The requested session.
    pub wanted: Wanted,
    /// The folder that its tools work in.
    pub cwd: PathBuf,
    /// The tool servers that the editor names.
    pub servers: Vec<ServerConfig>,
}

/// A session that is open.
pub struct Opened {
    /// The session, which is run by [`serve`].
    pub session: BuiltSession,
    /// Commands it.
    pub handle: SessionHandle,
    /// Its events.
    pub events: EventReceiver,
    /// The folder that its tools work in.
    pub cwd: PathBuf,
}

/// A session that could be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// The folder that it works in.
    pub cwd: String,
    /// Its name, or the user's first message.
    pub title: Option<String>,
    /// When it was last written, in ISO 8601.
    pub updated: String,
}

/// The sessions that a program offers to editors.
pub trait Sessions {
    /// Opens a session.
    ///
    /// # Errors
    /// Why it cannot be opened, in words.
    fn open(&self, opening: &Opening) -> Result<Opened, String>;

    /// Returns the sessions that can be opened, the last written first: those of the project of a folder, or all.
    ///
    /// # Errors
    /// Why they cannot be listed, in words.
    fn list(&self, cwd: Option<&std::path::Path>) -> Result<Vec<Listed>, String>;
}
