//! Between the lines of a session and the rows of a table.

use std::collections::HashSet;
use std::sync::Arc;

use session_model::{EntryId, SessionTree, decode_bytes};
use session_store::{StoreError, first_prompt};
use tokio_postgres::types::Type;

use crate::database::{Database, param};
use crate::error::Purpose;

/// The most bytes that one statement takes.
const MOST: usize = 512 * 1024 * 1024;

/// How many lines are asked for at a time.
const LINES: i64 = 20_000;

/// Lines as rows.
pub(crate) struct NewLines {
    pub entries: Vec<Option<String>>,
    pub lines: Vec<Vec<u8>>,
    pub bytes: i64,
}

impl NewLines {
    /// Returns the rows of lines that are appended to a session, which ends in a line feed or not.
    pub fn appended(
        database: &Database,
        session: &str,
        ends_with_newline: bool,
        ids: &[EntryId],
        lines: &[String],
    ) -> Result<Self, StoreError> {
        let entries = ids.iter().map(|id| storable(id)).collect();
        let mut lines: Vec<Vec<u8>> = lines
            .iter()
            .map(|line| format!("{line}\n").into_bytes())
            .collect();
        if let Some(first) = lines.first_mut().filter(|_| !ends_with_newline) {
            first.insert(0, b'\n');
        }
        Self::checked(database, session, entries, lines)
    }

    /// Returns the rows of all lines of a session.
    pub fn of_session(
        database: &Database,
        session: &str,
        tree: &SessionTree,
        bytes: &[u8],
    ) -> Result<Self, StoreError> {
        let ids = tree
            .indices()
            .map(|index| (tree.span(index).offset, tree.id(index)));
        let mut ids = ids.peekable();
        let (mut entries, mut lines) = (Vec::new(), Vec::new());
        let (mut offset, mut known) = (0_u64, HashSet::new());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let end = offset + line.len() as u64;
            let id = ids
                .next_if(|(at, _)| *at < end)
                .and_then(|(_, id)| storable(id));
            // An id that is there twice finds the first of its entries.
            entries.push(id.filter(|id| known.insert(id.clone())));
            lines.push(line.to_vec());
            offset = end;
        }
        Self::checked(database, session, entries, lines)
    }

    fn checked(
        database: &Database,
        session: &str,
        entries: Vec<Option<String>>,
        lines: Vec<Vec<u8>>,
    ) -> Result<Self, StoreError> {
        let bytes: usize = lines.iter().map(Vec::len).sum();
        if bytes > MOST {
            let (bytes, most) = (bytes / (1024 * 1024), MOST / (1024 * 1024));
            let reason = format!("{bytes} MB in one write; this store takes at most {most} MB");
            let locator = database.address.of_session(session);
            return Err(StoreError::session(locator.as_path(), reason));
        }
        Ok(Self {
            entries,
            lines,
            bytes: bytes as i64,
        })
    }
}

/// Returns a text as the database can store it; `None` where it cannot be searched for.
fn storable(text: &str) -> Option<String> {
    (!text.contains('\0')).then(|| text.to_owned())
}

/// Returns a text that is only shown.
pub(crate) fn shown(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// Returns the name and the first prompt that lines give to a session.
pub(crate) fn told(lines: &[Vec<u8>]) -> (Option<String>, Option<String>) {
    let tree = decode_bytes(lines.concat()).tree;
    let told = (tree.name(), first_prompt(&tree));
    (told.0.as_deref().map(shown), told.1.as_deref().map(shown))
}

/// Returns the bytes of a session behind one of its lines, and the number of the last.
pub(crate) async fn read_behind(
    database: &Arc<Database>,
    session: &str,
    mut seq: i64,
) -> Result<(Vec<u8>, i64), StoreError> {
    // Without a gap between them, so the number of a line need not be sent.
    let sql = "SELECT line FROM agent_lines WHERE session = $1 AND seq > $2 \
        ORDER BY seq LIMIT $3";
    let mut bytes = Vec::new();
    loop {
        let params = vec![
            param(session.to_owned(), Type::TEXT),
            param(seq, Type::INT8),
            param(LINES, Type::INT8),
        ];
        let rows = database.rows(Purpose::Repeatable, sql, params).await?;
        for row in &rows {
            bytes.extend_from_slice(row.get(0));
        }
        seq += rows.len() as i64;
        if (rows.len() as i64) < LINES {
            return Ok((bytes, seq));
        }
    }
}
