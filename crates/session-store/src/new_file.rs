//! New files: complete or not there at all, and never in the place of another.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::error::StoreError;
use crate::file_layer::{FileLayer, SystemFiles};

/// The bytes of a session that is copied.
#[derive(Debug)]
pub enum Contents {
    /// In memory.
    Memory(Arc<Vec<u8>>),
    /// The first so many bytes of a file.
    File(File, u64),
    /// Nothing.
    Empty,
}

impl Contents {
    /// Returns all of the bytes.
    pub fn read(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    fn copy_to(self, mut to: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => to.write_all(&bytes),
            Self::File(file, length) => {
                let copied = io::copy(&mut file.take(length), &mut to)?;
                match copied == length {
                    true => Ok(()),
                    false => Err(io::Error::other(
                        "the session got shorter while it was copied",
                    )),
                }
            }
            Self::Empty => Ok(()),
        }
    }
}

/// Fails where [`NewFile::prepare`] would: an existing file, no folder, a folder that cannot be written to.
pub fn check_new(path: &Path) -> Result<(), StoreError> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    let tried = temporary_in(folder_of(path));
    tried
        .map(drop)
        .map_err(|error| StoreError::io("write", path, error))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A new file that is complete and synced, and has no lasting name yet. Dropped, it is removed.
#[derive(Debug)]
pub struct NewFile {
    prepared: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Writes `contents`, a newline where one is missing, and `lines` to a file that will become `path`. It may be
    /// read by whoever may read the file that it copies, and otherwise by its owner alone.
    ///
    /// # Errors
    /// A file that has the name, and failed writes.
    pub fn prepare<L: AsRef<[u8]>>(
        path: &Path,
        contents: Contents,
        ends_with_newline: bool,
        lines: &[L],
    ) -> Result<Self, StoreError> {
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let failed = |error| StoreError::io("write", path, error);
        let permissions = match &contents {
            Contents::File(source, _) => Some(source.metadata().map_err(failed)?.permissions()),
            Contents::Memory(_) | Contents::Empty => None,
        };
        let mut contents = Some(contents);
        let prepared = prepare(path, &SystemFiles, |writer| {
            if let Some(contents) = contents.take() {
                contents.copy_to(writer)?;
            }
            if !ends_with_newline {
                writer.write_all(b"\n")?;
            }
            for line in lines {
                writer.write_all(line.as_ref())?;
                writer.write_all(b"\n")?;
            }
            Ok(())
        });
        let prepared = prepared.map_err(failed)?;
        if let Some(permissions) = permissions {
            let file = prepared.as_file();
            file.set_permissions(permissions).map_err(failed)?;
        }
        Ok(Self {
            prepared,
            path: path.to_owned(),
        })
    }

    /// Gives the file its name. It appears whole, with its bytes on the disk, or not at all.
    ///
    /// # Errors
    /// A file that has the name: an existing one is never replaced.
    pub fn keep(self) -> Result<(), StoreError> {
        let path = &self.path;
        settle(self.prepared, path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => StoreError::io("write", path, error),
        })
    }
}

/// Writes what `write` writes to a file that will become `path`, and forces it to the disk. It has no
/// lasting name yet, and only its owner may read it.
pub(crate) fn prepare(
    path: &Path,
    files: &dyn FileLayer,
    mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let temporary = temporary_in(folder_of(path))?;
    files.fill(temporary.as_file(), &mut write)?;
    Ok(temporary)
}

/// Gives a prepared file its name, unless a file has it.
pub(crate) fn settle(prepared: NamedTempFile, path: &Path) -> io::Result<()> {
    prepared
        .persist_noclobber(path)
        .map_err(|error| error.error)?;
    sync_folder(folder_of(path));
    Ok(())
}

/// Returns a new file without a lasting name in `folder`. Errors do not tell the passing one.
pub(crate) fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(folder).map_err(|error| {
        let text = error.to_string();
        let said = text.split(" at path ").next().unwrap_or_default();
        io::Error::new(error.kind(), said)
    })
}

/// Forces a folder's list of names to the disk, where the system can.
pub(crate) fn sync_folder(folder: &Path) {
    // Not every system lets a folder be opened; the file itself is safe by now.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn exists(path: &Path) -> StoreError {
    StoreError::Usage(format!(
        "{} exists; --out never overwrites, choose another name",
        path.display()
    ))
}
