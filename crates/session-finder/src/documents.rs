//! Sessions that are not one file: opencode keeps old ones in a tree of JSON files, Cline writes files next to the
//! messages, and opencode, goose and crush have databases. Each becomes one document.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use session_model::text::clean;
use session_store::StoreError;

/// How a database begins.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// How ids of sessions begin.
const ID: &str = "ses_";

/// The longest file of the tree that is read, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Returns the document of a session, if `path` names one that is not one file: the description of one of opencode in the
/// tree of JSON files, the messages of one of Cline, or `DATABASE/ID`.
///
/// # Errors
/// The database cannot be read, or several sessions are meant.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(database) = path.parent().filter(|parent| is_database(parent)) {
        return of_database(database, &name).map(Some);
    }
    if is_database(path) {
        return Err(StoreError::usage(format!(
            "{} holds several sessions; name one of them: {}",
            clean(&path.display().to_string()),
            listed(path)?
        )));
    }
    Ok(of_tree(path, &name).or_else(|| of_cline(path, &name)))
}

fn is_database(path: &Path) -> bool {
    use std::io::Read;
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut head = Vec::new();
    let read = is_file.then(|| fs::File::open(path).ok()).flatten();
    let read = read.map(|file| file.take(DATABASE.len() as u64).read_to_end(&mut head));
    read.is_some_and(|read| read.is_ok()) && head == DATABASE
}

use crate::bytes::document;
#[cfg(feature = "databases")]
use crate::database::{export as of_database, listed};

#[cfg(not(feature = "databases"))]
fn of_database(database: &Path, id: &str) -> Result<Vec<u8>, StoreError> {
    let id = clean(id);
    let reason = format!(
        "a database, which this build does not read: build it with --features databases, or have the agent write the session to a file (opencode export {id}, goose session export --format json)"
    );
    Err(StoreError::session(database, reason))
}

#[cfg(not(feature = "databases"))]
fn listed(database: &Path) -> Result<String, StoreError> {
    of_database(database, "ID").map(|_| String::new())
}

/// Returns the session that a file of the tree describes, with its messages and their parts.
fn of_tree(path: &Path, name: &str) -> Option<Vec<u8>> {
    let id = name.strip_suffix(".json").filter(|id| id.starts_with(ID))?;
    let storage = path.ancestors().nth(3)?;
    let is_tree = path.ancestors().nth(2)?.ends_with("session");
    let messages = storage.join("message").join(id);
    if !is_tree || !messages.is_dir() {
        return None;
    }
    let info = json_file(path)?;
    let mut found = Vec::new();
    for file in json_files(&messages) {
        let Some(message) = json_file(&file) else {
            continue;
        };
        let id = file.file_stem().unwrap_or_default();
        let parts = json_files(&storage.join("part").join(id));
        let parts: Vec<Value> = parts.iter().filter_map(|part| json_file(part)).collect();
        let at = message["time"]["created"].as_u64().unwrap_or(0);
        let message = serde_json::json!({ "info": message, "parts": parts });
        found.push(((at, id.to_owned()), message));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let messages: Vec<Value> = found.into_iter().map(|(_, message)| message).collect();
    Some(document(
        "info",
        &info.to_string(),
        messages.iter().map(Value::to_string),
    ))
}

/// Returns the messages of a session of Cline, with the description of it and the compaction that are next to them.
fn of_cline(path: &Path, name: &str) -> Option<Vec<u8>> {
    let id = name.strip_suffix(".messages.json")?;
    let is_short = path.metadata().ok()?.len() <= LONGEST;
    let mut bytes = is_short.then(|| fs::read(path).ok()).flatten()?;
    let end = bytes.trim_ascii_end().strip_suffix(b"}")?.len();
    let more = [("session", ".json"), ("compaction", ".compaction.json")];
    let more = more.map(|(member, end)| {
        let value = json_file(&path.with_file_name(format!("{id}{end}")))?;
        Some(format!(",\n\"{member}\":{value}"))
    });
    bytes.truncate(end);
    bytes.extend(more.into_iter().flatten().collect::<String>().bytes());
    bytes.extend(b"}\n");
    Some(bytes)
}

/// Returns the JSON files of a folder by name; links are not followed.
fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let paths = files.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort();
    paths
}

pub(crate) fn json_file(path: &Path) -> Option<Value> {
    let is_short = path.metadata().ok()?.len() <= LONGEST;
    let bytes = is_short.then(|| fs::read(path).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok()
}
