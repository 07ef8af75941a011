//! The inputs of a plan, in addition to the path.

use crate::restore::RestoreInput;
use crate::rules::Profile;
use crate::settings::Settings;
use session_model::tokens::TokenCount;

/// The reason why a compaction is considered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// The user requested it.
    Manual {
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// The context exceeds the threshold.
    Threshold,
    /// The provider refused the context as too large.
    Overflow,
    /// The answer was cut off by its output cap.
    Incomplete,
    /// The session has been idle.
    Idle,
    /// Too many images of tools are in the context.
    Image,
}

impl Trigger {
    /// Returns true unless the user requested it.
    pub const fn is_automatic(&self) -> bool {
        !matches!(self, Self::Manual { .. })
    }

    /// Returns the name that events and details use.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Manual { .. } => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
            Self::Incomplete => "incomplete",
            Self::Idle => "idle",
            Self::Image => "image",
        }
    }

    /// Returns what the summary should focus on.
    pub fn focus(&self) -> Option<&str> {
        match self {
            Self::Manual { focus } => focus.as_deref(),
            Self::Threshold | Self::Overflow | Self::Incomplete | Self::Idle | Self::Image => None,
        }
    }
}

/// The limits of the summarizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummarizerLimits {
    /// Its window.
    pub window: TokenCount,
    /// The most that it answers, if it has such a cap.
    pub max_output: Option<TokenCount>,
}

/// Additions of hooks to the requests of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookInput {
    /// A prompt that replaces the base prompt.
    pub prompt: Option<String>,
    /// Lines of additional context.
    pub context: Vec<String>,
}

/// Everything that decides a plan, in addition to the path and the trigger.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The settings.
    pub settings: Settings,
    /// The profile whose rules are followed.
    pub profile: Profile,
    /// The window of the model that the session talks to; zero when unknown.
    pub window: TokenCount,
    /// The limits of the summarizer.
    pub summarizer: SummarizerLimits,
    /// Additions of hooks.
    pub hooks: HookInput,
    /// The contents on disk of the touched files; only the strategy `restore` uses it.
    pub restore: RestoreInput,
}

impl PlanOptions {
    /// Returns options with default settings for a model of this window that also writes the summaries.
    pub fn for_window(window: TokenCount) -> Self {
        Self::new(Settings::default(), window)
    }

    /// Returns options with these settings for a model of this window that also writes the summaries.
    pub fn new(settings: Settings, window: TokenCount) -> Self {
        Self {
            settings,
            profile: Profile::Own,
            window,
            summarizer: SummarizerLimits {
                window,
                max_output: None,
            },
            hooks: HookInput::default(),
            restore: RestoreInput::default(),
        }
    }
}
