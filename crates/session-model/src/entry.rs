//! Entries: the nodes of a session's tree, one per line of its file.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::RawJson;
use crate::message::{AgentMessage, Content, CustomMessage, SummaryMessage, Usage};
use crate::timestamp::Timestamp;

/// The id of an entry: usually eight hex digits, but any string is allowed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Returns the id that `text` spells.
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// Returns the id that an entry of a version 1 session has: its position (counted from 1) as eight hex digits.
    pub fn of_position(position: u64) -> Self {
        Self::new(&format!("{position:08x}"))
    }

    /// Returns the text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for EntryId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for EntryId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::new(&text))
    }
}

/// The type of an entry, as its head tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A message of the conversation.
    Message,
    /// The thinking level changed.
    ThinkingLevelChange,
    /// The model changed.
    ModelChange,
    /// Older history was replaced by a summary.
    Compaction,
    /// The summary of a branch that was left.
    BranchSummary,
    /// State of an extension; never in the context.
    Custom,
    /// A message of an extension; in the context.
    CustomMessage,
    /// A label on another entry.
    Label,
    /// The session's name.
    SessionInfo,
    /// Usage that belongs to no message.
    Usage,
    /// An edit of another entry's place in the context.
    ContextEdit,
    /// Everything before it leaves the context (oh-my-pi).
    ResetBoundary,
    /// A type that this crate does not know; kept as it is.
    Unknown,
}

impl EntryKind {
    /// Every kind, in the order of the specification.
    pub const ALL: [Self; 13] = [
        Self::Message,
        Self::ThinkingLevelChange,
        Self::ModelChange,
        Self::Compaction,
        Self::BranchSummary,
        Self::Custom,
        Self::CustomMessage,
        Self::Label,
        Self::SessionInfo,
        Self::Usage,
        Self::ContextEdit,
        Self::ResetBoundary,
        Self::Unknown,
    ];

    /// Returns the kind that the `type` of a line names.
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL.iter().find(|kind| kind.name() == name);
        known.copied().unwrap_or(Self::Unknown)
    }

    /// Returns the name that the `type` of a line has; `unknown` stands for all others.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::ThinkingLevelChange => "thinking_level_change",
            Self::ModelChange => "model_change",
            Self::Compaction => "compaction",
            Self::BranchSummary => "branch_summary",
            Self::Custom => "custom",
            Self::CustomMessage => "custom_message",
            Self::Label => "label",
            Self::SessionInfo => "session_info",
            Self::Usage => "usage",
            Self::ContextEdit => "context_edit",
            Self::ResetBoundary => "reset_boundary",
            Self::Unknown => "unknown",
        }
    }
}

/// One entry with its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// The id of its parent as written, or `None` at a root.
    pub parent: Option<EntryId>,
    /// When it was written, if the line says so in a readable way.
    pub timestamp: Option<Timestamp>,
    /// What it says.
    pub body: EntryBody,
}

