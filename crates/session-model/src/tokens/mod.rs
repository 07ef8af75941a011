//! Tokens: the unit, and the counters that estimate them.

mod image;
mod script;

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::{AgentMessage, Block, Content, SystemMessage, json};
use serde::{Deserialize, Serialize};

pub use image::image_tokens;
pub use script::milli_tokens;

/// A number of tokens.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct TokenCount(pub u64);

impl TokenCount {
    /// No tokens.
    pub const ZERO: Self = Self(0);

    /// Returns the difference, or zero where it would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns how many hundredths of `whole` this is, rounded down.
    #[must_use]
    pub fn percent_of(self, whole: Self) -> u64 {
        self.scaled(100, whole.0).0
    }

    /// Returns `self * numerator / denominator`, rounded down.
    #[must_use]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let product = u128::from(self.0) * u128::from(numerator);
        let quotient = product / u128::from(denominator.max(1));
        Self(u64::try_from(quotient).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for TokenCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add for TokenCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for TokenCount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for TokenCount {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, Add::add)
    }
}

/// Estimates how many tokens a model would count.
pub trait TokenCounter: Send + Sync {
    /// Returns the name of the counter, as settings and output have it.
    fn name(&self) -> &'static str;

    /// Returns the tokens of `text`.
    fn text(&self, text: &str) -> TokenCount;

    /// Returns the tokens of `message` as it stands in the context.
    fn message(&self, message: &AgentMessage) -> TokenCount;
}

/// Four UTF-16 code units a token, an image as 4,800 of them: the measure of the pi family.
///
/// Figures that are stored in sessions use it, because peers read them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chars4;

/// What an image counts in [`Chars4`], in UTF-16 code units.
pub const IMAGE_UNITS: usize = 4800;

impl TokenCounter for Chars4 {
    fn name(&self) -> &'static str {
        "chars4"
    }

    fn text(&self, text: &str) -> TokenCount {
        quarter(json::utf16_len(text))
    }

    fn message(&self, message: &AgentMessage) -> TokenCount {
        quarter(match message {
            AgentMessage::System(system) => system_units(system),
            AgentMessage::User(message) => content_units(&message.content),
            AgentMessage::Custom(message) => content_units(&message.content),
            AgentMessage::ToolResult(message) => content_units(&message.content),
            AgentMessage::Assistant(message) => answer_units(&message.content),
            AgentMessage::BashExecution(run) => {
                json::utf16_len(&run.command) + json::utf16_len(&run.output)
            }
            AgentMessage::BranchSummary(message) | AgentMessage::CompactionSummary(message) => {
                json::utf16_len(&message.summary)
            }
            AgentMessage::Developer(_) | AgentMessage::Other { .. } => 0,
        })
    }
}

fn quarter(units: usize) -> TokenCount {
    TokenCount(units.div_ceil(4) as u64)
}

fn system_units(system: &SystemMessage) -> usize {
    let sections = system.sections.iter().filter_map(|(_, text)| text.as_ref());
    let sections: usize = sections.map(|text| json::utf16_len(text)).sum();
    let tools = match system.tools_added.len() {
        0 => 0,
        // Brackets and the commas between.
        many => {
            let texts = system.tools_added.iter();
            let texts: usize = texts
                .map(|tool| json::canonical_utf16_len(tool.get()))
                .sum();
            texts + many + 1
        }
    };
    content_units(&system.content) + sections + tools
}

fn content_units(content: &Content) -> usize {
    let texts: usize = content.texts().map(json::utf16_len).sum();
    texts + images(content) * IMAGE_UNITS
}

fn images(content: &Content) -> usize {
    let blocks = content.blocks().iter();
    blocks
        .filter(|block| matches!(block, Block::Image(_)))
        .count()
}

fn answer_units(content: &Content) -> usize {
    let blocks = content.blocks().iter().map(|block| match block {
        Block::Text(block) => json::utf16_len(&block.text),
        Block::Thinking(block) => json::utf16_len(&block.thinking),
        Block::ToolCall(call) => {
            let arguments = call.arguments.as_ref();
            let units = arguments.map_or(2, |raw| json::canonical_utf16_len(raw.get()));
            json::utf16_len(&call.name) + units
        }
        Block::Image(_) | Block::Other { .. } => 0,
    });
    blocks.sum()
}

