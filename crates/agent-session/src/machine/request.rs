//! A compaction that is asked for.

use compaction_core::undoable::Replaceable;
use compaction_core::{Strategy, Trigger};
use session_protocol::CompactionRequest;

use crate::machine::StrategyChoice;

/// What a compaction that was asked for is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Requested {
    /// The session is compacted.
    Compaction(CompactionRequest),
    /// Another compaction takes the place of one that is there.
    Replacement {
        strategy: Strategy,
        focus: Option<String>,
        replaces: Replaceable,
    },
    /// A new session continues from a document.
    Handoff {
        /// What the document should focus on.
        focus: Option<String>,
    },
}

impl Requested {
    pub(super) fn choice(&self) -> StrategyChoice {
        match self {
            Self::Compaction(request) => request
                .strategy
                .map_or(StrategyChoice::Configured, StrategyChoice::By),
            Self::Replacement { strategy, .. } => StrategyChoice::By(*strategy),
            Self::Handoff { .. } => StrategyChoice::Handoff,
        }
    }

    pub(super) fn trigger(&self) -> Trigger {
        let (Self::Compaction(CompactionRequest { focus, .. })
        | Self::Replacement { focus, .. }
        | Self::Handoff { focus }) = self;
        Trigger::Manual {
            focus: focus.clone(),
        }
    }
}
