//! The databases of opencode, goose and crush, read with what their journals hold and never written to.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;
use session_model::text::clean;
use session_model::{SessionTree, Timestamp};
use session_store::{Locator, SessionRow, StoreError};
use tempfile::TempDir;

use crate::bytes::document;

/// How many sessions are listed.
const LISTED: usize = 1000;

/// How many messages of a session tell what a list shows.
const BEGINNING: u32 = 4;

/// Where an agent keeps what in its database, and what that is called in its document.
struct Layout {
    /// A table and a column that no other agent has there.
    sign: (&'static str, &'static str),
    /// The id of each session, the last written first, when that was in milliseconds, how long its messages are, and
    /// whether it works for another one.
    list: &'static str,
    session: &'static str,
    messages: &'static str,
    /// The parts of a message, where they have a table.
    parts: Option<&'static str>,
    columns: &'static [Column<'static>],
}

/// A column, the member that it becomes, and whether it holds JSON.
type Column<'a> = (&'a str, &'a str, bool);

const LAYOUTS: [Layout; 3] = [OPENCODE, GOOSE, CRUSH];

/// What becomes `opencode export`; its messages and parts are one column of JSON.
const OPENCODE: Layout = Layout {
    sign: ("session", "time_updated"),
    list: "SELECT id, time_updated, (SELECT coalesce(sum(length(data)), 0) FROM part WHERE session_id = session.id), \
           parent_id IS NOT NULL FROM session ORDER BY time_updated DESC LIMIT ?1",
    session: "SELECT * FROM session WHERE id = ?1",
    messages: "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id LIMIT ?2",
    parts: Some("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id"),
    columns: &[
        ("id", "id", false),
        ("project_id", "projectID", false),
        ("parent_id", "parentID", false),
        ("slug", "slug", false),
        ("directory", "directory", false),
        ("title", "title", false),
        ("version", "version", false),
        ("revert", "revert", true),
    ],
};

/// What becomes `goose session export`.
const GOOSE: Layout = Layout {
    sign: ("sessions", "working_dir"),
    list: "SELECT id, CAST(strftime('%s', updated_at) AS INTEGER) * 1000, \
           (SELECT coalesce(sum(length(content_json)), 0) FROM messages WHERE session_id = sessions.id), \
           session_type IN ('sub_agent', 'hidden') FROM sessions ORDER BY updated_at DESC LIMIT ?1",
    session: "SELECT * FROM sessions WHERE id = ?1",
    messages: "SELECT * FROM messages WHERE session_id = ?1 ORDER BY id LIMIT ?2",
    parts: None,
    columns: &[
        ("message_id", "id", false),
        ("role", "role", false),
        ("created_timestamp", "created", false),
        ("content_json", "content", true),
        ("metadata_json", "metadata", true),
    ],
};

/// Sessions that write titles are not listed.
const CRUSH: Layout = Layout {
    sign: ("sessions", "summary_message_id"),
    list: "SELECT id, updated_at * CASE WHEN updated_at > 100000000000 THEN 1 ELSE 1000 END, \
           (SELECT coalesce(sum(length(parts)), 0) FROM messages WHERE session_id = sessions.id), \
           parent_session_id IS NOT NULL FROM sessions WHERE id NOT LIKE 'title-%' ORDER BY updated_at DESC LIMIT ?1",
    session: "SELECT * FROM sessions WHERE id = ?1",
    messages: "SELECT * FROM messages WHERE session_id = ?1 ORDER BY created_at, rowid LIMIT ?2",
    parts: None,
    columns: &[
        ("id", "id", false),
        ("role", "role", false),
        ("parts", "parts", true),
        ("model", "model", false),
        ("provider", "provider", false),
        ("created_at", "created_at", false),
        ("is_summary_message", "is_summary_message", false),
    ],
};

