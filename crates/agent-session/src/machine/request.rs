//! A compaction that is asked for.

use compaction_core::undoable::Replaceable;
use compaction_core::{Strategy, Trigger};
use session_model::EntryId;

use crate::machine::StrategyChoice;

/// A compaction as the user wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactionRequest {
    /// What the summary should focus on.
    pub focus: Option<String>,
    /// How it is done; as the settings say unless given.
    pub strategy: Option<Strategy>,
    /// What is decided of single entries.
    pub choices: CompactionChoices,
    /// Whether the summary is read, and may be edited, before it is written.
    pub review: bool,
}

/// What is decided of single entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactionChoices {
    /// Kept verbatim in the summary, and in those that follow.
    pub pin: Vec<EntryId>,
    /// Left out of the context and of the summary; they stay in the session.
    pub drop: Vec<EntryId>,
}

impl From<Option<String>> for CompactionRequest {
    fn from(focus: Option<String>) -> Self {
        Self {
            focus,
            ..Self::default()
        }
    }
}

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
