//! The figures of a loss report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use session_model::EntryId;
use session_model::tokens::TokenCount;

use super::Missing;

/// The kind of a removed item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LossKind {
    /// A message of the user.
    UserMessage,
    /// An answer of the model.
    Answer,
    /// The result of a call, or the output of a command of the user.
    Result,
    /// An image that the user or a tool showed.
    Image,
    /// A file that calls read or changed.
    File,
    /// A command whose last run failed.
    FailingCommand,
    /// An open todo.
    Todo,
}

impl LossKind {
    /// All of them, the weightiest first.
    pub const ALL: &[Self] = &[
        Self::UserMessage,
        Self::FailingCommand,
        Self::Todo,
        Self::Image,
        Self::File,
        Self::Answer,
        Self::Result,
    ];

    /// Returns the name of several of them, as JSON output has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserMessage => "user_messages",
            Self::Answer => "answers",
            Self::Result => "results",
            Self::Image => "images",
            Self::File => "files",
            Self::FailingCommand => "failing_commands",
            Self::Todo => "todos",
        }
    }
}

/// The number of removed items of a kind that the model can still read. Each counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindLoss {
    /// The number of items removed from the context.
    pub total: usize,
    /// Readable verbatim.
    pub verbatim: usize,
    /// Readable in part.
    pub shortened: usize,
    /// Named by the id of the entry, or the name of the file.
    pub named: usize,
    /// Not in context. Their entries are in the session.
    pub gone: usize,
    /// Not searched, because there was too much.
    #[serde(default)]
    pub not_searched: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A removed item of which no part is left in the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostText {
    /// The text on one line, cut if it is long.
    pub text: String,
    /// Its entry.
    pub entry_id: EntryId,
    /// Its tokens.
    pub tokens: TokenCount,
}

/// The items removed from a context, and how many of them can still be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ContextLoss {
    /// Tokens of the messages that were taken out.
    pub removed_tokens: TokenCount,
    /// The loss of each kind.
    pub kinds: BTreeMap<&'static str, KindLoss>,
    /// The largest removed items, by the name of their kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weightiest: BTreeMap<&'static str, Vec<LostText>>,
    /// True when there was too much to search for, so that some items count as not searched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
}

impl ContextLoss {
    /// Returns the figures of a kind.
    pub fn of(&self, kind: LossKind) -> KindLoss {
        self.kinds.get(kind.name()).copied().unwrap_or_default()
    }

    /// Returns the copy that an entry's details keep: kinds of which there was nothing are left out.
    pub(crate) fn details(&self) -> Value {
        let kinds = self.kinds.iter().filter(|(_, kind)| kind.total > 0);
        let kinds: BTreeMap<_, _> = kinds.collect();
        json!({ "removedTokens": self.removed_tokens, "kinds": kinds })
    }
}

/// The items that one compaction removed from the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactionLoss {
    /// The compaction.
    pub entry_id: EntryId,
    /// Tokens of its summary.
    pub summary_tokens: TokenCount,
    /// The loss of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
    /// Quotes of the summary that no entry before it contains.
    pub invented: Vec<String>,
    /// The number of quotes that were not searched for in the conversation, because there was too much text.
    #[serde(skip_serializing_if = "is_zero")]
    pub quotes_not_searched: usize,
    /// Removed content that the session no longer holds.
    #[serde(skip_serializing_if = "Missing::is_nothing")]
    pub missing: Missing,
}

/// The items that edits without a compaction removed from the context: prunings, shortened results, failed answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditLoss {
    /// The last of them.
    pub entry_id: EntryId,
    /// The number of entries.
    pub entries: usize,
    /// The loss of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
}

/// The items that all compactions and edits of a branch removed from the context, compared with the current context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TotalLoss {
    /// The number of compactions.
    pub compactions: usize,
    /// The number of edits without one.
    pub edits: usize,
    /// The loss of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
    /// The number of invented quotes.
    pub invented: usize,
    /// The number of quotes that were not searched for in the conversation.
    #[serde(skip_serializing_if = "is_zero")]
    pub quotes_not_searched: usize,
    /// The content that the session no longer holds.
    #[serde(skip_serializing_if = "Missing::is_nothing")]
    pub missing: Missing,
}

/// The loss by the compactions and edits of a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LossReport {
    /// Each of them, oldest first.
    pub compactions: Vec<CompactionLoss>,
    /// Edits without a compaction, oldest first; those in front of a compaction count with it.
    pub edits: Vec<EditLoss>,
    /// All of them together.
    pub totals: TotalLoss,
}
