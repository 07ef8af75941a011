//! Calls that wait for their results while everything before them is summarized.

use std::collections::BTreeSet;

use session_model::{
    AgentMessage, AssistantMessage, Block, Content, EntryId, SessionContext, StopReason,
};

/// Returns the answer at the end of a context whose calls have no results yet: its calls, with the signed thinking
/// before them, and its entry; its text is in the summary. Calls that have results already are left out.
pub(crate) fn pending_calls(context: &SessionContext) -> Option<(EntryId, AssistantMessage)> {
    let mut answered: BTreeSet<&str> = BTreeSet::new();
    let mut last = None;
    for (id, message) in context.messages().rev() {
        match &**message {
            AgentMessage::ToolResult(result) => answered.insert(&result.tool_call_id),
            AgentMessage::Assistant(answer) => {
                last = Some((id, answer));
                break;
            }
            // A message after a call shows that its result is no longer expected.
            AgentMessage::System(_)
            | AgentMessage::User(_)
            | AgentMessage::Developer(_)
            | AgentMessage::BashExecution(_)
            | AgentMessage::Custom(_)
            | AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_)
            | AgentMessage::Other { .. } => break,
        };
    }
    let (id, answer) = last?;
    match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse | StopReason::Other(_) => {}
        // Calls of an answer that failed or was cut off are not carried out.
        StopReason::Length | StopReason::Error | StopReason::Aborted => return None,
    }
    let blocks = answer.content.blocks().iter();
    let kept = blocks.filter(|block| match block {
        Block::ToolCall(call) => !answered.contains(call.id.as_str()),
        Block::Thinking(thinking) => thinking.signature.is_some() || thinking.redacted,
        Block::Text(_) | Block::Image(_) | Block::Other { .. } => false,
    });
    let kept = Content::Blocks(kept.cloned().collect());
    kept.tool_calls().next()?;
    let answer = AssistantMessage {
        content: kept,
        // The billed usage belongs to a context that no longer exists.
        usage: None,
        ..answer.clone()
    };
    Some((id.clone(), answer))
}
