//! Kept outputs that no session needs: finds them, and removes them by age and size.
//!
//! Never removed are an output that an entry or a queued message of any session below the same root names, the
//! outputs of a session that a program has open, and files that are not named as outputs are. A session outside of
//! the root is not read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use memchr::memmem;
use uuid::Uuid;

use crate::catalog::entries;
use crate::error::StoreError;
use crate::lock::SessionLock;
use crate::sidecars::OUTPUTS;

/// The unreferenced outputs that are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanupRule {
    /// Those that are at least this old.
    pub older_than: Duration,
    /// Younger ones too, the oldest first, while the outputs of all sessions take more than so many bytes.
    pub most_bytes: Option<u64>,
}

/// The whole output of one call, in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// A number of outputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputTotal {
    /// The number of files.
    pub files: usize,
    /// Their total size.
    pub bytes: u64,
}

impl OutputTotal {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// The outputs that a cleanup removes, and why it leaves the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleanup {
    /// The outputs that it removes, the oldest first.
    pub unused: Vec<KeptOutput>,
    /// Left, because a session names them.
    pub referenced: OutputTotal,
    /// Left, because a program has their session open.
    pub locked: OutputTotal,
    /// Left, because they are neither old nor over the size limit.
    pub recent: OutputTotal,
}

/// Returns what [`remove_unused`] would remove now; changes nothing.
///
/// # Errors
/// A folder or session below `root` cannot be read, so what it refers to is unknown.
pub fn find_unused(root: &Path, rule: CleanupRule, now: SystemTime) -> Result<Cleanup, StoreError> {
    survey(root, rule, now, |session| {
        Ok(SessionLock::holder(session).is_some())
    })
}

/// Removes the outputs of the sessions below `root` that no session needs, and returns them. The sessions that they
/// belong to are locked meanwhile.
///
/// # Errors
/// Those of [`find_unused`], before anything is removed; a lock or an output that cannot be written.
pub fn remove_unused(
    root: &Path,
    rule: CleanupRule,
    now: SystemTime,
) -> Result<Cleanup, StoreError> {
    let mut locks = Vec::new();
    let found = survey(root, rule, now, |session| {
        let lock = match session.symlink_metadata() {
            Ok(_) => SessionLock::acquire(session),
            Err(_) => SessionLock::acquire_unpersisted(session),
        };
        match lock {
            Ok(lock) => locks.push(lock),
            Err(StoreError::Session { .. }) => return Ok(true),
            Err(error) => return Err(error),
        }
        Ok(false)
    })?;
    for output in &found.unused {
        match std::fs::remove_file(&output.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("remove", &output.path, error)),
        }
        if let Some(folder) = output.path.parent() {
            // Fails until it is empty.
            let _ = std::fs::remove_dir(folder);
        }
    }
    Ok(found)
}

/// Finds unused outputs; `is_locked` returns true if a program has a session open.
fn survey(
    root: &Path,
    rule: CleanupRule,
    now: SystemTime,
    mut is_locked: impl FnMut(&Path) -> Result<bool, StoreError>,
) -> Result<Cleanup, StoreError> {
    let mut cleanup = Cleanup::default();
    let mut unnamed = BTreeMap::new();
    let mut sessions = Vec::new();
    let mut total = 0;
    for folder in folders(root)? {
        for path in entries(&folder)? {
            let Ok(found) = path.symlink_metadata() else {
                continue;
            };
            match session_of(&path).filter(|_| found.is_dir()) {
                Some(session) => {
                    let outputs = outputs(&path)?;
                    total += outputs.values().map(|output| output.bytes).sum::<u64>();
                    match !outputs.is_empty() && is_locked(&session)? {
                        true => outputs
                            .values()
                            .for_each(|output| cleanup.locked.add(output.bytes)),
                        false => unnamed.extend(outputs),
                    }
                }
                // A link to a session counts; opening a pipe would wait.
                None if path.metadata().is_ok_and(|found| found.is_file()) => sessions.push(path),
                None => {}
            }
        }
    }
    for session in &sessions {
        if unnamed.is_empty() {
            break;
        }
        let named = names_in(session, &unnamed);
        for name in named.map_err(|error| StoreError::io("read", session, error))? {
            if let Some(output) = unnamed.remove(&name) {
                cleanup.referenced.add(output.bytes);
            }
        }
    }
    let mut outputs: Vec<KeptOutput> = unnamed.into_values().collect();
    outputs.sort_by(|one, other| (one.modified, &one.path).cmp(&(other.modified, &other.path)));
    for output in outputs {
        let age = now.duration_since(output.modified).unwrap_or_default();
        let is_too_much = rule.most_bytes.is_some_and(|most| total > most);
        if age >= rule.older_than || is_too_much {
            total -= output.bytes;
            cleanup.unused.push(output);
        } else {
            cleanup.recent.add(output.bytes);
        }
    }
    Ok(cleanup)
}

/// Returns the folders in which sessions are: the root, and those in it.
fn folders(root: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut folders = entries(root)?;
    folders.retain(|folder| folder.is_dir() && session_of(folder).is_none());
    folders.push(root.to_owned());
    Ok(folders)
}

/// Returns the session whose outputs a folder has by its name.
fn session_of(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?.strip_suffix(OUTPUTS)?;
    Some(folder.with_file_name(name))
}

/// The name of an output in an entry: the random part of its file name.
type Name = [u8; 36];

/// The ending of output file names.
const ENDING: &[u8] = b".txt";

/// Returns the outputs in a folder. Entries with another name than `SOURCE-UUID.txt`, or that are not files, are not
/// ours.
fn outputs(folder: &Path) -> Result<BTreeMap<Name, KeptOutput>, StoreError> {
    let mut outputs = BTreeMap::new();
    for path in entries(folder)? {
        let Some(name) = path.file_name().and_then(name_of) else {
            continue;
        };
        if let Ok(found) = path.symlink_metadata()
            && found.is_file()
            && let Ok(modified) = found.modified()
        {
            let bytes = found.len();
            let output = KeptOutput {
                path,
                bytes,
                modified,
            };
            outputs.insert(name, output);
        }
    }
    Ok(outputs)
}

fn name_of(file: &std::ffi::OsStr) -> Option<Name> {
    let stem = file.as_encoded_bytes().strip_suffix(ENDING)?;
    let (source, name) = stem.split_last_chunk()?;
    let is_ours = source.ends_with(b"-") && Uuid::try_parse_ascii(name).is_ok();
    is_ours.then_some(*name)
}

/// The size of the pieces in which a session is searched, in bytes.
const PIECE: u64 = 1024 * 1024;

/// Returns which of the outputs the bytes of a file name.
fn names_in(file: &Path, outputs: &BTreeMap<Name, KeptOutput>) -> io::Result<Vec<Name>> {
    let mut file = File::open(file)?;
    let finder = memmem::Finder::new(ENDING);
    let mut names = Vec::new();
    let mut piece = Vec::new();
    loop {
        // A name may cross the end of a piece.
        let kept = size_of::<Name>() + ENDING.len() - 1;
        piece.drain(..piece.len().saturating_sub(kept));
        if file.by_ref().take(PIECE).read_to_end(&mut piece)? == 0 {
            return Ok(names);
        }
        let found = finder.find_iter(&piece);
        let found = found.filter_map(|at| piece[..at].last_chunk::<{ size_of::<Name>() }>());
        names.extend(found.filter(|name| outputs.contains_key(*name)));
    }
}

#[cfg(test)]
mod tests;
