//! New entries: drafts that become lines once they are stamped with id, parent and time.

use crate::entry::{EntryId, ModelRef};
use crate::json::{RawJson, quoted};
use crate::message::{Content, MessageDraft, SystemMessage, content_text, push_member, system_raw};
use crate::timestamp::Timestamp;

/// What makes an entry out of a draft. Identity and time come from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The id of the new entry.
    pub id: EntryId,
    /// Its parent, or `None` for a root.
    pub parent: Option<EntryId>,
    /// When it is written.
    pub timestamp: Timestamp,
    /// The last entry of the same write, where this one counts only together with it.
    pub part_of: Option<EntryId>,
}

/// The first entry that a compaction keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstKept {
    /// This entry.
    Entry(EntryId),
    /// None: written as the compaction's own id.
    None,
}

/// An entry that is not stamped yet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EntryDraft {
    /// A compaction.
    Compaction(Box<CompactionDraft>),
    /// The summary of a branch that is left.
    BranchSummary(Box<BranchSummaryDraft>),
    /// An edit of another entry's place in the context.
    ContextEdit(ContextEditDraft),
    /// State of an extension, or of this project.
    Custom(CustomDraft),
    /// A message of an extension, or of this project, that the model sees.
    CustomMessage(CustomMessageDraft),
    /// A message of the conversation.
    Message(Box<MessageDraft>),
    /// A label on another entry.
    Label(LabelDraft),
    /// The session's name.
    SessionInfo(SessionInfoDraft),
    /// The model changes to this.
    ModelChange(ModelRef),
    /// The thinking level changes to this.
    ThinkingLevelChange(String),
}

/// A compaction that is not stamped yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionDraft {
    /// The summary, file tags included.
    pub summary: String,
    /// A short form for lists.
    pub short_summary: Option<String>,
    /// The first entry that stays as it is.
    pub first_kept: FirstKept,
    /// Tokens of the context before, in the measure that peers read.
    pub tokens_before: u64,
    /// File lists and provenance.
    pub details: Option<RawJson>,
    /// Provider payloads.
    pub preserve_data: Option<RawJson>,
    /// True when an extension or a hook made the summary.
    pub from_extension: bool,
    /// The system message in force, which peers replay.
    pub system: Option<SystemMessage>,
}

/// A branch summary that is not stamped yet; the stamp's parent is where the conversation goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummaryDraft {
    /// The leaf that is left, or `None` when nothing was there.
    pub from: Option<EntryId>,
    /// The summary, preamble and file tags included.
    pub summary: String,
    /// File lists and provenance.
    pub details: Option<RawJson>,
    /// True when an extension or a hook made the summary.
    pub from_extension: bool,
}

/// A context edit that is not stamped yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextEditDraft {
    /// The entry whose message changes.
    pub target: EntryId,
    /// The new content; `None` takes the message out of the context.
    pub replacement: Option<Content>,
}

/// A custom entry that is not stamped yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomDraft {
    /// Whose entry it is.
    pub custom_type: String,
    /// What it carries.
    pub data: Option<RawJson>,
}

/// A custom message that is not stamped yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomMessageDraft {
    /// Whose message it is.
    pub custom_type: String,
    /// What it says.
    pub content: Content,
    /// Whether people see it.
    pub display: bool,
    /// What is kept with it, unseen by the model.
    pub details: Option<RawJson>,
}

/// A label that is not stamped yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelDraft {
    /// The entry that is labelled.
    pub target: EntryId,
    /// The label; `None` clears it.
    pub label: Option<String>,
}

/// A session's name that is not stamped yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfoDraft {
    /// The name; an empty one clears it.
    pub name: String,
}

impl EntryDraft {
    /// Returns true for what replaces, edits or adds to what the model sees of other entries.
    fn changes_context(&self) -> bool {
        match self {
            Self::Compaction(_) | Self::BranchSummary(_) | Self::ContextEdit(_) => true,
            Self::Custom(_)
            | Self::CustomMessage(_)
            | Self::Message(_)
            | Self::Label(_)
            | Self::SessionInfo(_)
            | Self::ModelChange(_)
            | Self::ThinkingLevelChange(_) => false,
        }
    }

    /// Returns the line of the entry: one JSON object without a line ending.
    pub fn stamp(&self, stamp: &Stamp) -> String {
        match self {
            Self::Compaction(draft) => draft.line(stamp),
            Self::BranchSummary(draft) => draft.line(stamp),
            Self::ContextEdit(draft) => line(
                stamp,
                &[("targetId", quoted(&draft.target))],
                "context_edit",
                &[("replacement", Some(replacement_text(draft)))],
            ),
            Self::Custom(draft) => line(
                stamp,
                &[("customType", quoted(&draft.custom_type))],
                "custom",
                &[("data", text_of(draft.data.as_ref()))],
            ),
            Self::CustomMessage(draft) => line(
                stamp,
                &[
                    ("customType", quoted(&draft.custom_type)),
                    ("content", content_text(&draft.content)),
                    ("display", draft.display.to_string()),
                ],
                "custom_message",
                &[("details", text_of(draft.details.as_ref()))],
            ),
            Self::Message(draft) => {
                let message = draft.to_json_text(stamp.timestamp);
                line(stamp, &[("message", message)], "message", &[])
            }
            Self::Label(draft) => line(
                stamp,
                &[("targetId", quoted(&draft.target))],
                "label",
                &[("label", draft.label.as_deref().map(quoted))],
            ),
            Self::SessionInfo(draft) => {
                line(stamp, &[("name", quoted(&draft.name))], "session_info", &[])
            }
            Self::ModelChange(model) => line(
                stamp,
                &[
                    ("provider", quoted(&model.provider)),
                    ("modelId", quoted(&model.model_id)),
                ],
                "model_change",
                &[],
            ),
            Self::ThinkingLevelChange(level) => line(
                stamp,
                &[("thinkingLevel", quoted(level))],
                "thinking_level_change",
                &[],
            ),
        }
    }
}

