//! A database as opencode 1.18.33 writes it.

use std::path::PathBuf;

use rusqlite::Connection;

use super::{export, listed, rows};
use crate::finder::decode;

const TABLES: &str = r#"
    CREATE TABLE session (id TEXT, project_id TEXT, directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
    CREATE TABLE session_message (session_id TEXT);
    INSERT INTO session VALUES ('ses_1', 'global', '/work', 'Parser', 1, 2);
    INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{"role":"user"}');
    INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"first"}');
    INSERT INTO session VALUES ('ses_2', 'global', '/work', 'Later', 1, 1);
    INSERT INTO session_message VALUES ('ses_2');
"#;

/// Returns a database whose content is in its journal alone, and the connection that has it open.
fn database() -> (tempfile::TempDir, PathBuf, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    writer.execute_batch(TABLES).unwrap();
    (folder, path, writer)
}

#[test]
fn a_database_that_is_being_written_is_read_as_of_now() {
    let (_folder, path, writer) = database();
    let text = || String::from_utf8(export(&path, "ses_1").unwrap()).unwrap();
    let files = || {
        let journal = path.with_extension("db-wal");
        (
            std::fs::read(&path).unwrap(),
            std::fs::read(journal).unwrap(),
        )
    };
    let second =
        r#"BEGIN IMMEDIATE; INSERT INTO message VALUES ('msg_2', 'ses_1', 2, '{"role":"user"}')"#;
    writer.execute_batch(second).unwrap();
    let before = files();
    let first = text();
    let document: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!(document["info"]["directory"], "/work");
    assert_eq!(document["messages"][0]["parts"][0]["text"], "first");
    assert!(!first.contains("msg_2"), "it is not committed: {first}");
    assert!(files() == before, "reading changes neither file");
    writer.execute_batch("COMMIT").unwrap();
    assert!(text().contains("msg_2"));
}

#[test]
fn sessions_of_a_database_are_listed_by_when_they_were_written() {
    let (_folder, path, _writer) = database();
    let names = listed(&path).unwrap();
    assert!(names.ends_with("opencode.db/ses_2"), "{names}");
    let found = rows(&path, decode);
    // The other one is kept in a form that is not known.
    assert_eq!(found.len(), 1, "{found:?}");
    let row = &found[0];
    assert_eq!((&*row.id, &*row.cwd), ("ses_1", "/work"));
    assert_eq!(row.first_prompt.as_deref(), Some("first"));
    let error = export(&path, "ses_2").unwrap_err().to_string();
    assert!(error.contains("a form of a newer opencode"), "{error}");
    let error = export(&path, "ses_3").unwrap_err().to_string();
    assert!(error.contains("no session ses_3 is in it"), "{error}");
}
