//! The folders of sessions: one for each working directory.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use session_model::text::{clean, first_line};
use session_model::{SessionTree, Timestamp, decode_bytes};

use crate::error::{Advice, StoreError};
use crate::locator::{Locator, is_url};
use crate::lock::SessionLock;
use crate::pending::{read_pending, session_path};
use crate::queue::Queued;
use crate::row::SessionRow;

/// The variable that names the root of all sessions.
pub const SESSION_DIR_VARIABLE: &str = "AGENT_CLI_SESSION_DIR";

/// The number of bytes of a session that are read to list it.
const BEGINNING: u64 = 256 * 1024;

/// The number of characters of the working directory in a folder's name.
const READABLE: usize = 56;

/// Returns the folder or the address of the store that holds all sessions: `given`, else that of the environment, else
/// a folder below the user's home.
///
/// # Errors
/// No folder is named, and the home folder is unknown.
pub fn sessions_root(given: Option<&Path>) -> Result<PathBuf, StoreError> {
    root_of(given, |name| std::env::var_os(name), std::env::home_dir())
}

fn root_of(
    given: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf, StoreError> {
    let named = |name| variable(name).filter(|value| !value.is_empty());
    let root = match (given, named(SESSION_DIR_VARIABLE)) {
        (Some(given), _) => given.to_owned(),
        (None, Some(folder)) => PathBuf::from(folder),
        (None, None) => {
            // The rule of the XDG folders: a relative one counts for nothing.
            let data = named("XDG_DATA_HOME").map(PathBuf::from);
            let data = data.filter(|data| data.is_absolute());
            let home = home.filter(|home| home.is_absolute());
            let data = data.or_else(|| Some(home?.join(".local/share")));
            let data = data.ok_or_else(|| {
                StoreError::usage("no home folder is known; say where sessions are")
                    .advising(Advice::NameFolder)
            })?;
            data.join("agent-cli").join("sessions")
        }
    };
    if is_url(&root) {
        return Ok(root);
    }
    std::path::absolute(&root).map_err(|error| StoreError::io("open", root, error))
}

/// Returns true if the file of `session` lies below `root`, where our own program keeps sessions; a link there that
/// leads out does not count.
pub fn is_kept(root: &Path, session: &Path) -> bool {
    let real = match (session.canonicalize(), session.parent()) {
        (Ok(real), _) => Some(real),
        // A session that is not yet persisted has a folder only.
        (Err(_), Some(folder)) => folder.canonicalize().ok(),
        (Err(_), None) => None,
    };
    let root = root.canonicalize().ok();
    root.zip(real)
        .is_some_and(|(root, real)| real.starts_with(root))
}

/// Returns the folder for sessions that work in `cwd`: its name is readable, and a hash at its end distinguishes two
/// directories with the same readable name. A link to a directory is that directory.
pub fn folder_for(root: &Path, cwd: &Path) -> PathBuf {
    let cwd = cwd
        .canonicalize()
        .or_else(|_| std::path::absolute(cwd))
        .unwrap_or_else(|_| cwd.to_owned());
    // Without a slash at its end and the like, which name the same directory.
    let cwd: PathBuf = cwd.components().collect();
    let readable: String = cwd
        .to_string_lossy()
        .chars()
        .map(|character| match character {
            character if character.is_alphanumeric() => character,
            '.' | '_' => character,
            _ => '-',
        })
        .collect();
    let readable = readable.trim_matches(['-', '.']);
    // The end of a path is more specific than its beginning.
    let skipped = readable.chars().count().saturating_sub(READABLE);
    let readable: String = match readable {
        "" => "root".to_owned(),
        readable => readable.chars().skip(skipped).collect(),
    };
    let hash = fnv(cwd.as_os_str().as_encoded_bytes());
    root.join(format!("{readable}-{hash:016x}"))
}

/// Returns the 64-bit FNV-1a hash, which is the same on every machine and in every version.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the sessions below `root`, the last written first: those that work in `cwd`, or all. Only the beginning of
/// each is read. Files that are not sessions of version 1 to 3 with a header are skipped.
///
/// # Errors
/// A folder that cannot be read.
pub fn list(root: &Path, cwd: Option<&Path>) -> Result<Vec<SessionRow>, StoreError> {
    let mut rows = Vec::new();
    match cwd {
        Some(cwd) => list_folder(&folder_for(root, cwd), &mut rows)?,
        None => {
            list_folder(root, &mut rows)?;
            for folder in entries(root)? {
                if folder.is_dir() {
                    list_folder(&folder, &mut rows)?;
                }
            }
        }
    }
    rows.sort_by(|one, other| (other.modified, &other.locator).cmp(&(one.modified, &one.locator)));
    Ok(rows)
}

/// Returns the session whose id is `id`, or the only one whose id has this prefix.
///
/// # Errors
/// No session, or several, and a folder that cannot be read.
pub fn find(root: &Path, id: &str) -> Result<PathBuf, StoreError> {
    let found = only_one(list(root, None)?, id, &root.display().to_string());
    found.map(PathBuf::from)
}

/// Returns the only session of `rows` that `id` means; `place` is what was looked through.
pub fn only_one(mut rows: Vec<SessionRow>, id: &str, place: &str) -> Result<Locator, StoreError> {
    rows.retain(|row| !id.is_empty() && row.id.starts_with(id));
    if rows.iter().any(|row| row.id == id) {
        rows.retain(|row| row.id == id);
    }
    let id = clean(id);
    match rows.as_slice() {
        [row] => Ok(row.locator.clone()),
        [] => {
            let text = format!("no session {id} in {place}");
            Err(StoreError::usage(text).advising(Advice::ListSessions))
        }
        rows => {
            let found = rows.iter().map(|row| {
                let what = row.name.as_ref().or(row.first_prompt.as_ref());
                let what = first_line(what.map_or("", String::as_str), 40);
                format!("\n  {}  {what}", row.locator)
            });
            Err(StoreError::usage(format!(
                "{} sessions are called {id}; name more of the id, or the file:{}",
                rows.len(),
                found.collect::<String>()
            )))
        }
    }
}

fn list_folder(folder: &Path, rows: &mut Vec<SessionRow>) -> Result<(), StoreError> {
    for path in entries(folder)? {
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        // A session that is moved or removed during the listing is left out.
        let row = match session_path(&path) {
            None => row_of(&path, |bytes| Some(decode_bytes(bytes).tree)),
            Some(session) if session.symlink_metadata().is_err() => {
                unpersisted_row(&path, &session)
            }
            Some(_) => None,
        };
        rows.extend(row);
    }
    Ok(())
}

/// Returns what is in a folder; nothing when there is no such folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let failed = |error| StoreError::io("read", folder, error);
    let found = match std::fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let paths = found.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<Vec<PathBuf>>>().map_err(failed)
}

