//! The database of opencode, read with what its journal holds and never written to.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Map, Value};
use session_model::text::clean;
use session_model::{SessionTree, Timestamp};
use session_store::{Locator, SessionRow, StoreError};
use tempfile::TempDir;

use super::document;

/// How many sessions are listed.
const LISTED: usize = 1000;

/// How many messages of a session tell what a list shows.
const BEGINNING: u32 = 4;

/// An open database, and the copy that is read where its folder cannot be written to.
struct Database {
    connection: Connection,
    _copy: Option<TempDir>,
}

impl Database {
    fn open(path: &Path) -> Result<Self, String> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |path: &Path| {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(std::time::Duration::from_secs(2))?;
            // Fails here where the journal cannot be read.
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| {
                row.get::<_, i64>(0)
            })?;
            Ok::<_, rusqlite::Error>(connection)
        };
        let first = match open(path) {
            Ok(connection) => {
                return Ok(Self {
                    connection,
                    _copy: None,
                });
            }
            Err(error) => error.to_string(),
        };
        // The index of the journal cannot be made in a folder that cannot be written to.
        let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
        let to = copy.path().join("opencode.db");
        std::fs::copy(path, &to).map_err(|error| error.to_string())?;
        let journal = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
        if journal(path).is_file() {
            let copied = std::fs::copy(journal(path), journal(&to));
            copied.map_err(|error| error.to_string())?;
        }
        let connection = open(&to).map_err(|_| first)?;
        Ok(Self {
            connection,
            _copy: Some(copy),
        })
    }

    /// Returns what opencode exports of a session: all of it, or so many messages.
    fn export(&self, id: &str, most: Option<u32>) -> Result<Option<Vec<u8>>, String> {
        let text = |error: rusqlite::Error| error.to_string();
        let mut session = self
            .connection
            .prepare("SELECT * FROM session WHERE id = ?1")
            .map_err(text)?;
        let mut found = session.query([id]).map_err(text)?;
        let Some(row) = found.next().map_err(text)? else {
            return Ok(None);
        };
        let info = info(row).to_string();
        let most = most.unwrap_or(u32::MAX);
        let mut query = self
            .connection
            .prepare(
                "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id LIMIT ?2",
            )
            .map_err(text)?;
        let mut parts = self
            .connection
            .prepare("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id")
            .map_err(text)?;
        let mut messages = Vec::new();
        let mut rows = query.query((id, most)).map_err(text)?;
        while let Some(row) = rows.next().map_err(text)? {
            let message: String = row.get(0).map_err(text)?;
            let info = with_id(row).map_err(text)?;
            let mut own = Vec::new();
            let mut found = parts.query([&message]).map_err(text)?;
            while let Some(row) = found.next().map_err(text)? {
                own.push(with_id(row).map_err(text)?);
            }
            messages.push(format!("{{\"info\":{info},\"parts\":[{}]}}", own.join(",")));
        }
        if messages.is_empty() && self.is_newer(id) {
            return Err(
                "the session is kept in a form of a newer opencode; run opencode export".to_owned(),
            );
        }
        Ok(Some(document(&info, messages.into_iter())))
    }

    /// Returns whether the messages of a session are in the tables of a coming version.
    fn is_newer(&self, id: &str) -> bool {
        let query = "SELECT count(*) FROM session_message WHERE session_id = ?1";
        let count = self
            .connection
            .query_row(query, [id], |row| row.get::<_, i64>(0));
        count.is_ok_and(|count| count > 0)
    }

    /// Returns the ids of the sessions, the last written first, with when that was and how long their parts are.
    fn ids(&self) -> Result<Vec<(String, i64, i64)>, String> {
        let query = "SELECT id, time_updated, (SELECT coalesce(sum(length(data)), 0) FROM part WHERE session_id = session.id) \
                     FROM session ORDER BY time_updated DESC LIMIT ?1";
        let mut query = self
            .connection
            .prepare(query)
            .map_err(|error| error.to_string())?;
        let rows = query.query_map([LISTED as u32], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        });
        let rows = rows.and_then(Iterator::collect);
        rows.map_err(|error| error.to_string())
    }
}

/// Returns a column that is JSON, with the id that stands in a column of its own.
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

/// Returns what opencode exports as the description of a session.
fn info(row: &Row<'_>) -> Value {
    const NAMES: [(&str, &str); 8] = [
        ("id", "id"),
        ("project_id", "projectID"),
        ("parent_id", "parentID"),
        ("slug", "slug"),
        ("directory", "directory"),
        ("title", "title"),
        ("version", "version"),
        ("revert", "revert"),
    ];
    let column = |name: &str| match row.get_ref(name) {
        Ok(ValueRef::Text(text)) => {
            let text = String::from_utf8_lossy(text).into_owned();
            match name {
                "revert" => serde_json::from_str(&text).unwrap_or_default(),
                _ => Value::from(text),
            }
        }
        Ok(ValueRef::Integer(number)) => Value::from(number),
        _ => Value::Null,
    };
    let members = NAMES.map(|(name, own)| (own.to_owned(), column(name)));
    let mut info = Map::from_iter(members);
    info.retain(|_, value| !value.is_null());
    let time = [("created", "time_created"), ("updated", "time_updated")];
    let time = time.map(|(own, name)| (own.to_owned(), column(name)));
    info.insert("time".to_owned(), Value::Object(Map::from_iter(time)));
    Value::Object(info)
}

fn open(path: &Path) -> Result<Database, StoreError> {
    let failed =
        |error| StoreError::session(path, format!("a database that cannot be read: {error}"));
    Database::open(path).map_err(failed)
}

/// Returns what opencode exports of a session.
pub fn export(path: &Path, id: &str) -> Result<Vec<u8>, StoreError> {
    let found = open(path)?.export(id, None);
    let found = found.map_err(|error| StoreError::session(path, error))?;
    found.ok_or_else(|| StoreError::session(path, format!("no session {} is in it", clean(id))))
}

/// Returns the newest sessions of a database as text.
pub fn listed(path: &Path) -> Result<String, StoreError> {
    let ids = open(path)?.ids();
    let ids = ids
        .map_err(|error| StoreError::session(path, error))?
        .into_iter();
    let names = ids
        .take(5)
        .map(|(id, ..)| path.join(id).display().to_string());
    Ok(clean(&names.collect::<Vec<_>>().join(", ")))
}

/// Returns what a list tells of the sessions of a database; `decode` reads their beginnings.
pub fn rows(path: &Path, decode: impl Fn(Vec<u8>) -> Option<SessionTree>) -> Vec<SessionRow> {
    let Ok(database) = Database::open(path) else {
        return Vec::new();
    };
    let ids = database.ids().unwrap_or_default().into_iter();
    let rows = ids.filter_map(|(id, updated, bytes)| {
        let beginning = database.export(&id, Some(BEGINNING)).ok()??;
        let tree = decode(beginning)?;
        let locator = Locator::of_path(&path.join(&id));
        let bytes = u64::try_from(bytes).unwrap_or(0);
        SessionRow::of(locator, &tree, Timestamp::from_millis(updated), bytes)
    });
    rows.collect()
}
