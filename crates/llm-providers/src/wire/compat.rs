//! In which providers of one protocol differ.

use serde::{Deserialize, Serialize};

use super::Platform;

/// The field that limits the answer of Chat Completions.
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

/// The models that get prompt-cache marks (`cache_control`).
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

/// The lifetime of marked content in a prompt cache.
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

/// The form in which a request to a Chat Completions server states the level of thinking.
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
    /// `reasoning: {enabled: true}`, and `reasoning_effort` for models that take several (Together).
    ReasoningEnabled,
    /// `thinking: {type: "enabled"}`, and `reasoning_effort` for models that take several (DeepSeek, z.ai).
    Thinking,
    /// `enable_thinking: true`, and `reasoning_effort` for models that take several (Qwen).
    EnableThinking,
}

/// Defines what may differ, and the changes to it: the same fields, each of which may be left out.
macro_rules! compat {
    ($($(#[doc = $doc:literal])+ $field:ident: $kind:ty = $default:expr,)+) => {
        /// Differences of a provider from the plain form of its protocol. Never guessed from a name: set by the
        /// provider's entry in the catalog or by the user.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
        pub struct ProviderCompat {
            $($(#[doc = $doc])+ pub $field: $kind,)+
            /// The platform that serves the protocol.
            pub platform: Platform,
        }

        impl Default for ProviderCompat {
            fn default() -> Self {
                Self { $($field: $default,)+ platform: Platform::Plain }
            }
        }

        /// Changes to [`ProviderCompat`], field by field.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
        pub struct CompatOverride {
            $($(#[doc = $doc])+ pub $field: Option<$kind>,)+
        }

        impl CompatOverride {
            /// Replaces the members of `compat` that are set here.
            pub fn apply(&self, compat: &mut ProviderCompat) {
                $(compat.$field = self.$field.unwrap_or(compat.$field);)+
            }
        }
    };
}

compat! {
    /// The field that limits an answer.
    max_tokens_field: MaxTokensField = MaxTokensField::MaxTokens,
    /// True if the role `developer` replaces `system`.
    developer_role: bool = false,
    /// True if the server understands `stream_options.include_usage`.
    stream_usage: bool = true,
    /// The form in which thinking is requested.
    reasoning_field: ReasoningField = ReasoningField::None,
    /// True if earlier thinking is sent back as `reasoning_content`.
    replays_reasoning: bool = false,
    /// True if it is sent back as `reasoning` as well.
    replays_as_reasoning: bool = false,
    /// True if tools may contain `eager_input_streaming`.
    eager_tools: bool = false,
    /// True if messages of user and assistant must alternate.
    alternating_roles: bool = false,
    /// True if tool call ids must be nine letters and digits.
    short_tool_ids: bool = false,
    /// True if the server understands `store` and `prompt_cache_key`.
    openai_extras: bool = false,
    /// The models that get prompt-cache marks.
    cache_control: CacheControlModels = CacheControlModels::Never,
    /// The lifetime of marked content in the prompt cache.
    cache_ttl: CacheTtl = CacheTtl::FiveMinutes,
}
