//! Blocks of messages, as several formats write them.

use session_model::json::RawJson;
use session_model::{
    AgentMessage, AssistantMessage, Block, CompactionDraft, Content, Cost, EntryDraft, FirstKept,
    MessageDraft, StopReason, Timestamp, Usage, unwrapped_summary,
};

use crate::error::ImportError;

/// An answer of the model, as the formats give it.
#[derive(Default)]
pub(crate) struct Answer {
    pub blocks: Vec<Block>,
    pub api: &'static str,
    pub provider: String,
    pub model: String,
    pub usage: Option<Usage>,
    pub cost: Option<Cost>,
    pub stop: Option<StopReason>,
    pub error: Option<String>,
    pub at: Option<Timestamp>,
}

impl Answer {
    /// Returns the draft of the message; without a reason to stop, its calls tell.
    pub fn draft(self) -> Result<MessageDraft, ImportError> {
        let content = Content::Blocks(self.blocks);
        let calls = content.tool_calls().next().is_some();
        let usual = match calls {
            true => StopReason::ToolUse,
            false => StopReason::Stop,
        };
        let message = AssistantMessage {
            content,
            api: self.api.to_owned(),
            provider: self.provider,
            model: self.model,
            usage: self.usage,
            stop_reason: self.stop.unwrap_or(usual),
            error_message: self.error,
            timestamp: self.at,
        };
        let draft = MessageDraft::new(AgentMessage::Assistant(message))?;
        Ok(match self.cost {
            Some(cost) => draft.with_cost(cost),
            None => draft,
        })
    }
}

/// Returns the image that a `data:` URL holds in base64.
pub(crate) fn image_of_url(url: &str) -> Option<Block> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime = head.strip_suffix(";base64")?;
    let mime = mime.split(';').next().unwrap_or_default();
    mime.starts_with("image/")
        .then(|| Block::image(data, mime.to_owned()))
}

/// Returns whether blocks say nothing.
pub(crate) fn is_blank(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| match block {
        Block::Text(text) => text.text.trim().is_empty(),
        Block::Thinking(_) | Block::Image(_) | Block::ToolCall(_) | Block::Other { .. } => false,
    })
}

/// Returns a compaction of another program.
pub(crate) fn compaction(
    summary: &str,
    first_kept: FirstKept,
    tokens_before: u64,
    details: Option<RawJson>,
    preserve_data: Option<RawJson>,
) -> EntryDraft {
    EntryDraft::Compaction(Box::new(CompactionDraft {
        // Ours, exported and back, is not wrapped twice.
        summary: unwrapped_summary(summary).to_owned(),
        short_summary: None,
        first_kept,
        tokens_before,
        details,
        preserve_data,
        from_extension: true,
        system: None,
    }))
}
