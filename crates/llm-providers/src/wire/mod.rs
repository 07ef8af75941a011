//! The protocols: each a pure encoder from [`Request`](crate::Request) to a body, and a pure decoder from events to
//! [`Event`]s.

pub(crate) mod chat;
mod compat;
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

pub use compat::{
    CacheControlModels, CacheTtl, CompatOverride, MaxTokensField, ProviderCompat, ReasoningField,
};
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

/// For whom a request is encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The provider's name, which signatures and native items are compared with.
    pub provider: &'a str,
    /// The model's id.
    pub model: &'a str,
    /// The protocol.
    pub wire: ApiProtocol,
    /// Differences from the plain form of the protocol.
    pub compat: &'a ProviderCompat,
    /// The capabilities of the model.
    pub capabilities: &'a Capabilities,
    /// True if they are known; they are not for a model that neither the catalog nor the settings list.
    pub known: bool,
}

impl Target<'_> {
    /// Returns true if the model takes a level of thinking instead of a budget. This is assumed of unknown models: new
    /// ones do.
    pub fn thinks_by_level(&self) -> bool {
        self.capabilities.adaptive_thinking || !self.known
    }
}

/// Data that a decoder cannot turn into events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WireError {
    /// The service reports, in the middle of the stream, that it failed; the text is its JSON error object.
    Service(String),
    /// The data is not an answer in this protocol's form.
    Malformed(String),
    /// The stream ended without its closing event.
    EndedEarly,
    /// The stream has its closing event, but no reason why the answer ended.
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

/// Turns the events of a stream into [`Event`]s. Unknown events and fields are ignored.
pub(crate) trait Decode: Send {
    /// Takes the `data` of one server-sent event. `[DONE]` ends an answer of Chat Completions. [`Event::Done`] comes as
    /// soon as the protocol's closing event has been seen, or from [`Decode::end`]; exactly once; nothing comes after
    /// it.
    fn data(&mut self, data: &str) -> Result<Vec<Event>, WireError>;

    /// The stream has ended. Returns the missing [`Event::Done`] when all parts of an ending were seen, nothing when it
    /// was returned already, or [`WireError::EndedEarly`].
    fn end(&mut self) -> Result<Option<Event>, WireError>;
}
