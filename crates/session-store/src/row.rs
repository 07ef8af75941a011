//! What a list tells of a session.

use session_model::Timestamp;

use crate::locator::Locator;

/// What a list tells of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Where it is.
    pub locator: Locator,
    /// Its id.
    pub id: String,
    /// The folder that it works in.
    pub cwd: String,
    /// When it began, if its header says so.
    pub started: Option<Timestamp>,
    /// When it was last written.
    pub modified: Timestamp,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// The name that was given to it in its beginning.
    pub name: Option<String>,
    /// What the user said first.
    pub first_prompt: Option<String>,
    /// A program that is running has it open.
    pub locked: bool,
    /// False when there was no answer yet, so that only a list finds it.
    pub persisted: bool,
    /// How many messages wait to be sent.
    pub pending: usize,
}
