//! What a provider is asked and what it answers.

use std::future::Future;
use std::pin::Pin;

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use session_model::json::RawJson;
use session_model::{Block, Content, LlmMessage, StopReason, ToolCall, Usage};
use tokio_util::sync::CancellationToken;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::native::{NativeAnswer, NativeHistory, NativeRequest};

/// A boxed future, because providers are chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The events of one answer; the last one of a good answer is [`Event::Done`].
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, ProviderError>> + Send>>;

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: RawJson,
}

/// Whether the model may or must call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must not, although it sees the tools (their text stays the same for the provider's cache).
    None,
    /// It must call one.
    Required,
}

/// How much a model that can think should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reasoning {
    /// What the provider does when nothing is said.
    #[default]
    Default,
    /// As little as the model allows.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// One request to a model.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The system prompt.
    pub system: String,
    /// A provider's own items that stand before the messages; only the provider and model family that made
    /// them get them (see [`NativeHistory::replays_on`]).
    pub native: Option<NativeHistory>,
    /// The conversation, calls and results paired (see `session_model::pair_calls`).
    pub messages: Vec<LlmMessage>,
    /// The tools.
    pub tools: Vec<Tool>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
    /// The most that may be answered, in tokens.
    pub max_output: Option<u64>,
    /// How much the model should think.
    pub reasoning: Reasoning,
    /// What requests of one conversation share, so that the provider's prompt cache is hit.
    pub cache_key: Option<String>,
}

impl Request {
    /// Returns a request with one message of the user.
    pub fn for_prompt(system: &str, prompt: &str) -> Self {
        Self {
            system: system.to_owned(),
            messages: vec![LlmMessage::User(Content::Text(prompt.to_owned()))],
            ..Self::default()
        }
    }
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Text of the answer, in pieces.
    Text(String),
    /// Text of the model's thinking, in pieces.
    Thinking(String),
    /// A piece of a tool call.
    ToolCall {
        /// Which call of the answer, from 0.
        index: usize,
        /// The tool.
        name: String,
        /// More of the arguments' JSON text; may be empty.
        arguments: String,
    },
    /// The answer is complete. Always the last event.
    Done(Answer),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Thinking, text and tool calls in their order, with the provider's signatures.
    pub content: Vec<Block>,
    /// The provider's own compaction items, verbatim; empty but for native compaction.
    pub native: Vec<RawJson>,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// What was billed.
    pub usage: Usage,
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            content: Vec::new(),
            native: Vec::new(),
            stop_reason: StopReason::Stop,
            usage: Usage::default(),
            id: None,
            model: None,
        }
    }
}

impl Answer {
    /// Returns the text of the answer, without thinking and tool calls.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text(block) => Some(block.text.as_str()),
            Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
        });
        texts.collect()
    }

    /// Returns the tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text(_) | Block::Image(_) | Block::Thinking(_) | Block::Other { .. } => None,
        })
    }
}

/// What a provider can do with a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Capabilities {
    /// The model's window in tokens, if known.
    pub window: Option<u64>,
    /// The most that it answers in tokens, if known.
    pub max_output: Option<u64>,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether it sees images.
    pub images: bool,
    /// Whether it thinks.
    pub reasoning: bool,
    /// Whether it decides itself how much it thinks and takes an effort, not a budget (newer models of the
    /// Messages wire).
    pub adaptive_thinking: bool,
    /// Whether the standalone form of native compaction works.
    pub native_standalone: bool,
    /// Whether the in-band form of native compaction works.
    pub native_in_band: bool,
}

/// Somebody who answers requests.
pub trait Provider: Send + Sync {
    /// Returns the provider's name, as settings and sessions have it.
    fn name(&self) -> &str;

    /// Returns the model's id, as settings and sessions have it.
    fn model(&self) -> &str;

    /// Sends a request; the stream ends with an error when `cancel` fires.
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>>;

    /// Returns the key under which `preserveData` keeps native histories that this provider can replay; `None` where
    /// it replays none.
    fn native_key(&self) -> Option<&'static str> {
        None
    }

    /// Lets the provider compact a conversation in its own form.
    fn compact_native(
        &self,
        request: NativeRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<NativeAnswer, ProviderError>> {
        let _ = (request, cancel);
        let text = "this provider has no native compaction";
        let error = ProviderError::new(ProviderErrorKind::InvalidRequest, text);
        Box::pin(std::future::ready(Err(error)))
    }

    /// Returns what the provider can do.
    fn capabilities(&self) -> &Capabilities;
}
