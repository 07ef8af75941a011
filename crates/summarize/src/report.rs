//! What went wrong with a candidate, and the account of a whole run.

use compaction_core::{AnswerError, ApplyError, TokenCount};
use llm_providers::{ProviderError, ProviderErrorKind};
use serde::Serialize;
use session_model::Usage;

/// Why a candidate wrote no summary.
#[non_exhaustive]
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    /// It could not be asked, or did not answer.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// What it answered is no summary.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// Its summary helps nothing.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// Its window is too small for any request.
    #[error("{0}")]
    Window(String),
    /// The native history is no smaller than what it replaces.
    #[error("the native history takes {after} tokens, the context {before}")]
    NoSmaller {
        /// Tokens before.
        before: TokenCount,
        /// Tokens after.
        after: TokenCount,
    },
}

impl Failure {
    /// Returns true for what the user can mend and another try cannot.
    pub(super) fn is_mistake(&self) -> bool {
        match self {
            Self::Provider(error) => {
                let mistakes = [ProviderErrorKind::Auth, ProviderErrorKind::Unreachable];
                mistakes.contains(&error.kind) || self.is_refused()
            }
            Self::Answer(_) | Self::Apply(_) | Self::Window(_) | Self::NoSmaller { .. } => false,
        }
    }

    /// Returns true when the user cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Provider(error) if error.kind == ProviderErrorKind::Cancelled)
    }

    pub(super) fn is_refused(&self) -> bool {
        matches!(self, Self::Provider(error) if matches!(
            error.kind,
            ProviderErrorKind::InvalidRequest
                | ProviderErrorKind::ImageRejected
                | ProviderErrorKind::ThinkingRejected
        ))
    }

    pub(super) fn is_overflow(&self) -> bool {
        matches!(self, Self::Provider(error) if matches!(
            error.kind,
            ProviderErrorKind::ContextOverflow | ProviderErrorKind::PayloadTooLarge
        ))
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Provider(error) => error.kind.name(),
            Self::Answer(_) => "no_summary",
            Self::Apply(
                ApplyError::Worthless { .. } | ApplyError::Echo | ApplyError::Repeats { .. },
            ) => "worthless",
            Self::Apply(_) | Self::NoSmaller { .. } => "no_progress",
            Self::Window(_) => "window",
        }
    }
}

/// A candidate that failed.
#[derive(Debug, Clone, Serialize)]
pub struct Failed {
    /// Its name.
    pub candidate: String,
    /// How it was asked.
    pub way: &'static str,
    /// What kind of failure it was.
    pub kind: &'static str,
    /// What was said.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The service's id of the request.
    pub request_id: Option<String>,
}

/// An account of what models were asked and what it took.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ModelReport {
    /// Who wrote the summary; `None` for the outline.
    pub answered_by: Option<String>,
    /// How it was asked.
    pub way: Option<&'static str>,
    /// How many requests were sent, failed ones and new attempts included.
    pub requests_sent: usize,
    /// How many of them were new attempts.
    pub retries: usize,
    /// How often the requests were made smaller because they exceeded a window.
    pub folds: usize,
    /// What was billed in all.
    pub usage: Usage,
    /// What that costs in USD, where prices are known.
    pub cost_usd: Option<f64>,
    /// True when the cost of some of it is not known, so that the sum is too low.
    pub cost_is_partial: bool,
    /// Tokens of the native history, where one was made.
    pub native_tokens_after: Option<TokenCount>,
    /// Seconds in which models were waited for.
    pub seconds: f64,
    /// The candidates that failed, in order.
    pub failed: Vec<Failed>,
}

impl ModelReport {
    /// Returns the account when a model was to be asked at all.
    pub fn of_models(&self) -> Option<&Self> {
        (self.requests_sent > 0 || !self.failed.is_empty()).then_some(self)
    }
}
