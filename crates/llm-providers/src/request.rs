//! Requests to a model.

use serde::{Deserialize, Serialize};
use session_model::json::RawJson;
use session_model::{Content, LlmMessage};

use crate::native_history::NativeHistory;

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: RawJson,
}

/// Says if the model may or must call tools.
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

/// The level of thinking for a model that can think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reasoning {
    /// The provider's default.
    #[default]
    Default,
    /// As little as the model allows.
    Off,
    /// The least that counts as thinking.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Even more.
    XHigh,
    /// As much as it can.
    Max,
}

impl Reasoning {
    /// Every level, the lowest first.
    pub const LEVELS: [Self; 7] = [
        Self::Off,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// Returns the name that settings and sessions use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// One request to a model.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The system prompt.
    pub system: String,
    /// A provider's own items that precede the messages; only the provider and model family that made them get them
    /// (see [`NativeHistory::replays_on`]).
    pub native: Option<NativeHistory>,
    /// The conversation, calls and results paired (see `session_model::pair_calls`).
    pub messages: Vec<LlmMessage>,
    /// The tools.
    pub tools: Vec<Tool>,
    /// Says if the model may or must call them.
    pub tool_choice: ToolChoice,
    /// The most that may be answered, in tokens.
    pub max_output: Option<u64>,
    /// The level of thinking.
    pub reasoning: Reasoning,
    /// The same for all requests of a conversation, so that the provider's prompt cache is hit.
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
