//! Estimates the tokens of a request and an answer: four UTF-16 code units a token, as the pi family measures.

use session_model::json::{canonical_utf16_len, utf16_len};
use session_model::{Block, Content, LlmMessage, SystemMessage};

use crate::request::{Request, Tool};

/// The size of an image, in UTF-16 code units.
const IMAGE_UNITS: usize = 4_800;

/// Returns the tokens of the system prompt, the messages and the tools.
pub fn request_tokens(request: &Request) -> u64 {
    let messages: usize = request.messages.iter().map(message_units).sum();
    let tools: usize = request.tools.iter().map(tool_units).sum();
    tokens(utf16_len(&request.system) + messages + tools)
}

/// Returns the tokens of an answer.
pub fn answer_tokens(content: &[Block]) -> u64 {
    tokens(content.iter().map(block_units).sum())
}

fn tokens(units: usize) -> u64 {
    u64::try_from(units.div_ceil(4)).unwrap_or(u64::MAX)
}

fn message_units(message: &LlmMessage) -> usize {
    let more = match message {
        LlmMessage::System(system) => system_units(system),
        LlmMessage::Developer(_)
        | LlmMessage::User(_)
        | LlmMessage::Assistant(_)
        | LlmMessage::ToolResult(_) => 0,
    };
    more + match message.content() {
        Content::Text(text) => utf16_len(text),
        Content::Blocks(blocks) => blocks.iter().map(block_units).sum(),
    }
}

/// Returns what a system message holds in addition to its content.
fn system_units(system: &SystemMessage) -> usize {
    let sections = system.sections.iter().filter_map(|(_, text)| text.as_ref());
    let sections: usize = sections.map(|text| utf16_len(text)).sum();
    let tools = system.tools_added.iter();
    let tools: usize = tools.map(|tool| canonical_utf16_len(tool.get())).sum();
    sections + tools
}

fn block_units(block: &Block) -> usize {
    match block {
        Block::Text(block) => utf16_len(&block.text),
        Block::Thinking(block) => utf16_len(&block.thinking),
        Block::ToolCall(call) => utf16_len(&call.name) + utf16_len(&call.arguments_text()),
        Block::Image(_) => IMAGE_UNITS,
        Block::Other { .. } => 0,
    }
}

fn tool_units(tool: &Tool) -> usize {
    utf16_len(&tool.name) + utf16_len(&tool.description) + utf16_len(tool.parameters.get())
}
