//! The messages that summaries are made from.

use std::sync::Arc;

use session_model::{AgentMessage, EntryId};

/// A message of the conversation and the entry that it comes from.
#[derive(Debug, Clone)]
pub struct SourceMessage {
    /// The entry.
    pub entry_id: EntryId,
    /// The message as the summarizer sees it, context edits applied.
    pub message: Arc<AgentMessage>,
}
