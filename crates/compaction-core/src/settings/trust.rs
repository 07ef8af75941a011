//! Settings of what a summary carries in addition to its prose, and of what is brought back: ledger, pins, restoration.

use serde::{Deserialize, Serialize};

use session_model::tokens::TokenCount;

/// The settings under `compaction.ledger`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LedgerSettings {
    /// The size of the ledger in percent of the window: at least 500 tokens, at most a quarter of the threshold; 0
    /// for none.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100)))]
    pub percent: f64,
}

impl Default for LedgerSettings {
    fn default() -> Self {
        Self { percent: 1.5 }
    }
}

/// The settings under `compaction.pins`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PinSettings {
    /// The tokens of all pins; unset: 1% of the window and at least 1000. At most a quarter of the threshold.
    pub max_tokens: Option<TokenCount>,
}

/// The settings under `compaction.restore`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RestoreSettings {
    /// The number of files touched last that are restored; 0 for none.
    pub max_files: usize,
    /// The number of the newest images that are restored; 0 for none.
    pub max_images: usize,
    /// The most tokens of one file; a larger one is only named.
    pub tokens_per_file: TokenCount,
    /// The most tokens of everything restored, with the text around it; the rest is only named.
    pub total_tokens: TokenCount,
    /// True if many images of tools start a compaction below the threshold.
    pub image_trigger: bool,
    /// The number of images that starts such a compaction.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub image_trigger_count: usize,
}

impl Default for RestoreSettings {
    fn default() -> Self {
        Self {
            max_files: 5,
            max_images: 3,
            tokens_per_file: TokenCount(5000),
            total_tokens: TokenCount(20_000),
            image_trigger: true,
            image_trigger_count: 50,
        }
    }
}
