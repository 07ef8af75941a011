//! The options that name models for summaries.

use std::path::PathBuf;

use agent_settings::models::NativeChoice;
use clap::{Args, ValueEnum};
use llm_providers::ApiProtocol;

/// Who writes summaries.
#[derive(Debug, Clone, Default, Args)]
pub struct ModelArgs {
    /// Let this model write the summary, for example openai/gpt-5.4; `agent-cli models` lists what is known.
    /// Given several times: the next one takes over when one fails. Without it the conversation is quoted,
    /// with no key and no network.
    #[arg(long = "model", value_name = "PROVIDER/MODEL")]
    pub models: Vec<String>,
    /// Ask at this address instead of the provider's own.
    #[arg(long, value_name = "URL", requires = "models")]
    pub base_url: Option<String>,
    /// Use this protocol instead of the provider's own.
    #[arg(long, value_enum, value_name = "WIRE", requires = "models")]
    pub wire: Option<ProtocolArg>,
    /// The environment variable that holds the key.
    #[arg(long, value_name = "VAR", requires = "models")]
    pub api_key_env: Option<String>,
    /// Which form of the provider's own compaction to use; auto takes what the model is known to have.
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    pub native: NativeChoice,
    /// What to do when no model writes a summary; unless given, the conversation is quoted, but not when the
    /// reason is a mistake such as a wrong key or address.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub fallback: Option<FallbackArg>,
    /// Keep every exchange with a model in this file, for bug reports; keys are removed, the session's text is not.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// The wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProtocolArg {
    /// Chat Completions and everything compatible.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Gemini.
    Gemini,
}

impl From<ProtocolArg> for ApiProtocol {
    fn from(wire: ProtocolArg) -> Self {
        match wire {
            ProtocolArg::Chat => Self::Chat,
            ProtocolArg::Responses => Self::Responses,
            ProtocolArg::Messages => Self::Messages,
            ProtocolArg::Gemini => Self::Gemini,
        }
    }
}

/// What happens when no model writes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FallbackArg {
    /// The conversation is quoted, whatever the reason, and a notice is printed.
    Extractive,
    /// It is an error.
    None,
}