impl Entry {
    /// Returns the messages that the entry contributes to a context by itself, edits aside: none, one,
    /// or (a compaction that replays a system message) two. An empty branch summary contributes none.
    pub fn messages(&self) -> Vec<Arc<AgentMessage>> {
        match &self.body {
            EntryBody::Message(message) => vec![message.clone()],
            EntryBody::CustomMessage(message) => {
                vec![Arc::new(AgentMessage::Custom(message.clone()))]
            }
            EntryBody::BranchSummary(branch) if !branch.summary.is_empty() => {
                vec![Arc::new(AgentMessage::BranchSummary(SummaryMessage {
                    summary: branch.summary.clone(),
                    timestamp: self.timestamp,
                }))]
            }
            EntryBody::Compaction(compaction) => {
                let summary = AgentMessage::CompactionSummary(SummaryMessage {
                    summary: compaction.summary.clone(),
                    timestamp: self.timestamp,
                });
                let system = compaction.system.clone();
                system.into_iter().chain([Arc::new(summary)]).collect()
            }
            EntryBody::BranchSummary(_)
            | EntryBody::ThinkingLevelChange(_)
            | EntryBody::ModelChange(_)
            | EntryBody::Custom { .. }
            | EntryBody::Label { .. }
            | EntryBody::SessionInfo(_)
            | EntryBody::Usage { .. }
            | EntryBody::ContextEdit { .. }
            | EntryBody::ResetBoundary
            | EntryBody::Unknown(_) => Vec::new(),
        }
    }
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EntryBody {
    /// A message of the conversation.
    Message(Arc<AgentMessage>),
    /// The thinking level changed to this.
    ThinkingLevelChange(String),
    /// The model changed to this.
    ModelChange(ModelRef),
    /// Older history was replaced by a summary.
    Compaction(Box<Compaction>),
    /// The summary of a branch that was left.
    BranchSummary(Box<BranchSummary>),
    /// State of an extension.
    Custom {
        /// Whose state it is.
        custom_type: String,
        /// The state.
        data: Option<RawJson>,
    },
    /// A message of an extension, part of the context.
    CustomMessage(Arc<CustomMessage>),
    /// A label.
    Label {
        /// The entry that is labelled.
        target: EntryId,
        /// The label; `None` clears it.
        label: Option<String>,
    },
    /// The session's name; `None` clears it.
    SessionInfo(Option<String>),
    /// Usage that belongs to no message.
    Usage {
        /// What the tokens were spent on.
        kind: String,
        /// The tokens.
        usage: Usage,
    },
    /// An edit of another entry's place in the context.
    ContextEdit {
        /// The entry whose message changes.
        target: EntryId,
        /// The new content; `None` takes the message out of the context.
        replacement: Option<Content>,
    },
    /// Everything before it leaves the context.
    ResetBoundary,
    /// A type that this crate does not know.
    Unknown(String),
}

impl EntryBody {
    /// Returns the kind of the entry.
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Message(_) => EntryKind::Message,
            Self::ThinkingLevelChange(_) => EntryKind::ThinkingLevelChange,
            Self::ModelChange(_) => EntryKind::ModelChange,
            Self::Compaction(_) => EntryKind::Compaction,
            Self::BranchSummary(_) => EntryKind::BranchSummary,
            Self::Custom { .. } => EntryKind::Custom,
            Self::CustomMessage(_) => EntryKind::CustomMessage,
            Self::Label { .. } => EntryKind::Label,
            Self::SessionInfo(_) => EntryKind::SessionInfo,
            Self::Usage { .. } => EntryKind::Usage,
            Self::ContextEdit { .. } => EntryKind::ContextEdit,
            Self::ResetBoundary => EntryKind::ResetBoundary,
            Self::Unknown(_) => EntryKind::Unknown,
        }
    }
}

/// A model and who serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelRef {
    /// The provider, for example `anthropic`; empty when the session does not say.
    pub provider: String,
    /// The provider's name for the model.
    pub model_id: String,
}

/// A compaction: older history replaced by a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The summary, file tags included.
    pub summary: String,
    /// A short form for lists.
    pub short_summary: Option<String>,
    /// The first entry that stays in the context as it is. The compaction's own id means that none does.
    pub first_kept: EntryId,
    /// Tokens of the context before it, as the writer counted them.
    pub tokens_before: u64,
    /// File lists and whatever else the writer put there.
    pub details: Option<RawJson>,
    /// Provider payloads that replace the readable summary where they can be replayed.
    pub preserve_data: Option<RawJson>,
    /// True when an extension made the summary (oh-my-pi's flag); its details are not used for file tracking.
    pub from_extension: bool,
    /// True when a hook made the summary (pi's flag); its details are not used for file tracking.
    pub from_hook: bool,
    /// The system message in force, replayed before the summary.
    pub system: Option<Arc<AgentMessage>>,
}

impl Compaction {
    /// Returns true for a compaction of the strategy `restore`: its summary is acknowledged in the projection.
    pub fn restores(&self) -> bool {
        let details = self.details.as_ref();
        let strategy = details.and_then(|details| details.string_member("strategy"));
        strategy.as_deref() == Some("restore")
    }
}

/// The summary of a branch that was left.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummary {
    /// The leaf of the branch that was left, or `root`.
    pub from: EntryId,
    /// The summary, file tags included.
    pub summary: String,
    /// File lists and whatever else the writer put there.
    pub details: Option<RawJson>,
    /// True when an extension made the summary (oh-my-pi's flag).
    pub from_extension: bool,
    /// True when a hook made the summary (pi's flag).
    pub from_hook: bool,
}

/// The file lists that a summary's details carry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDetails {
    /// Files that were only read.
    pub read_files: Vec<String>,
    /// Files that were written or edited.
    pub modified_files: Vec<String>,
}

impl FileDetails {
    /// Returns the lists that `details` carry; members that are no strings are passed over.
    pub fn of(details: &RawJson) -> Self {
        let tree = details.to_value();
        let list = |key: &str| -> Vec<String> {
            let items = tree.get(key).and_then(serde_json::Value::as_array);
            let texts = items.into_iter().flatten().filter_map(|item| item.as_str());
            texts.map(str::to_owned).collect()
        };
        Self {
            read_files: list("readFiles"),
            modified_files: list("modifiedFiles"),
        }
    }
}
