//! The rule of each step: the project's own, or exactly that of pi 1.6.0.
//!
//! Every deliberate difference from pi is one field here, so that the list of differences is this type, and a
//! conformance run tests pi's values.

use session_model::{ContextRules, Wording};

use crate::serialize::Bounds;
use crate::settings::CompactionSettings;
use session_model::tokens::{Chars4, ScriptAware, TokenCounter};

/// A named set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The project's own rules.
    #[default]
    Own,
    /// pi 1.6.0, its defects included.
    Pi,
}

impl Profile {
    /// Returns the name of the profile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Pi => "pi",
        }
    }

    /// Returns the counter that decisions and figures use.
    pub fn counter(self) -> &'static dyn TokenCounter {
        match self {
            Self::Own => &ScriptAware,
            Self::Pi => &Chars4,
        }
    }

    /// Returns how contexts are rebuilt.
    pub fn context_rules(self) -> ContextRules {
        match self {
            Self::Own => ContextRules::Own,
            Self::Pi => ContextRules::Pi,
        }
    }

    /// Returns the rules that are plain switches.
    pub fn rules(self) -> Rules {
        match self {
            Self::Own => Rules {
                plain_threshold: false,
                bounded_keep: true,
                cuts_between_call_and_result: false,
                cut_without_budget: false,
                plain_split_test: false,
                pulls_omitted: false,
                compacts_compacted: true,
                failed_calls_count: false,
                edited_calls_count: false,
                summaries_feed_file_lists: true,
                folds: true,
                rescues: true,
                branch_tool_results: true,
                branch_leaves_out_target: false,
                cap_limit: Some(16_384),
            },
            Self::Pi => Rules {
                plain_threshold: true,
                bounded_keep: false,
                cuts_between_call_and_result: true,
                cut_without_budget: true,
                plain_split_test: true,
                pulls_omitted: true,
                compacts_compacted: false,
                failed_calls_count: true,
                edited_calls_count: true,
                summaries_feed_file_lists: false,
                folds: false,
                rescues: false,
                branch_tool_results: false,
                branch_leaves_out_target: true,
                cap_limit: None,
            },
        }
    }

    /// Returns how conversations are serialized for a summarizer.
    pub fn bounds(self, settings: &CompactionSettings) -> Bounds {
        match self {
            Self::Own => Bounds {
                serialization: settings.serialization,
                wording: Wording::Own,
                tool_result: settings.tool_result_chars,
                tool_argument: Some(settings.tool_argument_chars),
                thinking: settings.thinking_chars,
                escapes: true,
            },
            Self::Pi => Bounds::PI,
        }
    }
}

/// The rules that are plain switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The threshold is the window less the reserve, for every window.
    pub plain_threshold: bool,
    /// The kept size is at most half the threshold, and adapts to measured usage.
    pub bounded_keep: bool,
    /// A cut may fall between a call and its result, at a message that came in between.
    pub cuts_between_call_and_result: bool,
    /// When the budget is not reached, the entries before the first cut point are still summarized.
    pub cut_without_budget: bool,
    /// Metadata that the cut pulled in is itself checked if it starts a turn (it never does, so the turn counts as
    /// split).
    pub plain_split_test: bool,
    /// Messages that an edit took out are pulled into the kept range like metadata (so that it may begin with a
    /// tool result whose call is summarized).
    pub pulls_omitted: bool,
    /// A session that ends in a compaction is compacted again while it is above the threshold.
    pub compacts_compacted: bool,
    /// Failed calls count in file lists.
    pub failed_calls_count: bool,
    /// Calls are read from edited messages instead of the original ones.
    pub edited_calls_count: bool,
    /// Details of branch summaries in the summarized range count in file lists (for branches: of compactions too).
    pub summaries_feed_file_lists: bool,
    /// Requests are folded to the summarizer's window.
    pub folds: bool,
    /// Large content in the kept range is elided.
    pub rescues: bool,
    /// Tool results are part of a branch summary's conversation.
    pub branch_tool_results: bool,
    /// A message of the user that is the target of a move is not part of the left branch, although its text returns to
    /// the editor.
    pub branch_leaves_out_target: bool,
    /// The largest output cap of a request, independent of the reserve; without one it is the model's own.
    pub cap_limit: Option<u64>,
}
