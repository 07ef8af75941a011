//! Capabilities of a model.

use serde::{Deserialize, Serialize};

use crate::request::Reasoning;

/// Capabilities of a model at a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Capabilities {
    /// The model's window in tokens, if known.
    pub window: Option<u64>,
    /// The most that it answers in tokens, if known.
    pub max_output: Option<u64>,
    /// True if it calls tools.
    pub tools: bool,
    /// True if it accepts images.
    pub images: bool,
    /// True if it can think.
    pub reasoning: bool,
    /// True if the model itself decides how much it thinks and takes a level instead of a budget (newer models of the
    /// Messages and the Gemini protocol).
    pub adaptive_thinking: bool,
    /// The levels of thinking that it takes, if known.
    pub levels: Option<Levels>,
    /// True if the standalone form of native compaction works.
    pub native_standalone: bool,
    /// True if the in-band form of native compaction works.
    pub native_in_band: bool,
}

/// A set of levels of thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Reasoning>", into = "Vec<Reasoning>")]
pub struct Levels(u8);

impl Levels {
    /// Returns true when the level is in the set.
    pub fn has(self, level: Reasoning) -> bool {
        self.0 & (1 << level as u8) != 0
    }

    /// Returns the levels, the lowest first.
    pub fn iter(self) -> impl Iterator<Item = Reasoning> {
        Reasoning::LEVELS
            .into_iter()
            .filter(move |level| self.has(*level))
    }
}

impl From<Vec<Reasoning>> for Levels {
    fn from(levels: Vec<Reasoning>) -> Self {
        Self(
            levels
                .into_iter()
                .fold(0, |all, level| all | 1 << level as u8),
        )
    }
}

impl From<Levels> for Vec<Reasoning> {
    fn from(levels: Levels) -> Self {
        levels.iter().collect()
    }
}
