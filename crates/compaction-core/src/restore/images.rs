//! The newest images of a context: pasted by users, returned by tools, restored before.

use session_model::{
    AgentMessage, Block, CallEvent, Content, EntryId, ImageBlock, SessionContext, answered_calls,
};

use crate::restore::before::images_brought_back;
use crate::restore::turns_before;
use crate::restore::words::one_line;
use session_facts::RESTORED_CONTEXT;

/// The longest arguments that are shown with an image, in characters.
const ARGUMENT_CHARS: usize = 200;

/// The longest name of a tool that is shown, in characters.
const TOOL_CHARS: usize = 80;

/// The most bytes of one image that are sent, as base64: what the strictest provider takes.
const IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// An image and its origin.
#[derive(Clone)]
pub(super) struct Found<'a> {
    pub image: &'a ImageBlock,
    pub entry_id: EntryId,
    pub tool: Option<String>,
    pub arguments: Option<String>,
    pub turn: usize,
}

/// Returns the `most` newest images that can be sent, newest first, with those too large for that which are newer than
/// the last of them, and how many turns there are.
pub(super) fn newest_images(context: &SessionContext, most: usize) -> (Vec<Found<'_>>, usize) {
    let messages: Vec<_> = context.messages().collect();
    let is_prompt = |message: &AgentMessage| matches!(message, AgentMessage::User(_));
    let prompts = messages.iter().filter(|(_, message)| is_prompt(message));
    let turns = turns_before(context).saturating_add(prompts.count());
    let said = messages
        .iter()
        .map(|(_, message)| CallEvent::from(&***message));
    let calls = answered_calls(said);
    let mut found = Vec::new();
    let mut sendable = 0;
    let mut turn = turns;
    for (place, (id, message)) in messages.iter().enumerate().rev() {
        if sendable >= most {
            break;
        }
        let mut add = |image, tool: Option<String>, arguments: Option<String>, turn: usize| {
            if sendable >= most {
                return;
            }
            sendable += usize::from(!is_too_large(image));
            found.push(Found {
                image,
                entry_id: (*id).clone(),
                tool,
                arguments,
                turn: turn.max(1),
            });
        };
        match &***message {
            AgentMessage::User(said) => {
                let images = images(&said.content);
                images.rev().for_each(|image| add(image, None, None, turn));
            }
            AgentMessage::ToolResult(result) => {
                let call = calls.get(&place);
                let arguments = call.and_then(|call| call.arguments.as_ref()?.get().into());
                let arguments = arguments.map(|text| one_line(text, ARGUMENT_CHARS));
                let tool = one_line(&result.tool_name, TOOL_CHARS);
                let images = images(&result.content).rev();
                images.for_each(|image| add(image, Some(tool.clone()), arguments.clone(), turn));
            }
            AgentMessage::Custom(custom) if custom.custom_type == RESTORED_CONTEXT => {
                let images: Vec<_> = images(&custom.content).collect();
                let mut known = images_brought_back(custom);
                let is_known = known.len() == images.len();
                for image in images.into_iter().rev() {
                    match known.pop().filter(|_| is_known) {
                        Some(before) => add(image, before.tool, before.arguments, before.turn),
                        None => add(image, Some("of an earlier turn".to_owned()), None, turn),
                    }
                }
            }
            AgentMessage::Custom(custom) => {
                let sender = one_line(&custom.custom_type, TOOL_CHARS);
                let images = images(&custom.content).rev();
                images.for_each(|image| add(image, Some(sender.clone()), None, turn));
            }
            AgentMessage::System(_)
            | AgentMessage::Developer(_)
            | AgentMessage::Assistant(_)
            | AgentMessage::BashExecution(_)
            | AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_)
            | AgentMessage::Other { .. } => {}
        }
        turn = turn.saturating_sub(usize::from(is_prompt(message)));
    }
    (found, turns)
}

/// Returns true if an image has more bytes than are sent.
pub(super) fn is_too_large(image: &ImageBlock) -> bool {
    image.data.len() > IMAGE_BYTES
}

fn images(content: &Content) -> impl DoubleEndedIterator<Item = &ImageBlock> {
    content.blocks().iter().filter_map(|block| match block {
        Block::Image(image) if image.has_bytes() => Some(image),
        Block::Image(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolCall(_)
        | Block::Other { .. } => None,
    })
}
