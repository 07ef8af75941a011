//! The files next to a session that belong to it: waiting messages, the lock, and the outputs that were cut.
//!
//! A program that writes one of them could send messages in the user's name, or let a second writer in. So tools refuse
//! such names, those of every session.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The ending of the file of waiting messages; it replaces the session's own ending.
pub(crate) const PENDING: &str = ".pending.jsonl";

/// The suffix of the lock, after the name of the session.
const LOCK: &str = ".lock";

/// The suffix of the folder of cut outputs, after the name of the session.
pub(crate) const OUTPUTS: &str = ".outputs";

/// Returns the path of the pending file of `session`.
pub fn pending_path(session: &Path) -> PathBuf {
    match session.extension().is_some_and(|end| end == "jsonl") {
        true => behind(&session.with_extension(""), PENDING),
        false => behind(session, PENDING),
    }
}

/// Returns the path of the lock of `session`.
pub(crate) fn lock_path(session: &Path) -> PathBuf {
    behind(session, LOCK)
}

/// Returns the folder of the outputs of `session` that were cut.
pub fn outputs_path(session: &Path) -> PathBuf {
    behind(session, OUTPUTS)
}

/// Returns a path with `ending` after its name.
pub(crate) fn behind(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The most of a first line that is read to see whether it is a header, in bytes.
const HEADER: u64 = 64 * 1024;

/// Returns the files next to `session` that only its owner writes, whether or not they are there.
pub fn sidecars(session: &Path) -> [PathBuf; 2] {
    // A link and its target are one session.
    let real = session.canonicalize();
    let session = real.as_deref().unwrap_or(session);
    [pending_path(session), lock_path(session)]
}

/// Returns true if a file has, or is in a folder that has, the name of a sidecar of a session.
pub fn is_sidecar(path: &Path) -> bool {
    path.ancestors().any(|at| {
        let Some(name) = at.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        // Some file systems ignore case.
        let small = name.to_ascii_lowercase();
        small.ends_with(PENDING)
            || [LOCK, OUTPUTS].iter().any(|end| {
                small.strip_suffix(end).is_some_and(|session| {
                    let session = name.get(..session.len()).unwrap_or_default();
                    small[..session.len()].ends_with(".jsonl")
                        || is_session(&at.with_file_name(session))
                })
            })
    })
}

/// Returns true if a folder holds the cut outputs of a session that works in `cwd`.
pub fn holds_outputs(folder: &Path, cwd: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let session = name.and_then(|name| name.strip_suffix(OUTPUTS));
    let header = session.and_then(|session| header(&folder.with_file_name(session)));
    header.is_some_and(|header| {
        let of = header["cwd"]
            .as_str()
            .map(|of| Path::new(of).canonicalize());
        of.and_then(Result::ok).is_some_and(|of| of == cwd)
    })
}

/// Returns true if a regular file begins as a session does; its name does not matter.
fn is_session(path: &Path) -> bool {
    header(path).is_some()
}

/// Returns the header of a session; the name of the file does not matter.
fn header(path: &Path) -> Option<Value> {
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let file = is_file.then(|| File::open(path).ok()).flatten()?;
    let mut line = Vec::new();
    let mut reader = BufReader::new(file.take(HEADER));
    reader.read_until(b'\n', &mut line).ok()?;
    let header: Value = serde_json::from_slice(&line).ok()?;
    (header["type"] == "session").then_some(header)
}

#[cfg(test)]
mod tests;
