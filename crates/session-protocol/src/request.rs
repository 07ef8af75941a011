//! What is asked for in more than a word: a compaction, a move of the leaf; and how a turn ended.

use compaction_core::Strategy;
use session_model::EntryId;

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

/// Where the leaf should go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigation {
    /// The entry; `None` is before everything.
    pub target: Option<EntryId>,
    /// Whether the branch that is left is summarized.
    pub summarize: bool,
    /// What the summary should focus on.
    pub focus: Option<String>,
    /// A label for the place that is reached.
    pub label: Option<String>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model was done.
    Done,
    /// It failed, with the error that people read.
    Failed(String),
    /// It was stopped.
    Aborted,
    /// A limit, which is named, stopped it before the model was asked again.
    LimitReached(String),
}

impl TurnEnd {
    /// Returns its name in events.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Aborted => "aborted",
            Self::LimitReached(_) => "limit",
        }
    }

    /// Returns what went wrong, or which limit was reached.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Failed(why) | Self::LimitReached(why) => Some(why),
            Self::Done | Self::Aborted => None,
        }
    }

    /// Returns the end that events name so.
    pub fn of(name: &str, error: String) -> Self {
        match name {
            "done" => Self::Done,
            "aborted" => Self::Aborted,
            "limit" => Self::LimitReached(error),
            _ => Self::Failed(error),
        }
    }
}
