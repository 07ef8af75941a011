//! The platforms that serve a protocol, and the protocol that a model's id implies.

use serde::{Deserialize, Serialize};

use super::ApiProtocol;

/// The platform that serves a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// One that takes a key and speaks the protocol as its maker does.
    #[default]
    Plain,
    /// Amazon Bedrock: the model is in the address, requests are signed, answers come in frames.
    #[cfg(feature = "bedrock")]
    Bedrock,
    /// Vertex AI of Google Cloud: project, location and model are in the address.
    #[cfg(feature = "vertex")]
    Vertex,
}

/// The prefix of the ids of Claude's models on Vertex AI.
#[cfg(feature = "vertex")]
pub(crate) const VERTEX_ANTHROPIC: &str = "anthropic/";

impl Platform {
    /// Returns true where calls and results of Gemini may have ids.
    pub(crate) fn takes_call_ids(self) -> bool {
        match self {
            #[cfg(feature = "vertex")]
            Self::Vertex => false,
            _ => true,
        }
    }

    /// Returns the protocol of a model whose id names its maker: Claude uses Anthropic's own.
    pub fn wire_of(self, model: &str) -> Option<ApiProtocol> {
        let _ = model;
        match self {
            Self::Plain => None,
            // `anthropic.claude-...`, with or without the region of an inference profile before it.
            #[cfg(feature = "bedrock")]
            Self::Bedrock if model.split('.').take(2).any(|part| part == "anthropic") => {
                Some(ApiProtocol::Messages)
            }
            #[cfg(feature = "bedrock")]
            Self::Bedrock => Some(ApiProtocol::Converse),
            #[cfg(feature = "vertex")]
            Self::Vertex if model.starts_with(VERTEX_ANTHROPIC) => Some(ApiProtocol::Messages),
            #[cfg(feature = "vertex")]
            Self::Vertex => Some(ApiProtocol::Gemini),
        }
    }
}
