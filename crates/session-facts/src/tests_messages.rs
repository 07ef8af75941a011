//! Messages that tests of facts are made of, those of compaction-core too.

use std::sync::Arc;

use session_facts::SourceMessage;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, AssistantMessage, Block, Content, EntryId, StopReason, ToolCall,
    ToolResultMessage, UserMessage,
};

pub fn source(id: &str, message: AgentMessage) -> SourceMessage {
    SourceMessage {
        entry_id: EntryId::new(id),
        message: Arc::new(message),
    }
}

pub fn user(id: &str, text: &str) -> SourceMessage {
    let content = Content::Text(text.to_owned());
    source(
        id,
        AgentMessage::User(UserMessage {
            content,
            timestamp: None,
        }),
    )
}

pub fn answer(id: &str, blocks: Vec<Block>, stop_reason: StopReason) -> SourceMessage {
    let message = AssistantMessage {
        content: Content::Blocks(blocks),
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: None,
        stop_reason,
        error_message: None,
        timestamp: None,
    };
    source(id, AgentMessage::Assistant(message))
}

pub fn says(id: &str, text: &str) -> SourceMessage {
    answer(id, vec![Block::text(text)], StopReason::Stop)
}

/// Says something and calls a tool.
pub fn says_and_edits(id: &str, text: &str, path: &str) -> [SourceMessage; 2] {
    let arguments = serde_json::json!({ "path": path, "oldText": "old", "newText": "new" });
    let call = ToolCall {
        id: format!("call-{id}"),
        name: "edit".to_owned(),
        arguments: Some(RawJson::parse(&arguments.to_string()).unwrap()),
        signature: None,
    };
    let blocks = vec![Block::text(text), Block::ToolCall(call)];
    [
        answer(id, blocks, StopReason::ToolUse),
        gives(&format!("{id}r"), id, "edit", "done", false),
    ]
}

pub fn calls(id: &str, name: &str, arguments: &str) -> SourceMessage {
    let call = ToolCall {
        id: format!("call-{id}"),
        name: name.to_owned(),
        arguments: Some(RawJson::parse(arguments).unwrap()),
        signature: None,
    };
    answer(id, vec![Block::ToolCall(call)], StopReason::ToolUse)
}

pub fn gives(id: &str, call: &str, name: &str, text: &str, is_error: bool) -> SourceMessage {
    let message = ToolResultMessage {
        tool_call_id: format!("call-{call}"),
        tool_name: name.to_owned(),
        content: Content::Blocks(vec![Block::text(text)]),
        is_error,
        timestamp: None,
    };
    source(id, AgentMessage::ToolResult(message))
}

pub fn runs(id: &str, command: &str, output: &str, is_error: bool) -> [SourceMessage; 2] {
    let result = format!("{id}r");
    let arguments = serde_json::json!({ "command": command }).to_string();
    [
        calls(id, "bash", &arguments),
        gives(&result, id, "bash", output, is_error),
    ]
}

pub fn edits(id: &str, path: &str, new: &str) -> [SourceMessage; 2] {
    let result = format!("{id}r");
    let arguments = serde_json::json!({ "path": path, "oldText": "old", "newText": new });
    [
        calls(id, "edit", &arguments.to_string()),
        gives(&result, id, "edit", "done", false),
    ]
}