/// Returns the list row from the beginning of a file, `None` if it is not a session; `decode` reads it.
pub fn row_of(
    path: &Path,
    decode: impl FnOnce(Vec<u8>) -> Option<SessionTree>,
) -> Option<SessionRow> {
    // Opening a pipe would block until it has a writer.
    let metadata = path.metadata().ok().filter(Metadata::is_file)?;
    let file = File::open(path).ok()?;
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning).ok()?;
    if beginning.len() as u64 == BEGINNING {
        // The line that was cut off is no damage.
        let end = beginning.iter().rposition(|byte| *byte == b'\n');
        beginning.truncate(end.map_or(0, |end| end + 1));
    }
    let tree = decode(beginning)?;
    // An unreadable pending file is reported when the session is opened.
    let held = read_pending(path).ok().flatten().map(|(held, ..)| held);
    let id = tree.header().map(|header| header.id.as_str());
    let held = held.filter(|held| id.is_some_and(|id| held.belongs_to(id)));
    let mut queue = held.map(|held| held.queue).unwrap_or_default();
    queue.retain(|queued| tree.find(&queued.id).is_none());
    row(path, &tree, &metadata, &queue)
}

fn unpersisted_row(pending: &Path, session: &Path) -> Option<SessionRow> {
    let metadata = pending.metadata().ok()?;
    let (held, ..) = read_pending(session).ok()??;
    let row = row(session, held.session.tree(), &metadata, &held.queue)?;
    Some(SessionRow {
        persisted: false,
        ..row
    })
}

fn row(
    path: &Path,
    tree: &SessionTree,
    metadata: &Metadata,
    queue: &[Queued],
) -> Option<SessionRow> {
    let modified = jiff::Timestamp::try_from(metadata.modified().ok()?).ok()?;
    let modified = Timestamp::from_millis(modified.as_millisecond());
    let row = SessionRow::of(Locator::of_path(path), tree, modified, metadata.len())?;
    Some(SessionRow {
        locked: SessionLock::holder(path).is_some(),
        ..row.with_queue(queue)
    })
}

#[cfg(test)]
mod tests;
