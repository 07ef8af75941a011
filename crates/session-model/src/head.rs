//! Heads of lines: type, id and parent, read without parsing the body.

use std::borrow::Cow;

use serde::Deserialize;

use crate::json::{self, Repaired, parse_repairing};

/// The first line of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The format's version; sessions that name none are version 1.
    pub version: u64,
    /// The session's id.
    pub id: String,
    /// When it began, as written.
    pub timestamp: String,
    /// The folder that it works in.
    pub cwd: String,
    /// The session that it was forked from.
    pub parent_session: Option<String>,
}

/// What had to be repaired to read a head.
pub(crate) type Repair = String;

/// What the head of a line says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head<'a> {
    /// A session header.
    Header(Box<Header>, Option<Repair>),
    /// An entry.
    Entry(EntryHead<'a>),
    /// Valid JSON without a type.
    NotAnEntry,
    /// Not a JSON object that can be read.
    Damaged,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EntryHead<'a> {
    pub kind: Cow<'a, str>,
    pub id: Option<Cow<'a, str>>,
    /// The parent as written: `Some(None)` for null, `None` when the member is missing.
    pub parent: Option<Option<Cow<'a, str>>>,
    /// The last entry of the write that it is part of, where it counts only with that one.
    pub part_of: Option<Cow<'a, str>>,
    /// The role of its message, where the common spelling states it.
    pub role: Option<StatedRole>,
    pub repair: Option<Repair>,
}

/// The role of a message as the beginning of its line states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedRole {
    /// The system or a developer.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    ToolResult,
    /// A command of the user.
    BashExecution,
}

impl StatedRole {
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "system" | "developer" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "bashExecution" => Self::BashExecution,
            _ => return None,
        })
    }
}

/// Returns what the head of `line` says. Only the common spelling (type, id, parentId first)
/// avoids a look at the whole line; its last byte is checked then, its body is not.
pub(crate) fn read_head(line: &[u8]) -> Head<'_> {
    if let Some(head) = plain_head(line)
        && line.trim_ascii_end().last() == Some(&b'}')
    {
        return Head::Entry(head);
    }
    whole_head(line)
}

/// Reads a head in the common spelling from the front of `line`, or returns `None`.
pub(crate) fn plain_head(line: &[u8]) -> Option<EntryHead<'_>> {
    let rest = line.strip_prefix(b"{\"type\":\"")?;
    let (kind, rest) = plain_string(rest)?;
    if kind == "session" {
        return None;
    }
    let rest = rest.strip_prefix(b",\"id\":\"")?;
    let (id, rest) = plain_string(rest)?;
    let rest = rest.strip_prefix(b",\"parentId\":")?;
    let (parent, rest) = match rest.strip_prefix(b"\"") {
        Some(rest) => {
            let (parent, rest) = plain_string(rest)?;
            (Some(Cow::Borrowed(parent)), rest)
        }
        None => (None, rest.strip_prefix(b"null")?),
    };
    let part_of = rest.strip_prefix(b",\"partOf\":\"").and_then(plain_string);
    let rest = part_of.map_or(rest, |(_, rest)| rest);
    Some(EntryHead {
        kind: Cow::Borrowed(kind),
        id: Some(Cow::Borrowed(id)),
        parent: Some(parent),
        part_of: part_of.map(|(last, _)| Cow::Borrowed(last)),
        role: plain_role(rest),
        repair: None,
    })
}

/// Reads the role of a message that follows the timestamp.
fn plain_role(rest: &[u8]) -> Option<StatedRole> {
    let (_, rest) = plain_string(rest.strip_prefix(b",\"timestamp\":\"")?)?;
    let (role, _) = plain_string(rest.strip_prefix(b",\"message\":{\"role\":\"")?)?;
    StatedRole::of(role)
}

/// Splits off a string without escapes, up to its closing quote.
fn plain_string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let head = &bytes[..bytes.len().min(256)];
    let end = memchr::memchr2(b'"', b'\\', head).filter(|end| head[*end] == b'"')?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((text, &bytes[end + 1..]))
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WireHead {
    #[serde(rename = "type", deserialize_with = "json::text")]
    kind: Option<String>,
    #[serde(deserialize_with = "json::text")]
    id: Option<String>,
    #[serde(deserialize_with = "json::present")]
    parent_id: Option<Option<String>>,
    #[serde(deserialize_with = "json::text")]
    part_of: Option<String>,
    #[serde(deserialize_with = "json::count")]
    version: Option<i64>,
    #[serde(deserialize_with = "json::text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "json::text")]
    cwd: Option<String>,
    #[serde(deserialize_with = "json::text")]
    parent_session: Option<String>,
}

