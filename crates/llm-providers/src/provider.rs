//! What a provider is asked and what it answers.

use std::future::Future;
use std::pin::Pin;

use futures_core::Stream;
use session_model::{Content, LlmMessage, StopReason, ToolCall, Usage};
use tokio_util::sync::CancellationToken;

use crate::error::ProviderError;

/// A boxed future, because providers are chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The events of one answer; the last one of a good answer is [`Event::Done`].
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, ProviderError>> + Send>>;

/// One request to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The system prompt.
    pub system: String,
    /// The conversation.
    pub messages: Vec<LlmMessage>,
    /// The most that may be answered, in tokens.
    pub max_output: Option<u64>,
}

impl Request {
    /// Returns a request with one message of the user.
    pub fn for_prompt(system: &str, prompt: &str) -> Self {
        Self {
            system: system.to_owned(),
            messages: vec![LlmMessage::User(Content::Text(prompt.to_owned()))],
            max_output: None,
        }
    }
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Text of the answer.
    Text(String),
    /// Text of the model's thinking.
    Thinking(String),
    /// A whole call of a tool.
    ToolCall(ToolCall),
    /// The answer is complete.
    Done {
        /// Why it ended.
        stop_reason: StopReason,
        /// What was billed.
        usage: Usage,
    },
}

/// What a provider can do with a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The model's window in tokens, if known.
    pub window: Option<u64>,
    /// The most that it answers in tokens, if known.
    pub max_output: Option<u64>,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether it sees images.
    pub images: bool,
}

/// Somebody who answers requests.
pub trait Provider: Send + Sync {
    /// Sends a request; the stream ends early when `cancel` fires.
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>>;

    /// Returns what the provider can do.
    fn capabilities(&self) -> &Capabilities;
}
