//! The reasons why there is nothing to compact.

use crate::plan::WindowTooSmall;
use crate::shares::ContextShares;
use session_model::tokens::TokenCount;

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NothingToDo {
    /// The context ends in a compaction and is not above the threshold.
    #[error("Already compacted")]
    AlreadyCompacted,
    /// Everything fits into what stays verbatim.
    #[error("Nothing to compact (session too small)")]
    TooSmall,
    /// Nothing is old enough to be summarized, but the context exceeds the threshold; see
    /// [`plan_elision`](crate::plan_elision).
    #[error("the newest turn alone takes {tokens} tokens, more than the threshold of {threshold}")]
    NothingOld {
        /// Tokens of the context.
        tokens: TokenCount,
        /// The threshold.
        threshold: TokenCount,
    },
    /// The content that must stay exceeds the window by itself.
    #[error("what must stay takes {after} tokens, more than the window of {window}: {shares}")]
    CannotFit {
        /// Tokens after the compaction.
        after: TokenCount,
        /// The window.
        window: TokenCount,
        /// The parts of the context.
        shares: ContextShares,
    },
    /// The context is above the threshold, and nothing in it is long enough to be shortened.
    #[error("nothing can be shortened of {tokens} tokens: {shares}")]
    NothingLong {
        /// Tokens of the context.
        tokens: TokenCount,
        /// The parts of the context.
        shares: ContextShares,
    },
    /// The summarizer's window is too small for any request.
    #[error(transparent)]
    Window(#[from] WindowTooSmall),
}
