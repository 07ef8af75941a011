//! What a model can do.

use serde::{Deserialize, Serialize};

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
    /// Whether it decides itself how much it thinks and takes a level, not a budget (newer models of the Messages
    /// and the Gemini wire).
    pub adaptive_thinking: bool,
    /// Whether the standalone form of native compaction works.
    pub native_standalone: bool,
    /// Whether the in-band form of native compaction works.
    pub native_in_band: bool,
}
