//! What a provider refuses of the context leaves it, so that it does not fail every later request.

use llm_providers::ProviderErrorKind;
use session_model::{AgentMessage, Block, Content, ContextEditDraft, EntryDraft, EntryId};

use crate::prompts;
use crate::runtime::AgentSession;
use crate::runtime::answer::ModelResponse;

impl AgentSession {
    /// Takes out of the context what an answer was refused for. Returns false where that is nothing.
    ///
    /// Of images, those leave first that no provider takes; all of them only when others are refused.
    pub(super) async fn leave_out_rejected(&mut self, response: &ModelResponse) -> bool {
        let (what, edited) = match response.refused {
            Some(ProviderErrorKind::ThinkingRejected) => {
                ("thinking", self.edits(&|_, block| without_thinking(block)))
            }
            Some(ProviderErrorKind::ImageRejected) => {
                let bad =
                    |block: &Block| matches!(block, Block::Image(image) if image.flaw().is_some());
                let bad = self.edits(&|id, block| without_image(id, block, &bad));
                let all = || self.edits(&|id, block| without_image(id, block, &|_| true));
                ("images", if bad.is_empty() { all() } else { bad })
            }
            Some(_) | None => return false,
        };
        if edited.is_empty() {
            return false;
        }
        let ids: Vec<&str> = edited.iter().map(|edit| &*edit.target).collect();
        let mut names = ids.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        if ids.len() > 5 {
            names.push_str(", ...");
        }
        let error = response.message.error_message.as_deref();
        let notice = format!(
            "{}; the {what} of {} ({names}) left the context, and the request is sent again",
            error.unwrap_or_default(),
            match ids.len() {
                1 => "1 entry".to_owned(),
                count => format!("{count} entries"),
            }
        );
        let edits = edited
            .into_iter()
            .map(|edit| EntryDraft::ContextEdit(edit).into());
        let written = self.append(edits.collect()).await.is_ok();
        if written {
            self.events.notice(notice);
        }
        written
    }

    /// Returns the edits that change blocks of the context as `change` says: `None` keeps a block, and no block takes
    /// its place where it returns nothing.
    fn edits(
        &self,
        change: &dyn Fn(&EntryId, &Block) -> Option<Option<Block>>,
    ) -> Vec<ContextEditDraft> {
        let view = self.view();
        let messages = view.context.messages();
        let edits = messages.filter_map(|(id, message)| {
            let Content::Blocks(blocks) = editable(message)? else {
                return None;
            };
            let changes: Vec<_> = blocks.iter().map(|block| change(id, block)).collect();
            changes.iter().any(Option::is_some).then(|| {
                let blocks = blocks.iter().zip(changes);
                let blocks: Vec<Block> = blocks
                    .filter_map(|(block, change)| change.unwrap_or_else(|| Some(block.clone())))
                    .collect();
                ContextEditDraft {
                    target: id.clone(),
                    replacement: (!blocks.is_empty()).then_some(Content::Blocks(blocks)),
                }
            })
        });
        edits.collect()
    }
}

/// Returns the content of a message that an edit may change.
fn editable(message: &AgentMessage) -> Option<&Content> {
    match message {
        AgentMessage::User(message) | AgentMessage::Developer(message) => Some(&message.content),
        AgentMessage::Assistant(message) => Some(&message.content),
        AgentMessage::ToolResult(message) => Some(&message.content),
        AgentMessage::Custom(message) => Some(&message.content),
        _ => None,
    }
}

fn without_thinking(block: &Block) -> Option<Option<Block>> {
    let mut bare = block.clone();
    let signature = match &mut bare {
        Block::Thinking(_) => return Some(None),
        Block::Text(text) => &mut text.signature,
        Block::ToolCall(call) => &mut call.signature,
        Block::Image(_) | Block::Other { .. } => return None,
    };
    signature.take().map(|_| Some(bare))
}

fn without_image(
    id: &EntryId,
    block: &Block,
    is_bad: &dyn Fn(&Block) -> bool,
) -> Option<Option<Block>> {
    let rejected = matches!(block, Block::Image(_)) && is_bad(block);
    rejected.then(|| Some(Block::text(prompts::rejected_image(id))))
}
