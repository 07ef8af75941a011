//! Settings of compaction and branch summaries: the seeds' names and defaults, and what this project adds.

mod choice;
mod trust;

pub use choice::{CutRule, Serialization, Strategies, Strategy};
pub use trust::{LedgerSettings, PinSettings, RestoreSettings};

use serde::{Deserialize, Serialize};

use session_model::tokens::TokenCount;

/// All settings of this crate, with the names of `settings.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// Compaction.
    pub compaction: CompactionSettings,
    /// Branch summaries.
    pub branch_summary: BranchSummarySettings,
}

/// The settings under `compaction`, as far as the algorithms need them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct CompactionSettings {
    /// The strategy, or a list that is tried in order until one succeeds. Commands on session files skip `handoff`
    /// and `off`.
    pub strategy: Strategies,
    /// Tokens kept free for the answer; unset: 16384. At least 15% and at most half of the window.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub reserve_tokens: Option<TokenCount>,
    /// Tokens of recent entries that stay verbatim; with system prompt and tools at most half the threshold, or a
    /// quarter of what these leave.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub keep_recent_tokens: TokenCount,
    /// Compact at this percentage of the window, if positive.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub threshold_percent: i64,
    /// Compact at this many tokens, if positive; overrides the percentage.
    pub threshold_tokens: i64,
    /// The rule for what stays verbatim: everything from the entry that reaches the budget (`nearest`), or only what
    /// fits (`fit`).
    pub cut_rule: CutRule,
    /// The form in which a conversation is serialized for a summarizer.
    pub serialization: Serialization,
    /// The limit of a tool result for a summarizer, in UTF-16 code units.
    #[cfg_attr(feature = "schema", schemars(range(min = 16)))]
    pub tool_result_chars: usize,
    /// The limit of one tool argument for a summarizer, in UTF-16 code units.
    #[cfg_attr(feature = "schema", schemars(range(min = 16)))]
    pub tool_argument_chars: usize,
    /// How much of a thinking block a summarizer sees, in UTF-16 code units; 0 leaves thinking out.
    pub thinking_chars: usize,
    /// The size of an extractive summary with its file lists, without pins, in percent of the window: at least 1000
    /// tokens, at most a quarter of the threshold and half of what it replaces.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 100)))]
    pub extractive_percent: f64,
    /// The number of paths in each file list of a summary; the entry's details name all.
    pub file_list_limit: usize,
    /// Pruning of old tool output.
    pub prune: PruneSettings,
    /// Settings of the ledger, the facts that the program quotes next to the prose of a model.
    pub ledger: LedgerSettings,
    /// Settings of the user's pins.
    pub pins: PinSettings,
    /// Settings of the strategy `restore`.
    pub restore: RestoreSettings,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            strategy: Strategies::default(),
            reserve_tokens: None,
            keep_recent_tokens: TokenCount(20_000),
            threshold_percent: -1,
            threshold_tokens: -1,
            cut_rule: CutRule::Nearest,
            serialization: Serialization::Labels,
            tool_result_chars: 2000,
            tool_argument_chars: 2000,
            thinking_chars: 4000,
            extractive_percent: 3.0,
            file_list_limit: 200,
            prune: PruneSettings::default(),
            ledger: LedgerSettings::default(),
            pins: PinSettings::default(),
            restore: RestoreSettings::default(),
        }
    }
}

/// The settings under `compaction.prune`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PruneSettings {
    /// True if old tool output is pruned before an automatic compaction.
    pub enabled: bool,
    /// The newest tool output, in tokens, that is not pruned by age; at most a quarter of the threshold.
    pub protect_tokens: TokenCount,
    /// The tokens that pruning must save in all; at most an eighth of the threshold.
    pub minimum_savings: TokenCount,
    /// The tokens that a result must have to be pruned.
    pub minimum_tokens: TokenCount,
    /// Tools whose results are not pruned by age.
    pub protected_tools: Vec<String>,
    /// True if a newer full read of a file prunes older ones.
    pub supersede_reads: bool,
}

impl Default for PruneSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            protect_tokens: TokenCount(40_000),
            minimum_savings: TokenCount(20_000),
            minimum_tokens: TokenCount(50),
            protected_tools: vec!["skill".to_owned(), "read".to_owned()],
            supersede_reads: true,
        }
    }
}

/// The settings under `branchSummary`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct BranchSummarySettings {
    /// True if a move offers to summarize the branch that is left.
    pub enabled: bool,
    /// Tokens kept free for the prompt and the answer.
    pub reserve_tokens: TokenCount,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self {
            enabled: false,
            reserve_tokens: DEFAULT_RESERVE,
        }
    }
}

/// The default size that is reserved for the answer.
pub const DEFAULT_RESERVE: TokenCount = TokenCount(16_384);

/// A value that a setting cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}, but must be {allowed}")]
#[non_exhaustive]
pub struct InvalidSetting {
    /// The key, for example `compaction.thresholdPercent`.
    pub key: &'static str,
    /// The given value.
    pub value: String,
    /// The allowed values.
    pub allowed: &'static str,
}

impl Settings {
    /// Returns the first value that is out of its range.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`] with the key, the value and what is allowed.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        let compaction = &self.compaction;
        let fail = |key, value: String, allowed| {
            Err(InvalidSetting {
                key,
                value,
                allowed,
            })
        };
        if compaction.threshold_percent > 100 {
            let value = compaction.threshold_percent.to_string();
            return fail(
                "compaction.thresholdPercent",
                value,
                "at most 100 (or -1 for none)",
            );
        }
        if compaction.keep_recent_tokens == TokenCount::ZERO {
            return fail("compaction.keepRecentTokens", "0".to_owned(), "at least 1");
        }
        if compaction.reserve_tokens == Some(TokenCount::ZERO) {
            return fail("compaction.reserveTokens", "0".to_owned(), "at least 1");
        }
        for (key, percent) in [
            (
                "compaction.extractivePercent",
                compaction.extractive_percent,
            ),
            ("compaction.ledger.percent", compaction.ledger.percent),
        ] {
            if !(0.0..=100.0).contains(&percent) {
                return fail(key, percent.to_string(), "0 to 100");
            }
        }
        if compaction.restore.image_trigger_count == 0 {
            let key = "compaction.restore.imageTriggerCount";
            return fail(key, "0".to_owned(), "at least 1");
        }
        let bounded = [
            ("compaction.toolResultChars", compaction.tool_result_chars),
            (
                "compaction.toolArgumentChars",
                compaction.tool_argument_chars,
            ),
        ];
        for (key, value) in bounded {
            if value < 16 {
                return fail(key, value.to_string(), "at least 16");
            }
        }
        Ok(())
    }
}
