//! The wires: each a pure encoder from [`Request`](crate::Request) to a body, and a pure decoder
//! from events to [`Event`]s.

pub(crate) mod chat;
#[cfg(feature = "bedrock")]
pub(crate) mod converse;
pub(crate) mod gemini;
pub(crate) mod history;
pub(crate) mod messages;
pub(crate) mod parts;
mod platform;
pub(crate) mod reasoning;
pub(crate) mod responses;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Event};
use crate::capabilities::Capabilities;

pub use platform::Platform;
#[cfg(feature = "vertex")]
pub(crate) use platform::VERTEX_ANTHROPIC;
#[cfg(test)]
pub(crate) use tests::samples;

/// The protocol of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ApiProtocol {
    /// OpenAI Responses: `POST {base}/responses`.
    Responses,
    /// OpenAI Chat Completions and everything compatible: `POST {base}/chat/completions`.
    Chat,
    /// Anthropic Messages: `POST {base}/v1/messages`.
    Messages,
    /// Gemini: `POST {base}/models/{model}:streamGenerateContent`.
    Gemini,
    /// Converse of Amazon Bedrock: `POST {base}/model/{model}/converse-stream`.
    #[cfg(feature = "bedrock")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Converse,
}

impl ApiProtocol {
    /// Returns the name that settings use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
            #[cfg(feature = "bedrock")]
            Self::Converse => "converse",
        }
    }

    /// Returns the decoder of one answer.
    pub(crate) fn decoder(self) -> Box<dyn Decode> {
        match self {
            Self::Responses => Box::new(responses::Decoder::default()),
            Self::Chat => Box::new(chat::Decoder::new()),
            Self::Messages => Box::new(messages::Decoder::new()),
            Self::Gemini => Box::new(gemini::Decoder::new()),
            #[cfg(feature = "bedrock")]
            Self::Converse => Box::new(converse::Decoder::new()),
        }
    }

    /// Returns the name that sessions of the pi family use in `api`.
    pub const fn api(self) -> &'static str {
        match self {
            Self::Responses => "openai-responses",
            Self::Chat => "openai-completions",
            Self::Messages => "anthropic-messages",
            Self::Gemini => "google-generative-ai",
            #[cfg(feature = "bedrock")]
            Self::Converse => "bedrock-converse-stream",
        }
    }
}

/// Which field bounds the answer of Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`, which most compatible servers know.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's own models need.
    MaxCompletionTokens,
}

/// Which models get prompt-cache marks (`cache_control`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheControlModels {
    /// None: the provider knows no marks.
    #[default]
    Never,
    /// All models.
    Always,
    /// Models whose id begins with `anthropic/`, as services that route to many vendors name Claude.
    Claude,
}

/// How long a prompt cache keeps what was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CacheTtl {
    /// Five minutes, the default of the services.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour; writing costs more.
    #[serde(rename = "1h")]
    OneHour,
}

/// How a Chat Completions server is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasoningField {
    /// Not at all.
    #[default]
    None,
    /// `reasoning_effort: "low"`.
    ReasoningEffort,
    /// `reasoning: {effort: "low"}` (OpenRouter).
    ReasoningObject,
    /// `reasoning: {enabled: true}`, and `reasoning_effort` where a model takes several (Together).
    ReasoningEnabled,
    /// `thinking: {type: "enabled"}`, and `reasoning_effort` where a model takes several (DeepSeek, z.ai).
    Thinking,
    /// `enable_thinking: true`, and `reasoning_effort` where a model takes several (Qwen).
    EnableThinking,
}

