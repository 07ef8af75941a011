//! The messages that summaries are made from.

use std::sync::Arc;

use session_model::{AgentMessage, EntryId};

/// The custom type of the message that opens the new session.
pub const HANDOFF_MESSAGE: &str = "handoff";

/// A message of the conversation and the entry that it comes from.
#[derive(Debug, Clone)]
pub struct SourceMessage {
    /// The entry.
    pub entry_id: EntryId,
    /// The message as the summarizer sees it, context edits applied.
    pub message: Arc<AgentMessage>,
}
