//! The figures of a loss report.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use session_model::EntryId;

use super::Missing;
use session_model::tokens::TokenCount;

/// How many of a kind there were and where they are now. Each is in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct KindLoss {
    /// How many different ones were taken out of the context.
    pub total: usize,
    /// Those that the model can still read.
    pub in_context: usize,
    /// Those that it can find again by the id of their entry.
    pub recoverable: usize,
    /// Those that cannot be found again, as far as a record names them: none, unless the file lost entries.
    pub gone: usize,
    /// Those that were not looked for, because there was too much.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_searched: usize,
}

/// How many texts there were and how many of them stand verbatim in the context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Verbatim {
    /// How many were taken out of the context.
    pub total: usize,
    /// Those that the model can still read verbatim.
    pub verbatim: usize,
    /// Those that no entry holds any more, as far as a record names them.
    #[serde(skip_serializing_if = "is_zero")]
    pub gone: usize,
    /// Those that were not looked for, because there was too much.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_searched: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Something that is out of context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostText {
    /// What it says, on one line, long ones cut.
    pub text: String,
    /// The newest entry that says it.
    pub entry_id: EntryId,
    /// In how many messages it stood.
    pub times: usize,
}

/// What was taken out of a context, and how much of it can be read all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ContextLoss {
    /// Tokens of the messages that were taken out.
    pub removed_tokens: TokenCount,
    /// The literals in them, by the name of their kind.
    pub kinds: BTreeMap<&'static str, KindLoss>,
    /// The messages of the user.
    pub user_messages: Verbatim,
    /// The rules that the user stated.
    pub rules: Verbatim,
    /// The weightiest of what is out of context, by the name of its kind (`rules` and `user_messages` too): what was said
    /// most often, and of that the latest.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weightiest: BTreeMap<&'static str, Vec<LostText>>,
    /// True when there was too much to look for, so that some of it is nowhere counted but as not searched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
}

impl ContextLoss {
    /// Returns how many literals there were, of all kinds.
    pub fn total(&self) -> usize {
        self.kinds.values().map(|kind| kind.total).sum()
    }

    /// Returns how many of them the model can still read.
    pub fn in_context(&self) -> usize {
        self.kinds.values().map(|kind| kind.in_context).sum()
    }

    /// Returns how many of them were looked for.
    pub fn searched(&self) -> usize {
        let kinds = self.kinds.values();
        kinds.map(|kind| kind.total - kind.not_searched).sum()
    }

    /// Returns the share of those looked for that the model can still read, in percent; `None` when there were none.
    pub fn in_context_percent(&self) -> Option<f64> {
        let (total, in_context) = (self.searched(), self.in_context());
        let tenths = (in_context * 1000).checked_div(total)?;
        u32::try_from(tenths)
            .ok()
            .map(|tenths| f64::from(tenths) / 10.0)
    }

    /// Returns the copy that an entry's details keep: kinds of which there was nothing are left out.
    pub(crate) fn details(&self) -> Value {
        let kinds = self.kinds.iter().filter(|(_, kind)| kind.total > 0);
        let kinds: BTreeMap<_, _> = kinds
            .map(|(name, kind)| {
                let kind = json!({ "total": kind.total, "inContext": kind.in_context });
                (name, kind)
            })
            .collect();
        let mut details = json!({
            "inContextPercent": self.in_context_percent(),
            "removedTokens": self.removed_tokens,
            "kinds": kinds,
            "userMessages": self.user_messages,
            "rules": self.rules,
        });
        if self.in_part {
            details["inPart"] = json!(true);
        }
        details
    }
}

/// What one compaction removed from the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompactionLoss {
    /// The compaction.
    pub entry_id: EntryId,
    /// Tokens of its summary.
    pub summary_tokens: TokenCount,
    /// What it took out of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
    /// What the summary quotes as the user's words and the user never said.
    pub invented: Vec<String>,
    /// How many quotes were not looked for in all that was said, because there was too much.
    #[serde(skip_serializing_if = "is_zero")]
    pub quotes_not_searched: usize,
    /// What the session no longer holds of what was taken out.
    #[serde(skip_serializing_if = "Missing::is_nothing")]
    pub missing: Missing,
}

/// What edits of entries without a compaction removed from the context: prunings, shortened results, answers that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditLoss {
    /// The last of them.
    pub entry_id: EntryId,
    /// How many entries they are.
    pub entries: usize,
    /// What they took out of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
}

/// What all compactions and edits of a branch removed from the context, compared with the context as it is now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TotalLoss {
    /// How many compactions there are.
    pub compactions: usize,
    /// How often entries were edited without one.
    pub edits: usize,
    /// What they took out of the context.
    #[serde(flatten)]
    pub loss: ContextLoss,
    /// How many quotes were invented.
    pub invented: usize,
    /// How many quotes were not looked for in all that was said.
    #[serde(skip_serializing_if = "is_zero")]
    pub quotes_not_searched: usize,
    /// What the session no longer holds.
    #[serde(skip_serializing_if = "Missing::is_nothing")]
    pub missing: Missing,
}

/// What the compactions and edits of a branch removed from the context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LossReport {
    /// Each of them, oldest first.
    pub compactions: Vec<CompactionLoss>,
    /// Edits without a compaction, oldest first; those in front of a compaction count with it.
    pub edits: Vec<EditLoss>,
    /// All of them together.
    pub totals: TotalLoss,
}