/// In which a provider differs from the plain form of its wire. Never guessed from a name: set by the
/// provider's entry in the catalog or by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ProviderCompat {
    /// The field that bounds the answer.
    pub max_tokens_field: MaxTokensField,
    /// Whether the role `developer` is known (and takes the place of `system`).
    pub developer_role: bool,
    /// Whether `stream_options.include_usage` is understood.
    pub stream_usage: bool,
    /// How thinking is asked for.
    pub reasoning_field: ReasoningField,
    /// Whether earlier thinking is sent back as `reasoning_content` (DeepSeek wants it between tool calls).
    pub replays_reasoning: bool,
    /// Whether it is sent back as `reasoning` as well (vLLM 0.16 and later read no other name).
    pub replays_as_reasoning: bool,
    /// Whether tools of the Messages wire may say `eager_input_streaming`.
    pub eager_tools: bool,
    /// Whether user and assistant messages must alternate.
    pub alternating_roles: bool,
    /// Whether tool call ids must be nine letters and digits (Mistral).
    pub short_tool_ids: bool,
    /// Whether `store: false` and `prompt_cache_key` are understood.
    pub openai_extras: bool,
    /// Which models get prompt-cache marks (Anthropic Messages, and Claude over Chat Completions).
    pub cache_control: CacheControlModels,
    /// How long the cache keeps what was marked.
    pub cache_ttl: CacheTtl,
    /// Whose service it is.
    pub platform: Platform,
}

impl Default for ProviderCompat {
    fn default() -> Self {
        Self {
            max_tokens_field: MaxTokensField::MaxTokens,
            developer_role: false,
            stream_usage: true,
            reasoning_field: ReasoningField::None,
            replays_reasoning: false,
            replays_as_reasoning: false,
            eager_tools: false,
            alternating_roles: false,
            short_tool_ids: false,
            openai_extras: false,
            cache_control: CacheControlModels::Never,
            cache_ttl: CacheTtl::FiveMinutes,
            platform: Platform::Plain,
        }
    }
}

/// For whom a request is encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The provider's name, which signatures and native items are compared with.
    pub provider: &'a str,
    /// The model's id.
    pub model: &'a str,
    /// The wire.
    pub wire: ApiProtocol,
    /// What differs.
    pub compat: &'a ProviderCompat,
    /// What the model can do.
    pub capabilities: &'a Capabilities,
    /// Whether that is known; nothing is known of a model that neither the catalog nor the settings list.
    pub known: bool,
}

impl Target<'_> {
    /// Returns whether the model takes a level for its thinking, not a budget. Of models that nothing is known of, it
    /// is assumed: new ones do.
    pub fn thinks_by_level(&self) -> bool {
        self.capabilities.adaptive_thinking || !self.known
    }
}

/// What a decoder cannot turn into events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WireError {
    /// The service says, in the middle of the stream, that it failed; the text is its JSON error object.
    Service(String),
    /// What came is no answer in this wire's form.
    Malformed(String),
    /// The stream ended without its closing event.
    EndedEarly,
    /// The stream has its closing event, but does not say why the answer ended.
    NoReason(Box<Answer>),
}

/// Returns what the `data` of each server-sent event means, up to the first that cannot be read.
#[doc(hidden)]
pub fn decode_stream<'a>(wire: ApiProtocol, data: impl IntoIterator<Item = &'a str>) -> Vec<Event> {
    let mut decoder = wire.decoder();
    let mut events = Vec::new();
    for data in data {
        match decoder.data(data) {
            Ok(more) => events.extend(more),
            Err(_) => return events,
        }
    }
    events.extend(decoder.end().ok().flatten());
    events
}

/// Turns the events of a stream into [`Event`]s. Unknown events and fields are passed over.
pub(crate) trait Decode: Send {
    /// Takes the `data` of one server-sent event. `[DONE]` ends an answer of Chat Completions. [`Event::Done`] comes as soon as the wire's
    /// closing event has been seen, or from [`Decode::end`]; exactly once; nothing comes after it.
    fn data(&mut self, data: &str) -> Result<Vec<Event>, WireError>;

    /// The stream has ended. Returns the missing [`Event::Done`] when all that closes an answer was seen,
    /// nothing when it was given already, or [`WireError::EndedEarly`].
    fn end(&mut self) -> Result<Option<Event>, WireError>;
}
