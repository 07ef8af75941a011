//! Replacing a session by another form of itself, with the old bytes kept under another name.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::new_file::{Contents, NewFile, folder_of, sync_folder, temporary_in};
use crate::progress::ReadObserver;
use crate::sidecars::behind;

/// Replaces the session at `path`, whose lock the caller holds, by `lines`; returns the path of the kept old file. The
/// session is the old one or the new one at every moment, never a part of either.
///
/// # Errors
/// Failed writes, and what the observer returns before the session is touched.
pub fn replace_session(
    path: &Path,
    version: u64,
    lines: &[Vec<u8>],
    observer: &mut dyn ReadObserver,
) -> Result<PathBuf, StoreError> {
    let failed = |error| StoreError::io("write", path, error);
    let about = std::fs::metadata(path).map_err(failed)?;
    writable(path, &about)?;
    let backup = free_name(path, version);
    let folder = folder_of(path);
    let mut temporary = temporary_in(folder).map_err(failed)?;
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    temporary.write_all(&bytes).map_err(failed)?;
    temporary
        .as_file()
        .set_permissions(about.permissions())
        .map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    observer.read(0)?;
    // The old bytes have a second name before the first one changes its meaning.
    keep_backup(path, &backup)?;
    temporary.persist(path).map_err(|error| {
        // The session kept its name, so the second one is superfluous.
        let _ = std::fs::remove_file(&backup);
        failed(error.error)
    })?;
    sync_folder(folder);
    Ok(backup)
}

/// Refuses a session that its owner has made read-only: its folder would allow to replace it, and root may write it.
pub(crate) fn writable(path: &Path, about: &std::fs::Metadata) -> Result<(), StoreError> {
    match about.permissions().readonly() {
        true => Err(StoreError::io(
            "write",
            path,
            std::io::ErrorKind::PermissionDenied.into(),
        )),
        false => Ok(()),
    }
}

/// Gives the bytes of the session a second name: by a link, or by a copy where the system has no links.
fn keep_backup(path: &Path, backup: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("keep a backup as", backup, error);
    match std::fs::hard_link(path, backup) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(failed(error));
        }
        Err(_) => {}
    }
    let source = std::fs::File::open(path).map_err(failed)?;
    let length = source.metadata().map_err(failed)?.len();
    NewFile::prepare::<&[u8]>(backup, Contents::File(source, length), true, &[])?.keep()
}

/// Returns a name for the backup that no file has.
fn free_name(path: &Path, version: u64) -> PathBuf {
    let named = |suffix: String| behind(path, &suffix);
    let mut name = named(format!(".v{version}.bak"));
    let mut number = 1;
    while name.symlink_metadata().is_ok() {
        number += 1;
        name = named(format!(".v{version}.bak{number}"));
    }
    name
}
