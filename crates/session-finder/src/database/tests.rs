//! Databases with the tables of opencode 1.18.34, and of goose and crush as their sources make them.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use super::{export, listed, rows};
use crate::finder::decode;

const TABLES: &str = r#"
    CREATE TABLE session (id TEXT, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
    CREATE TABLE session_message (session_id TEXT);
    INSERT INTO session VALUES ('ses_1', 'global', NULL, '/work', 'Parser', 1, 2);
    INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{"role":"user"}');
    INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"first"}');
    INSERT INTO session VALUES ('ses_2', 'global', 'ses_1', '/work', 'Later', 1, 1);
    INSERT INTO session_message VALUES ('ses_2');
"#;

/// Returns a database whose content is in its journal alone, and the connection that has it open.
fn database(name: &str, tables: &str) -> (tempfile::TempDir, PathBuf, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    writer.execute_batch(tables).unwrap();
    (folder, path, writer)
}

#[test]
fn a_database_that_is_being_written_is_read_as_of_now() {
    let (_folder, path, writer) = database("opencode.db", TABLES);
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
    let (_folder, path, _writer) = database("opencode.db", TABLES);
    let names = listed(&path).unwrap();
    assert!(names.ends_with("opencode.db/ses_2"), "{names}");
    let found = rows(&path, decode);
    // The other one is kept in a form that is not known.
    assert_eq!(found.len(), 1, "{found:?}");
    let (row, is_subagent) = &found[0];
    assert!(!is_subagent);
    assert_eq!((&*row.id, &*row.cwd), ("ses_1", "/work"));
    assert_eq!(row.first_prompt.as_deref(), Some("first"));
    let error = export(&path, "ses_2").unwrap_err().to_string();
    assert!(error.contains("a form of a newer opencode"), "{error}");
    let error = export(&path, "ses_3").unwrap_err().to_string();
    assert!(error.contains("no session ses_3 is in it"), "{error}");
}

const GOOSE: &str = r#"
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, session_type TEXT, working_dir TEXT, updated_at TIMESTAMP, accumulated_input_tokens INTEGER);
    CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
    INSERT INTO sessions VALUES ('20260101_1', 'Parser', 'user', '/work', '2026-01-01 00:00:02', 9);
    INSERT INTO sessions VALUES ('20260101_2', 'Search', 'sub_agent', '/work', '2026-01-01 00:00:01', NULL);
    INSERT INTO messages VALUES (1, 'm1', '20260101_1', 'user', '[{"type":"text","text":"first"}]', 1767225600, '{"userVisible":true,"agentVisible":true}');
    INSERT INTO messages VALUES (2, NULL, '20260101_2', 'user', '[{"type":"text","text":"other"}]', 1767225600, NULL);
"#;

const CRUSH: &str = r#"
    CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, prompt_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER, summary_message_id TEXT);
    CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER, is_summary_message INTEGER);
    INSERT INTO sessions VALUES ('s1', NULL, 'Parser', 9, 0.5, 1767225602, 1767225600, NULL);
    INSERT INTO sessions VALUES ('s2', 's1', 'Search', 9, 0.5, 1767225601, 1767225600, NULL);
    INSERT INTO sessions VALUES ('title-s1', 's1', 'Generate a title', 9, 0.5, 1767225603, 1767225600, NULL);
    INSERT INTO messages VALUES ('m1', 's1', 'user', '[{"type":"text","data":{"text":"first"}}]', 'gpt-5', 1767225600, 0);
    INSERT INTO messages VALUES ('m2', 's2', 'user', '[{"type":"text","data":{"text":"other"}}]', 'gpt-5', 1767225600, 0);
"#;

#[test]
fn databases_of_goose_and_crush_are_read_by_the_same_reader() {
    for (name, tables, id, child) in [
        ("sessions.db", GOOSE, "20260101_1", "20260101_2"),
        ("work/.crush/crush.db", CRUSH, "s1", "s2"),
    ] {
        let (folder, path, _writer) = database(name, tables);
        let found = rows(&path, decode);
        let ids = found
            .iter()
            .map(|(row, is_subagent)| (&*row.id, *is_subagent));
        assert_eq!(ids.collect::<Vec<_>>(), [(id, false), (child, true)]);
        let row = &found[0].0;
        assert_eq!(row.modified.to_string(), "2026-01-01T00:00:02.000Z");
        assert_eq!(row.first_prompt.as_deref(), Some("first"));
        assert_eq!(row.name.as_deref(), Some("Parser"));
        let project = folder.path().join("work");
        let cwd = if id == "s1" {
            project.to_str().unwrap()
        } else {
            "/work"
        };
        assert_eq!(row.cwd, cwd);
        assert!(export(&path, id).is_ok());
    }
}
