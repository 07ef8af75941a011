//! Bodies of entries: from the bytes of one line to an [`Entry`].

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::entry::{BranchSummary, Compaction, Entry, EntryBody, EntryId, EntryKind, ModelRef};
use crate::json::{self, RawJson, Repaired, member, parse_repairing};
use crate::message::{
    AgentMessage, Content, CustomMessage, Usage, WireContent, WireMessage, coerce_message,
    restore_raw_values,
};
use crate::source::SourceError;
use crate::timestamp::Timestamp;

/// Why the body of an entry could not be read. Its bytes are still in the session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The bytes could not be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The line is not JSON, or not an object.
    #[error("line {line} cannot be read: {reason}")]
    Damaged {
        /// The line, counted from 1.
        line: u64,
        /// What the parser said.
        reason: String,
    },
}

/// An entry that was read, and what had to be repaired for that.
pub(crate) struct ReadEntry {
    pub entry: Entry,
    pub repair: Option<String>,
}

/// What the head of a line already told.
pub(crate) struct Known {
    pub id: EntryId,
    pub parent: Option<EntryId>,
    pub kind: EntryKind,
    pub line: u64,
    /// The version of the session: before 2 compactions point at positions, before 3 extension messages have another role.
    pub version: u64,
}

/// Returns the entry that `bytes` spell.
pub(crate) fn read_entry(bytes: &[u8], known: Known) -> Result<ReadEntry, BodyError> {
    let line = known.line;
    let damaged = |error: serde_json::Error| BodyError::Damaged {
        line,
        reason: error.to_string(),
    };
    let (timestamp, body, repair) = read_body(bytes, &known).map_err(damaged)?;
    Ok(ReadEntry {
        entry: Entry {
            id: known.id,
            parent: known.parent,
            timestamp: timestamp.as_deref().and_then(Timestamp::parse),
            body,
        },
        repair,
    })
}

type Body = (Option<String>, EntryBody, Option<String>);

fn read_body(bytes: &[u8], known: &Known) -> Result<Body, serde_json::Error> {
    match known.kind {
        EntryKind::Message => read(bytes, coerce_message_line, |wire: MessageLine| {
            let message = Arc::new(AgentMessage::of_wire(wire.message, known.version));
            (wire.timestamp, EntryBody::Message(message))
        })
        .map(|(timestamp, mut body, repair)| {
            if repair.is_some()
                && let EntryBody::Message(message) = &mut body
            {
                restore_raw_values(Arc::make_mut(message), bytes);
            }
            (timestamp, body, repair)
        }),
        EntryKind::CustomMessage => read(bytes, coerce_content_line, |wire: CustomMessageLine| {
            let timestamp = wire.timestamp.as_deref().and_then(Timestamp::parse);
            let message = CustomMessage {
                custom_type: wire.custom_type.unwrap_or_default(),
                content: wire.content.into(),
                display: wire.display,
                details: wire.details,
                timestamp,
            };
            (wire.timestamp, EntryBody::CustomMessage(Arc::new(message)))
        }),
        EntryKind::ContextEdit => read(bytes, coerce_flat, |wire: ContextEditLine| {
            let target = EntryId::new(&wire.target_id.unwrap_or_default());
            let body = match wire.replacement {
                Some(None) => Some(EntryBody::ContextEdit {
                    target,
                    replacement: None,
                }),
                Some(Some(raw)) => {
                    replacement_content(&raw).map(|content| EntryBody::ContextEdit {
                        target,
                        replacement: Some(content),
                    })
                }
                None => None,
            };
            let body = body.unwrap_or_else(|| EntryBody::Unknown("context_edit".to_owned()));
            (wire.timestamp, body)
        })
        .map(|(timestamp, body, repair)| {
            let unreadable = matches!(body, EntryBody::Unknown(_));
            let reason = "its replacement is neither null nor content, so it edits nothing";
            let repair = repair.or_else(|| unreadable.then(|| reason.to_owned()));
            (timestamp, body, repair)
        }),
        EntryKind::Compaction => read(bytes, coerce_flat, |wire: SummaryLine| {
            let timestamp = wire.timestamp.clone();
            let body = EntryBody::Compaction(Box::new(wire.into_compaction(known)));
            (timestamp, body)
        }),
        EntryKind::BranchSummary => read(bytes, coerce_flat, |wire: SummaryLine| {
            let body = EntryBody::BranchSummary(Box::new(BranchSummary {
                from: EntryId::new(wire.from_id.as_deref().unwrap_or("root")),
                summary: wire.summary.unwrap_or_default(),
                details: wire.details,
                from_extension: wire.from_extension,
                from_hook: wire.from_hook,
            }));
            (wire.timestamp, body)
        }),
        EntryKind::ThinkingLevelChange
        | EntryKind::ModelChange
        | EntryKind::Custom
        | EntryKind::Label
        | EntryKind::SessionInfo
        | EntryKind::Usage
        | EntryKind::ResetBoundary => read(bytes, coerce_flat, |wire: FlatLine| {
            let timestamp = wire.timestamp.clone();
            (timestamp, wire.into_body(known.kind))
        }),
        EntryKind::Unknown => read(bytes, coerce_flat, |wire: UnknownLine| {
            let body = EntryBody::Unknown(wire.type_name.unwrap_or_default());
            (wire.timestamp, body)
        }),
    }
}