fn whole_head(line: &[u8]) -> Head<'_> {
    // The parser would also take a list of the members' values.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Head::Damaged;
    }
    let parsed = parse_repairing::<WireHead>(line, |tree| {
        if let Some(members) = tree.as_object_mut() {
            members.retain(|key, value| match key.as_str() {
                "version" => {
                    // `"3"` is version 3, as JavaScript compares it.
                    let number = value
                        .as_str()
                        .and_then(|text| text.trim().parse::<u64>().ok());
                    if let Some(number) = number {
                        *value = number.into();
                    }
                    value.is_number()
                }
                "type" | "id" | "partOf" | "timestamp" | "cwd" | "parentSession" => {
                    value.is_string()
                }
                "parentId" => value.is_string() || value.is_null(),
                _ => false,
            });
        }
    });
    let Ok(Repaired {
        value: wire,
        repair,
    }) = parsed
    else {
        return Head::Damaged;
    };
    match wire.kind {
        None => Head::NotAnEntry,
        Some(kind) if kind == "session" => {
            // What is no version, zero and less included, is taken for the first one.
            let version = wire.version.and_then(|version| u64::try_from(version).ok());
            let version = version.filter(|version| *version > 0);
            let header = Header {
                version: version.unwrap_or(1),
                id: wire.id.unwrap_or_default(),
                timestamp: wire.timestamp.unwrap_or_default(),
                cwd: wire.cwd.unwrap_or_default(),
                parent_session: wire.parent_session,
            };
            Head::Header(Box::new(header), repair)
        }
        Some(kind) => Head::Entry(EntryHead {
            kind: Cow::Owned(kind),
            id: wire.id.map(Cow::Owned),
            parent: wire.parent_id.map(|parent| parent.map(Cow::Owned)),
            part_of: wire.part_of.map(Cow::Owned),
            role: None,
            repair,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, StatedRole, plain_head, read_head};

    #[test]
    fn the_common_spelling_and_any_other_give_the_same_head() {
        let common = br#"{"type":"message","id":"a1","parentId":"a0","partOf":"a2","x":1}"#;
        let other = br#"{ "parentId":"a0", "x":1, "partOf":"a2", "id":"a1", "type":"message" }"#;
        assert!(plain_head(common).is_some() && plain_head(other).is_none());
        assert_eq!(read_head(common), read_head(other));
        let null = br#"{"type":"custom","id":"a","parentId":null}"#;
        let Head::Entry(head) = read_head(null) else {
            panic!("{:?}", read_head(null));
        };
        assert_eq!(head.parent, Some(None));
    }

    #[test]
    fn a_role_is_stated_in_the_common_spelling_alone() {
        let role = |line: &str| match read_head(line.as_bytes()) {
            Head::Entry(head) => head.role,
            other => panic!("{other:?}"),
        };
        let start = r#"{"type":"message","id":"a","parentId":null,"#;
        let user = r#""timestamp":"t","message":{"role":"user","content":"x"}}"#;
        assert_eq!(role(&format!("{start}{user}")), Some(StatedRole::User));
        let part = r#""partOf":"b","#;
        assert_eq!(
            role(&format!("{start}{part}{user}")),
            Some(StatedRole::User)
        );
        for other in [
            r#""message":{"role":"user","content":"x"}}"#,
            r#""timestamp":"t","message":{"content":"x","role":"user"}}"#,
            r#""timestamp":"t","message":{"role":"new","content":"x"}}"#,
        ] {
            assert_eq!(role(&format!("{start}{other}")), None, "{other}");
        }
    }

    #[test]
    fn lines_that_are_no_entries_are_told_apart() {
        assert_eq!(
            read_head(b"{\"type\":\"message\",\"id\":\"a\""),
            Head::Damaged
        );
        assert_eq!(read_head(b"{\"a\":1}"), Head::NotAnEntry);
        assert_eq!(read_head(b"[1]"), Head::Damaged);
        assert!(
            matches!(read_head(b"{\"type\":\"session\",\"version\":99}"), Head::Header(header, None) if header.version == 99)
        );
    }
}
