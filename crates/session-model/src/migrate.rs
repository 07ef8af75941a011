//! Migration of files of versions 1 and 2 to version 3, line by line.
//!
//! Opening such a session needs no migration: it is read as version 3. This is
//! for `migrate`, which writes the file anew. Members keep their spelling and
//! order; damaged lines are copied as they are.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::entry::EntryId;
use crate::head::{Head, read_head};
use crate::json::{Members, quoted, records};

/// Why a session cannot be migrated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// It has version 3 already.
    #[error("it is version 3 already")]
    Current,
    /// It has a version that this crate does not know.
    #[error("it is version {0}; this program knows versions 1 to 3")]
    Unknown(u64),
}

/// Returns the lines of a session of version `version` as version 3 has them.
///
/// `lines` are all lines of the file without their endings, the header included.
///
/// # Errors
///
/// [`MigrateError`] says why the session cannot be migrated.
pub fn migrate_lines<'a>(
    version: u64,
    lines: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<Vec<u8>>, MigrateError> {
    match version {
        1 | 2 => {}
        3 => return Err(MigrateError::Current),
        other => return Err(MigrateError::Unknown(other)),
    }
    let mut position = 0;
    let mut header_seen = false;
    let mut migrated = Vec::new();
    for (number, line) in lines.enumerate() {
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if number == 0 {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        for record in records(line) {
            let rewritten = match read_head(record) {
                Head::Header(..) if !header_seen => {
                    header_seen = true;
                    rewrite(record, |members| {
                        set(members, "version", Some("3".to_owned()));
                    })
                }
                Head::Entry(head) => {
                    position += 1;
                    let kind = head.kind.into_owned();
                    rewrite(record, |members| {
                        migrate_entry(members, &kind, version, position);
                    })
                }
                Head::Header(..) | Head::NotAnEntry | Head::Damaged => None,
            };
            migrated.push(rewritten.unwrap_or_else(|| record.to_vec()));
        }
    }
    Ok(migrated)
}

/// A member: its key, and its value as JSON text.
type Member = (String, String);

fn migrate_entry(members: &mut Vec<Member>, kind: &str, version: u64, position: u64) {
    if version < 2 {
        drop_repeated(members, kind);
        let id = quoted(&EntryId::of_position(position));
        let parent = match position {
            1 => "null".to_owned(),
            _ => quoted(&EntryId::of_position(position - 1)),
        };
        members.retain(|(key, _)| key != "id" && key != "parentId");
        let after_type = members.iter().position(|(key, _)| key == "type");
        let at = after_type.map_or(0, |at| at + 1);
        members.insert(at, ("parentId".to_owned(), parent));
        members.insert(at, ("id".to_owned(), id));
        if kind == "compaction" {
            let index = members.iter().find(|(key, _)| key == "firstKeptEntryIndex");
            let index = index.and_then(|(_, value)| position_in(value));
            if let Some(index) = index {
                set(members, "firstKeptEntryIndex", None);
                let kept = quoted(&EntryId::of_position(index));
                set(members, "firstKeptEntryId", Some(kept));
            }
        }
    }
    if kind == "message" {
        let message = members.iter_mut().find(|(key, _)| key == "message");
        if let Some((_, message)) = message {
            let renamed = rewrite(message.as_bytes(), |inner| {
                let role = inner.iter_mut().find(|(key, _)| key == "role");
                if let Some((_, role)) = role.filter(|(_, role)| role == "\"hookMessage\"") {
                    *role = "\"custom\"".to_owned();
                }
            });
            if let Some(renamed) = renamed.and_then(|bytes| String::from_utf8(bytes).ok()) {
                *message = renamed;
            }
        }
    }
}

/// Leaves of members of one key the last one, and of `type` the one that was read: in the common spelling the first one
/// would count.
fn drop_repeated(members: &mut Vec<Member>, kind: &str) {
    let mut known = BTreeSet::new();
    let count = members.len();
    members.reverse();
    members.retain(|(key, _)| known.insert(key.clone()));
    members.reverse();
    if members.len() < count {
        set(members, "type", Some(quoted(kind)));
    }
}

/// Returns the position that the JSON text `value` spells, in any spelling that reading accepts.
fn position_in(value: &str) -> Option<u64> {
    match serde_json::from_str(value).ok()? {
        Value::Number(number) => {
            let whole = number.as_i64().or_else(|| Some(number.as_f64()? as i64))?;
            u64::try_from(whole).ok()
        }
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Sets, adds or (with `None`) removes a member.
fn set(members: &mut Vec<Member>, name: &str, value: Option<String>) {
    let place = members.iter().position(|(key, _)| key == name);
    match (place, value) {
        (Some(place), Some(value)) => {
            members.retain(|(key, _)| key != name);
            members.insert(place, (name.to_owned(), value));
        }
        (Some(_), None) => members.retain(|(key, _)| key != name),
        (None, Some(value)) => members.push((name.to_owned(), value)),
        (None, None) => {}
    }
}

/// Returns the object that `line` spells with its members changed, or `None` when it is none.
/// Bytes that are no text survive: they travel as private characters and come back as they were.
fn rewrite(line: &[u8], change: impl FnOnce(&mut Vec<Member>)) -> Option<Vec<u8>> {
    if let Ok(text) = std::str::from_utf8(line) {
        return rewrite_text(text, change).map(String::into_bytes);
    }
    let rewritten = rewrite_text(&smuggled(line)?, change)?;
    let mut bytes = Vec::with_capacity(rewritten.len());
    for character in rewritten.chars() {
        match u32::from(character).checked_sub(PRIVATE) {
            Some(byte @ 0..=0xFF) => bytes.push(byte as u8),
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Some(bytes)
}

/// Where bytes that are no text stand among the private characters.
const PRIVATE: u32 = 0xF700;

/// Returns a line with each byte that is no text as a private character, or `None` when it has such characters itself.
fn smuggled(line: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        let private = PRIVATE..=PRIVATE + 0xFF;
        if chunk
            .valid()
            .chars()
            .any(|character| private.contains(&u32::from(character)))
        {
            return None;
        }
        text.push_str(chunk.valid());
        let bytes = chunk.invalid().iter();
        text.extend(bytes.filter_map(|byte| char::from_u32(PRIVATE + u32::from(*byte))));
    }
    Some(text)
}

fn rewrite_text(text: &str, change: impl FnOnce(&mut Vec<Member>)) -> Option<String> {
    let parsed = Members::parse(text)?;
    let mut members: Vec<Member> = parsed
        .0
        .into_iter()
        .map(|(key, value)| (key.into_owned(), value.get().to_owned()))
        .collect();
    change(&mut members);
    let members = members
        .iter()
        .map(|(key, value)| format!("{}:{value}", quoted(key)));
    Some(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
}