fn read<W: DeserializeOwned>(
    bytes: &[u8],
    coerce: fn(&mut Value),
    convert: impl FnOnce(W) -> (Option<String>, EntryBody),
) -> Result<Body, serde_json::Error> {
    let Repaired { value, repair } = parse_repairing(bytes, coerce)?;
    let (timestamp, body) = convert(value);
    Ok((timestamp, body, repair))
}

/// Returns the content that a replacement carries; null, and an object without content, omit the target.
fn replacement_content(raw: &RawJson) -> Option<Content> {
    let content = member(raw.get(), "content")?;
    let parsed = parse_repairing::<WireContent>(content.as_bytes(), |_| {});
    parsed.ok().map(|content| content.value.into())
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MessageLine {
    #[serde(deserialize_with = "json::text")]
    timestamp: Option<String>,
    message: WireMessage,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct CustomMessageLine {
    #[serde(deserialize_with = "json::text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "json::text")]
    custom_type: Option<String>,
    content: WireContent,
    #[serde(deserialize_with = "json::flag")]
    display: bool,
    details: Option<RawJson>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ContextEditLine {
    #[serde(deserialize_with = "json::text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "json::text")]
    target_id: Option<String>,
    /// Tells a replacement that is null from one that is missing.
    #[serde(deserialize_with = "json::present")]
    replacement: Option<Option<RawJson>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct SummaryLine {
    #[serde(deserialize_with = "json::text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "json::text")]
    summary: Option<String>,
    #[serde(deserialize_with = "json::text")]
    short_summary: Option<String>,
    #[serde(deserialize_with = "json::text")]
    first_kept_entry_id: Option<String>,
    #[serde(deserialize_with = "json::count")]
    first_kept_entry_index: Option<i64>,
    #[serde(deserialize_with = "json::count")]
    tokens_before: Option<i64>,
    details: Option<RawJson>,
    preserve_data: Option<RawJson>,
    #[serde(deserialize_with = "json::flag")]
    from_extension: bool,
    #[serde(deserialize_with = "json::flag")]
    from_hook: bool,
    system_message: Option<RawJson>,
    #[serde(deserialize_with = "json::text")]
    from_id: Option<String>,
}

impl SummaryLine {
    fn into_compaction(self, known: &Known) -> Compaction {
        let position = self
            .first_kept_entry_index
            .filter(|_| known.version < 2)
            .and_then(|index| u64::try_from(index).ok());
        let first_kept = match (position, self.first_kept_entry_id) {
            // The header has position 0, so a position is the id of the entry that stands there.
            (Some(position), _) => EntryId::of_position(position),
            (None, Some(id)) => EntryId::new(&id),
            (None, None) => EntryId::new(""),
        };
        let system = self.system_message.as_ref().and_then(|raw| {
            let parsed = parse_repairing::<WireMessage>(raw.get().as_bytes(), coerce_message);
            let message = AgentMessage::of_wire(parsed.ok()?.value, known.version);
            matches!(message, AgentMessage::System(_)).then(|| Arc::new(message))
        });
        let tokens = self.tokens_before.unwrap_or(0);
        Compaction {
            summary: self.summary.unwrap_or_default(),
            short_summary: self.short_summary,
            first_kept,
            tokens_before: u64::try_from(tokens).unwrap_or(0),
            details: self.details,
            preserve_data: self.preserve_data,
            from_extension: self.from_extension,
            from_hook: self.from_hook,
            system,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct UnknownLine {
    #[serde(rename = "type", deserialize_with = "json::text")]
    type_name: Option<String>,
    #[serde(deserialize_with = "json::text")]
    timestamp: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct FlatLine {
    #[serde(deserialize_with = "json::text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "json::text")]
    thinking_level: Option<String>,
    #[serde(deserialize_with = "json::text")]
    provider: Option<String>,
    #[serde(deserialize_with = "json::text")]
    model_id: Option<String>,
    #[serde(deserialize_with = "json::text")]
    model: Option<String>,
    #[serde(deserialize_with = "json::text")]
    custom_type: Option<String>,
    data: Option<RawJson>,
    #[serde(deserialize_with = "json::text")]
    target_id: Option<String>,
    #[serde(deserialize_with = "json::text")]
    label: Option<String>,
    #[serde(deserialize_with = "json::text")]
    name: Option<String>,
    #[serde(deserialize_with = "json::text")]
    kind: Option<String>,
    usage: Option<crate::message::WireUsage>,
}

impl FlatLine {
    fn into_body(self, kind: EntryKind) -> EntryBody {
        let filled = |text: Option<String>| {
            text.map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        match kind {
            EntryKind::ThinkingLevelChange => {
                EntryBody::ThinkingLevelChange(self.thinking_level.unwrap_or_default())
            }
            EntryKind::ModelChange => EntryBody::ModelChange(self.model_ref()),
            EntryKind::Custom => EntryBody::Custom {
                custom_type: self.custom_type.unwrap_or_default(),
                data: self.data,
            },
            EntryKind::Label => EntryBody::Label {
                target: EntryId::new(&self.target_id.unwrap_or_default()),
                label: self.label.filter(|label| !label.is_empty()),
            },
            EntryKind::SessionInfo => EntryBody::SessionInfo(filled(self.name)),
            EntryKind::Usage => EntryBody::Usage {
                kind: self.kind.unwrap_or_default(),
                usage: self.usage.map(Usage::from).unwrap_or_default(),
            },
            EntryKind::ResetBoundary => EntryBody::ResetBoundary,
            EntryKind::Unknown
            | EntryKind::Message
            | EntryKind::Compaction
            | EntryKind::BranchSummary
            | EntryKind::CustomMessage
            | EntryKind::ContextEdit => EntryBody::Unknown(kind.name().to_owned()),
        }
    }

    /// Returns the model: `provider` and `modelId` (pi), or `model` as `provider/model` (oh-my-pi).
    fn model_ref(self) -> ModelRef {
        match (self.model_id, self.model) {
            (Some(model_id), _) => ModelRef {
                provider: self.provider.unwrap_or_default(),
                model_id,
            },
            (None, Some(model)) => match (self.provider, model.split_once('/')) {
                (None, Some((provider, model_id))) => ModelRef {
                    provider: provider.to_owned(),
                    model_id: model_id.to_owned(),
                },
                (provider, _) => ModelRef {
                    provider: provider.unwrap_or_default(),
                    model_id: model,
                },
            },
            (None, None) => ModelRef {
                provider: self.provider.unwrap_or_default(),
                model_id: String::new(),
            },
        }
    }
}

fn coerce_message_line(line: &mut Value) {
    coerce_flat(line);
    if let Some(message) = line.get_mut("message") {
        coerce_message(message);
    }
}

fn coerce_content_line(line: &mut Value) {
    coerce_message(line);
    coerce_flat(line);
}

/// Mends the flat members of a line; see [`coerce_message`].
fn coerce_flat(line: &mut Value) {
    let Some(members) = line.as_object_mut() else {
        return;
    };
    for (key, value) in members.iter_mut() {
        match key.as_str() {
            "timestamp" if value.is_number() => {
                let at = value.as_i64().map(Timestamp::from_millis);
                *value = at.map_or(Value::Null, |at| Value::String(at.to_string()));
            }
            "tokensBefore" | "firstKeptEntryIndex" if value.is_string() => {
                let number = value.as_str().and_then(|text| text.parse::<u64>().ok());
                *value = number.map_or(Value::Null, Value::from);
            }
            "usage" if !value.is_object() => *value = Value::Null,
            "type" | "timestamp" | "thinkingLevel" | "provider" | "modelId" | "model"
            | "customType" | "targetId" | "label" | "name" | "kind" | "summary"
            | "shortSummary" | "firstKeptEntryId" | "fromId"
                if !value.is_string() =>
            {
                *value = match value {
                    Value::Number(number) => Value::String(number.to_string()),
                    _ => Value::Null,
                };
            }
            "tokensBefore" | "firstKeptEntryIndex" if !value.is_number() => *value = Value::Null,
            _ => {}
        }
    }
}
