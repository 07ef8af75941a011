//! Requests, targets and messages for the tests of this protocol.

use serde_json::Value;
use session_model::json::{Members, RawJson};
use session_model::{
    AssistantMessage, Block, Content, ImageBlock, LlmMessage, StopReason, TextBlock, ThinkingBlock,
    ToolCall, ToolResultMessage,
};

use crate::capabilities::Capabilities;
use crate::request::Tool;
use crate::wire::{ApiProtocol, ProviderCompat, Target};

pub(crate) const OPENAI: ProviderCompat = ProviderCompat {
    max_tokens_field: crate::wire::MaxTokensField::MaxTokens,
    developer_role: true,
    stream_usage: true,
    reasoning_field: crate::wire::ReasoningField::None,
    replays_reasoning: false,
    replays_as_reasoning: false,
    eager_tools: false,
    alternating_roles: false,
    short_tool_ids: false,
    openai_extras: true,
    cache_control: crate::wire::CacheControlModels::Never,
    cache_ttl: crate::wire::CacheTtl::FiveMinutes,
    platform: crate::wire::Platform::Plain,
};

pub(crate) const LEAN: ProviderCompat = ProviderCompat {
    developer_role: false,
    openai_extras: false,
    ..OPENAI
};

pub(crate) const THINKS: Capabilities = Capabilities {
    window: Some(400_000),
    max_output: Some(128_000),
    tools: true,
    images: true,
    reasoning: true,
    adaptive_thinking: false,
    levels: None,
    native_standalone: true,
    native_in_band: true,
};

pub(crate) const PLAIN: Capabilities = Capabilities {
    images: false,
    reasoning: false,
    ..THINKS
};

pub(crate) const fn openai(model: &str) -> Target<'_> {
    Target {
        provider: "openai",
        model,
        wire: ApiProtocol::Responses,
        compat: &OPENAI,
        capabilities: &THINKS,
        known: true,
    }
}

pub(crate) const fn llama() -> Target<'static> {
    Target {
        provider: "llama",
        model: "local",
        wire: ApiProtocol::Responses,
        compat: &LEAN,
        capabilities: &PLAIN,
        known: true,
    }
}

/// Returns a body as lines: a field a line, and an input item a line.
pub(crate) fn lines(body: &RawJson) -> String {
    let members = session_model::json::Members::parse(body.get()).expect("a body is an object");
    let mut out = Vec::new();
    for (key, value) in &members.0 {
        if key == "input" {
            let items = Members::parse(body.get()).expect("checked").items("input");
            let items = items.iter().enumerate();
            out.extend(items.map(|(place, item)| format!("input[{place}] {item}")));
        } else {
            out.push(format!("{key}: {value}"));
        }
    }
    out.join("\n")
}

pub(crate) fn raw(value: &Value) -> RawJson {
    RawJson::of(value).expect("a value is JSON")
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        description: format!("runs {name}"),
        parameters: raw(&serde_json::json!({ "type": "object" })),
    }
}

pub(crate) fn user(text: &str) -> LlmMessage {
    LlmMessage::User(Content::Text(text.to_owned()))
}

pub(crate) fn answer(provider: &str, model: &str, blocks: Vec<Block>) -> LlmMessage {
    LlmMessage::Assistant(AssistantMessage {
        content: Content::Blocks(blocks),
        api: "openai-responses".to_owned(),
        provider: provider.to_owned(),
        model: model.to_owned(),
        usage: None,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: None,
    })
}

pub(crate) fn signed(text: &str, signature: &str) -> Block {
    Block::Text(TextBlock {
        text: text.to_owned(),
        signature: Some(signature.to_owned()),
    })
}

pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Block {
    Block::Thinking(ThinkingBlock {
        thinking: text.to_owned(),
        signature: signature.map(str::to_owned),
        redacted: false,
    })
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: RawJson::parse(arguments).ok(),
        signature: None,
    })
}

pub(crate) fn image(kind: &str) -> Block {
    Block::Image(ImageBlock {
        data: "AAAA".into(),
        mime_type: kind.to_owned(),
    })
}

pub(crate) fn result(id: &str, blocks: Vec<Block>) -> LlmMessage {
    LlmMessage::ToolResult(ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: "bash".to_owned(),
        content: Content::Blocks(blocks),
        is_error: false,
        timestamp: None,
        nested_calls: None,
    })
}
