//! Between the lines of a session and the rows of a table.

use std::sync::Arc;

use postgres_protocol::escape::escape_literal;
use session_model::decode_bytes;
use session_store::{StoreError, first_prompt};

use crate::database::Database;

/// The most bytes that one statement takes.
const MOST: usize = 512 * 1024 * 1024;

/// How many lines are asked for at a time.
const LINES: i64 = 20_000;

/// Lines as rows.
pub(crate) struct NewLines {
    pub lines: Vec<Vec<u8>>,
    pub bytes: i64,
}

impl NewLines {
    /// Returns the rows of lines that are appended to a session, which ends in a line feed or not.
    pub fn appended(
        database: &Database,
        session: &str,
        ends_with_newline: bool,
        lines: &[String],
    ) -> Result<Self, StoreError> {
        let mut lines: Vec<Vec<u8>> = lines
            .iter()
            .map(|line| format!("{line}\n").into_bytes())
            .collect();
        if let Some(first) = lines.first_mut().filter(|_| !ends_with_newline) {
            first.insert(0, b'\n');
        }
        Self::checked(database, session, lines)
    }

    /// Returns the rows of all lines of a session.
    pub fn of_session(
        database: &Database,
        session: &str,
        bytes: &[u8],
    ) -> Result<Self, StoreError> {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        Self::checked(database, session, lines.map(<[u8]>::to_vec).collect())
    }

    fn checked(
        database: &Database,
        session: &str,
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
            lines,
            bytes: bytes as i64,
        })
    }
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
    let mut bytes = Vec::new();
    loop {
        // Lines have no gap between their numbers, so the number of one need not be sent.
        let sql = format!(
            "COPY (SELECT line FROM agent_lines WHERE session = {} AND seq > {seq} ORDER BY seq LIMIT {LINES}) \
             TO STDOUT (FORMAT binary)",
            escape_literal(session)
        );
        let (read, lines) = database.copy(sql).await?;
        bytes.extend(read);
        seq += lines;
        if lines < LINES {
            return Ok((bytes, seq));
        }
    }
}