/// Returns the lines of entries that are written in one call, as a chain under `parent`.
///
/// What changes the context counts as a whole or not at all: the entries of a pruning, a compaction or a branch
/// summary name the last entry of the write, and [`decode_bytes`](crate::decode_bytes) sets them aside where that one
/// is missing. Messages before them count by themselves.
pub fn stamp_write(
    entries: &[(EntryId, EntryDraft)],
    parent: Option<EntryId>,
    timestamp: Timestamp,
) -> Vec<String> {
    let changes = entries.iter().any(|(_, draft)| draft.changes_context());
    let is_message = |(_, draft): &(EntryId, EntryDraft)| matches!(draft, EntryDraft::Message(_));
    let first = entries.iter().position(|entry| !is_message(entry));
    let first = first.filter(|_| changes).unwrap_or(entries.len());
    let last = entries.last().map(|(id, _)| id);
    let mut parent = parent;
    let stamped = entries.iter().enumerate().map(|(place, (id, draft))| {
        let is_part = place >= first && Some(id) != last;
        draft.stamp(&Stamp {
            id: id.clone(),
            parent: parent.replace(id.clone()),
            timestamp,
            part_of: last.filter(|_| is_part).cloned(),
        })
    });
    stamped.collect()
}

impl CompactionDraft {
    fn line(&self, stamp: &Stamp) -> String {
        let kept = match &self.first_kept {
            FirstKept::Entry(id) => id,
            FirstKept::None => &stamp.id,
        };
        let millis = stamp.timestamp.as_millis();
        let system = self.system.as_ref();
        line(
            stamp,
            &[
                ("summary", quoted(&self.summary)),
                ("firstKeptEntryId", quoted(kept)),
                ("tokensBefore", self.tokens_before.to_string()),
            ],
            "compaction",
            &[
                ("shortSummary", self.short_summary.as_deref().map(quoted)),
                ("details", text_of(self.details.as_ref())),
                ("preserveData", text_of(self.preserve_data.as_ref())),
                ("fromExtension", flag(self.from_extension)),
                ("fromHook", flag(self.from_extension)),
                (
                    "systemMessage",
                    text_of(system.map(|system| system_raw(system, millis)).as_ref()),
                ),
            ],
        )
    }
}

impl BranchSummaryDraft {
    fn line(&self, stamp: &Stamp) -> String {
        let from = self.from.as_deref().unwrap_or("root");
        line(
            stamp,
            &[("fromId", quoted(from)), ("summary", quoted(&self.summary))],
            "branch_summary",
            &[
                ("details", text_of(self.details.as_ref())),
                ("fromExtension", flag(self.from_extension)),
                ("fromHook", flag(self.from_extension)),
            ],
        )
    }
}

/// The header of a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderDraft {
    /// The session's id.
    pub id: String,
    /// When it begins.
    pub timestamp: Timestamp,
    /// The folder that it works in.
    pub cwd: String,
    /// The session that it is forked from.
    pub parent_session: Option<String>,
}

impl HeaderDraft {
    /// Returns the line of the header, in version 3, without a line ending.
    pub fn line(&self) -> String {
        let mut out = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":{},\"timestamp\":\"{}\",\"cwd\":{}",
            quoted(&self.id),
            self.timestamp,
            quoted(&self.cwd)
        );
        if let Some(parent) = &self.parent_session {
            out.push_str(&format!(",\"parentSession\":{}", quoted(parent)));
        }
        out.push('}');
        out
    }
}

/// Spells a line: the base, then `members`, then the `optional` ones that are there. Values are JSON texts.
fn line(
    stamp: &Stamp,
    members: &[(&str, String)],
    kind: &str,
    optional: &[(&str, Option<String>)],
) -> String {
    let parent = stamp.parent.as_deref().map_or("null".to_owned(), quoted);
    let part_of = stamp.part_of.as_deref().map(quoted);
    let part_of = part_of.map_or_else(String::new, |last| format!(",\"partOf\":{last}"));
    let mut out = format!(
        "{{\"type\":\"{kind}\",\"id\":{},\"parentId\":{parent}{part_of},\"timestamp\":\"{}\"",
        quoted(&stamp.id),
        stamp.timestamp
    );
    let optional = optional.iter();
    let present = optional.filter_map(|(name, value)| Some((*name, value.as_ref()?)));
    for (name, value) in members
        .iter()
        .map(|(name, value)| (*name, value))
        .chain(present)
    {
        out.push(',');
        push_member(&mut out, name, value);
    }
    out.push('}');
    out
}

fn text_of(raw: Option<&RawJson>) -> Option<String> {
    raw.map(RawJson::one_line)
}

fn flag(value: bool) -> Option<String> {
    value.then(|| "true".to_owned())
}

fn replacement_text(draft: &ContextEditDraft) -> String {
    match &draft.replacement {
        None => "null".to_owned(),
        Some(content) => format!("{{\"content\":{}}}", content_text(content)),
    }
}
