//! The session that is written while it is lived in: born late, locked, and never without what was said.
//!
//! A new session has no file until the first answer is there; what was typed before, and what waits to be
//! sent, is in a pending file beside it. A message waits under the id that its entry will have, so
//! whatever happens between the two files, it is sent once.

mod grown;
mod live;
mod open;
mod pending;
mod sidecars;
mod unborn;

use serde::{Deserialize, Serialize};
use session_model::{EntryDraft, EntryId};

pub use live::LiveStore;
#[cfg(test)]
pub(crate) use pending::pending_path;
pub(crate) use pending::{Held, read_pending, session_path};
pub(crate) use sidecars::{is_sidecar, sidecars};

/// A message that waits to be sent: typed while the agent was busy, or before the session's file exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// The id that its entry will have.
    pub id: EntryId,
    /// What the user typed.
    pub text: String,
    /// When it goes out.
    pub delivery: Delivery,
}

/// When a message that waits goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// As a prompt of its own, once the agent is idle.
    Prompt,
    /// Into the turn that runs, after the tools that run.
    Steer,
    /// When the turn that runs is done.
    FollowUp,
}

impl Delivery {
    /// Returns the name that events use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Steer => "steer",
            Self::FollowUp => "follow_up",
        }
    }
}

/// An entry to append: a draft, with an id of its own where one was given out before.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    /// What it says.
    pub draft: EntryDraft,
    /// Its id; `None` lets the store choose one.
    pub id: Option<EntryId>,
}

impl From<EntryDraft> for NewEntry {
    fn from(draft: EntryDraft) -> Self {
        Self { draft, id: None }
    }
}

#[cfg(test)]
mod tests;