/// An open database, and the copy that is read where its folder cannot be written to.
struct Database {
    connection: Connection,
    layout: &'static Layout,
    _copy: Option<TempDir>,
}

impl Database {
    fn open(path: &Path) -> Result<Self, String> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |path: &Path| {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(std::time::Duration::from_secs(2))?;
            // Fails here where the journal cannot be read.
            let has = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
            let mut layout = Err(rusqlite::Error::QueryReturnedNoRows);
            for known in &LAYOUTS {
                let count: i64 = connection.query_row(has, known.sign, |row| row.get(0))?;
                if count > 0 {
                    layout = Ok(known);
                }
            }
            Ok::<_, rusqlite::Error>((connection, layout))
        };
        let (opened, copy) = match open(path) {
            Ok(opened) => (opened, None),
            Err(first) => {
                // The index of the journal cannot be made in a folder that cannot be written to.
                let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
                let to = copy.path().join("copy.db");
                std::fs::copy(path, &to).map_err(|error| error.to_string())?;
                let journal = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
                if journal(path).is_file() {
                    let copied = std::fs::copy(journal(path), journal(&to));
                    copied.map_err(|error| error.to_string())?;
                }
                (open(&to).map_err(|_| first.to_string())?, Some(copy))
            }
        };
        let layout = (opened.1).map_err(|_| "it is not one of opencode, goose or crush")?;
        Ok(Self {
            connection: opened.0,
            layout,
            _copy: copy,
        })
    }

    /// Returns the document of a session: all of it, or so many messages.
    fn export(&self, path: &Path, id: &str, most: u32) -> Result<Option<Vec<u8>>, String> {
        if self.is_newer(id) {
            return Err(
                "the session is kept in a form of a newer opencode; run opencode export".to_owned(),
            );
        }
        let read = self.read(path, id, most);
        read.map_err(|error| error.to_string())
    }

    fn read(&self, path: &Path, id: &str, most: u32) -> rusqlite::Result<Option<Vec<u8>>> {
        let layout = self.layout;
        let mut session = self.connection.prepare(layout.session)?;
        let mut found = session.query([id])?;
        let Some(session) = found.next()? else {
            return Ok(None);
        };
        let mut query = self.connection.prepare(layout.messages)?;
        let parts = layout.parts.map(|parts| self.connection.prepare(parts));
        let mut parts = parts.transpose()?;
        let mut messages = Vec::new();
        let mut rows = query.query((id, most))?;
        while let Some(row) = rows.next()? {
            let Some(parts) = &mut parts else {
                messages.push(object(row, layout.columns));
                continue;
            };
            let message: String = row.get(0)?;
            let info = with_id(row)?;
            let mut own = Vec::new();
            let mut found = parts.query([&message])?;
            while let Some(row) = found.next()? {
                own.push(with_id(row)?);
            }
            messages.push(format!("{{\"info\":{info},\"parts\":[{}]}}", own.join(",")));
        }
        let names = session.as_ref().column_names();
        let all: Vec<Column<'_>> = names.map(|name| (name, name, false)).collect();
        let messages = messages.into_iter();
        Ok(Some(match layout.sign.1 {
            "working_dir" => {
                let messages = messages.collect::<Vec<_>>().join(",\n");
                let conversation = format!("\"conversation\":[{messages}]");
                with_member(&object(session, &all), &conversation).into_bytes()
            }
            "summary_message_id" => {
                let project = path.parent().filter(|folder| folder.ends_with(".crush"));
                let project = project.and_then(Path::parent).unwrap_or(Path::new(""));
                let cwd = format!("\"cwd\":{}", Value::from(project.to_string_lossy()));
                document(
                    "crush",
                    &with_member(&object(session, &all), &cwd),
                    messages,
                )
            }
            _ => {
                let time = [
                    ("time_created", "created", false),
                    ("time_updated", "updated", false),
                ];
                let time = format!("\"time\":{}", object(session, &time));
                let info = with_member(&object(session, layout.columns), &time);
                document("info", &info, messages)
            }
        }))
    }

    /// Returns whether the messages of a session are in the tables of a coming version of opencode.
    fn is_newer(&self, id: &str) -> bool {
        let query = "SELECT EXISTS (SELECT 1 FROM session_message WHERE session_id = ?1) \
                     AND NOT EXISTS (SELECT 1 FROM message WHERE session_id = ?1)";
        let is_newer = self.connection.query_row(query, [id], |row| row.get(0));
        is_newer.unwrap_or(false)
    }

    /// Returns what [`Layout::list`] tells of each session.
    fn list(&self) -> rusqlite::Result<Vec<(String, i64, i64, bool)>> {
        let mut query = self.connection.prepare(self.layout.list)?;
        let rows = query.query_map([LISTED as u32], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        rows.collect()
    }
}

