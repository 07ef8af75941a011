//! New files: complete or not there at all, and never in the place of another.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::error::Error;

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

/// Fails where [`write_new`] would: an existing file, no folder, a folder that cannot be written to.
pub fn check_new(path: &Path) -> Result<(), Error> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    let tried = temporary_in(folder_of(path));
    tried
        .map(drop)
        .map_err(|error| Error::io("write", path, error))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Writes `contents`, a newline where one is missing, and `lines` to a new file. The file appears
/// whole, with its bytes on the disk, or not at all; an existing one is never replaced. It may be read by
/// whoever may read the file that it copies, and otherwise by its owner alone.
pub fn write_new<L: AsRef<[u8]>>(
    path: &Path,
    contents: Contents,
    ends_with_newline: bool,
    lines: &[L],
) -> Result<(), Error> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    let failed = |error| Error::io("write", path, error);
    let permissions = match &contents {
        Contents::File(source, _) => Some(source.metadata().map_err(failed)?.permissions()),
        Contents::Memory(_) | Contents::Empty => None,
    };
    let prepared = prepare(path, |writer| {
        contents.copy_to(writer)?;
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
    crate::cancel::check()?;
    settle(prepared, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        _ => failed(error),
    })
}

/// Writes what `write` writes to a file that will become `path`, and forces it to the disk. It has no
/// lasting name yet, and only its owner may read it.
pub(super) fn prepare(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let temporary = temporary_in(folder_of(path))?;
    let mut writer = BufWriter::new(temporary.as_file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// Gives a prepared file its name, unless a file has it.
pub(super) fn settle(prepared: NamedTempFile, path: &Path) -> io::Result<()> {
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

fn exists(path: &Path) -> Error {
    Error::Usage(format!(
        "{} exists; --out never overwrites, choose another name",
        path.display()
    ))
}