/// Counts by script: words, digits, punctuation and indentation as vocabularies cut them,
/// and each script with the weight of its characters. The default for decisions and display.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScriptAware;

/// What an image of unknown size counts in [`ScriptAware`], in tokens: the flat figure of 4,800 characters. Others
/// count by their pixels; see [`image_tokens`].
pub const IMAGE_TOKENS: u64 = 1200;

/// What a message counts in addition to its content: role and separators.
const MESSAGE_OVERHEAD: u64 = 4;

impl TokenCounter for ScriptAware {
    fn name(&self) -> &'static str {
        "script"
    }

    fn text(&self, text: &str) -> TokenCount {
        TokenCount(milli_tokens(text).div_ceil(1000))
    }

    fn message(&self, message: &AgentMessage) -> TokenCount {
        counted_message(message, &|text| milli_tokens(text))
    }
}

/// Exact counts of OpenAI's o200k vocabulary. Slower than the estimates by a factor of twenty.
#[cfg(feature = "bpe")]
#[derive(Debug, Clone, Copy, Default)]
pub struct Bpe;

#[cfg(feature = "bpe")]
impl TokenCounter for Bpe {
    fn name(&self) -> &'static str {
        "bpe"
    }

    fn text(&self, text: &str) -> TokenCount {
        TokenCount(bpe_openai::o200k_base().count(text) as u64)
    }

    fn message(&self, message: &AgentMessage) -> TokenCount {
        counted_message(message, &|text| {
            bpe_openai::o200k_base().count(text) as u64 * 1000
        })
    }
}

fn image_milli(content: &Content) -> u64 {
    let blocks = content.blocks().iter();
    let images = blocks.filter_map(|block| match block {
        Block::Image(image) => Some(image_tokens(image).0 * 1000),
        Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
    });
    images.sum()
}

/// Counts a message whose texts `milli` measures in thousandths of a token.
fn counted_message(message: &AgentMessage, milli: &dyn Fn(&str) -> u64) -> TokenCount {
    let content_milli = |content: &Content| -> u64 {
        let texts: u64 = content.texts().map(milli).sum();
        texts + image_milli(content)
    };
    let total = match message {
        AgentMessage::System(system) => {
            let sections = system.sections.iter().filter_map(|(_, text)| text.as_ref());
            let sections: u64 = sections.map(|text| milli(text)).sum();
            let tools: u64 = system
                .tools_added
                .iter()
                .map(|tool| milli(tool.get()))
                .sum();
            content_milli(&system.content) + sections + tools
        }
        AgentMessage::User(message) | AgentMessage::Developer(message) => {
            content_milli(&message.content)
        }
        AgentMessage::Custom(message) => content_milli(&message.content),
        AgentMessage::ToolResult(message) => content_milli(&message.content),
        AgentMessage::Assistant(message) => {
            let blocks = message.content.blocks().iter().map(|block| match block {
                Block::Text(block) => milli(&block.text),
                Block::Thinking(block) => milli(&block.thinking),
                Block::ToolCall(call) => {
                    let arguments = call.arguments.as_ref();
                    milli(&call.name) + arguments.map_or(1000, |raw| milli(raw.get()))
                }
                Block::Image(image) => image_tokens(image).0 * 1000,
                Block::Other { .. } => 0,
            });
            let plain = match &message.content {
                Content::Text(text) => milli(text),
                Content::Blocks(_) => 0,
            };
            blocks.sum::<u64>() + plain
        }
        AgentMessage::BashExecution(run) => milli(&run.command) + milli(&run.output),
        AgentMessage::BranchSummary(message) | AgentMessage::CompactionSummary(message) => {
            milli(&message.summary)
        }
        AgentMessage::Other { .. } => return TokenCount::ZERO,
    };
    TokenCount(total.div_ceil(1000) + MESSAGE_OVERHEAD)
}
