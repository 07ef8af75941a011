//! Tokens in events.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Billed tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Uncached prompt tokens.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
}

impl TokenUsage {
    /// Returns the tokens of the prompts, cached or not.
    pub fn prompt_tokens(&self) -> u64 {
        let cached = self.cache_read.saturating_add(self.cache_write);
        self.input.saturating_add(cached)
    }
}

impl AddAssign for TokenUsage {
    /// Adds up what several answers took, at most to the largest number.
    fn add_assign(&mut self, other: Self) {
        for (sum, part) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
        ] {
            *sum = sum.saturating_add(part);
        }
    }
}

impl From<&session_model::Usage> for TokenUsage {
    fn from(usage: &session_model::Usage) -> Self {
        Self {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
        }
    }
}
