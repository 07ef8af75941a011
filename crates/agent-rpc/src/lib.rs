//! Sessions of `agent-session` that a program drives: requests are lines of JSON, and so are answers and events.
//!
//! [`drive`] connects lines and a session. The program around it, which provides other models and documents about a
//! session, implements the trait [`Host`]. Lines come from [`lines_of`] and go to an [`Output`]. [`schema_text`]
//! describes the protocol for programs.
//!
//! **Invariants.** Every request that was read is answered. No answer comes before the events that led to it. A slow
//! reader does not block the session; after some hundred unread answers its requests wait. Keys are removed from the
//! output.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod driver;
mod input;
mod output;
mod parse;
mod protocol;
mod reference;
mod translate;

#[cfg(test)]
mod tests;

use futures_util::future::LocalBoxFuture;
use session_protocol::Snapshot;
use summarize::models::LiveModels;

pub use driver::{Ended, Session, drive};
pub use input::{Line, lines_of};
pub use output::{Output, write_lines};
pub use reference::{SAMPLES, request_schema, schema, schema_text, type_of};

/// Services of the program around a session.
pub trait Host {
    /// Returns the models with which `name` answers from now on.
    ///
    /// # Errors
    /// Why there are none, in words.
    fn models(&self, name: &str) -> Result<LiveModels, String>;

    /// Returns a document about a session, or why there is none.
    fn document<'a>(
        &'a self,
        wanted: Document,
        session: &'a Snapshot,
    ) -> LocalBoxFuture<'a, Result<serde_json::Value, String>>;
}

/// A document about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// The messages that the model would see.
    Context,
    /// The plan of a compaction, which is not run.
    Plan {
        /// What its summary should focus on.
        focus: Option<String>,
    },
    /// Entries and branches.
    Tree,
}