/// Returns a column that is JSON, with the id of a column of its own.
fn with_id(row: &Row<'_>) -> rusqlite::Result<String> {
    let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
    let id = Value::from(id);
    let members = data.trim().strip_prefix('{').unwrap_or("}");
    let comma = if members.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    Ok(format!("{{\"id\":{id}{comma}{members}"))
}

/// Returns the columns of a row that are there and not null, as an object.
fn object(row: &Row<'_>, columns: &[Column<'_>]) -> String {
    let members = columns.iter().filter_map(|(column, member, is_json)| {
        let value = match row.get_ref(*column).ok()? {
            ValueRef::Text(text) => {
                let text = String::from_utf8_lossy(text);
                let is_read =
                    *is_json && serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
                if is_read {
                    text.into_owned()
                } else {
                    Value::from(text).to_string()
                }
            }
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => Value::from(number).to_string(),
            _ => return None,
        };
        Some(format!("\"{member}\":{value}"))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Returns an object with one more member.
fn with_member(object: &str, member: &str) -> String {
    let members = object.strip_suffix('}').unwrap_or(object);
    format!("{members},\n{member}}}")
}

fn open(path: &Path) -> Result<Database, StoreError> {
    let failed =
        |error| StoreError::session(path, format!("a database that cannot be read: {error}"));
    Database::open(path).map_err(failed)
}

/// Returns the document of a session.
pub fn export(path: &Path, id: &str) -> Result<Vec<u8>, StoreError> {
    let found = open(path)?.export(path, id, u32::MAX);
    let found = found.map_err(|error| StoreError::session(path, error))?;
    found.ok_or_else(|| StoreError::session(path, format!("no session {} is in it", clean(id))))
}

/// Returns the newest sessions of a database as text.
pub fn listed(path: &Path) -> Result<String, StoreError> {
    let sessions = open(path)?.list();
    let sessions = sessions.map_err(|error| StoreError::session(path, error.to_string()))?;
    let sessions = sessions.into_iter().take(5);
    let names = sessions.map(|(id, ..)| path.join(id).display().to_string());
    Ok(clean(&names.collect::<Vec<_>>().join(", ")))
}

/// Returns what a list tells of the sessions of a database, and which work for others; `decode` reads their beginnings.
pub fn rows(
    path: &Path,
    decode: impl Fn(Vec<u8>) -> Option<SessionTree>,
) -> Vec<(SessionRow, bool)> {
    let Ok(database) = Database::open(path) else {
        return Vec::new();
    };
    let sessions = database.list().unwrap_or_default().into_iter();
    let rows = sessions.filter_map(|(id, updated, bytes, is_child)| {
        let beginning = database.export(path, &id, BEGINNING).ok()??;
        let tree = decode(beginning)?;
        let locator = Locator::of_path(&path.join(&id));
        let bytes = u64::try_from(bytes).unwrap_or(0);
        let row = SessionRow::of(locator, &tree, Timestamp::from_millis(updated), bytes)?;
        Some((row, is_child))
    });
    rows.collect()
}
