//! New files: complete or absent, and never over an existing file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use session_model::{SessionTree, SourceError, Span};
use tempfile::NamedTempFile;

use crate::error::{Advice, StoreError};
use crate::file_layer::{FileLayer, SystemFiles};
use crate::sidecars::PENDING;

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
    /// Returns the header and the lines of all entries as the source of a tree returns them; `bytes` is the offset at
    /// which the last stored line ends.
    pub(crate) fn of_lines(tree: &SessionTree, bytes: u64) -> io::Result<Self> {
        let gone = |error: SourceError| io::Error::other(error.to_string());
        let first = tree.indices().next();
        let first = first.map_or(bytes, |first| tree.span(first).offset);
        let header = Span {
            offset: 0,
            len: u32::try_from(first).unwrap_or(u32::MAX),
        };
        let mut file = tempfile::tempfile()?;
        let mut to = BufWriter::new(&file);
        to.write_all(&tree.source_bytes(header).map_err(gone)?.unwrap_or_default())?;
        for index in tree.indices() {
            to.write_all(&tree.raw_line(index).map_err(gone)?)?;
            to.write_all(b"\n")?;
        }
        to.flush()?;
        drop(to);
        file.rewind()?;
        let length = file.metadata()?.len();
        Ok(Self::File(file, length))
    }

    /// Returns all of the bytes.
    ///
    /// # Errors
    /// Failed reads, and a file that got shorter.
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

/// Fails where [`NewFile::prepare`] would: an existing file, no folder, a folder that cannot be written to. Names of
/// pending files are refused too.
///
/// # Errors
/// Those of [`NewFile::prepare`], as far as they are known before.
pub fn check_new(path: &Path) -> Result<(), StoreError> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    if path
        .as_os_str()
        .as_encoded_bytes()
        .ends_with(PENDING.as_bytes())
    {
        let reason =
            "files of this name hold the messages that wait for a session; choose another name";
        return Err(StoreError::session(path, reason));
    }
    let tried = temporary_in(folder_of(path)).map(drop);
    tried.map_err(|error| StoreError::io("write", path, error))
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
    temporary: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Writes `contents`, a newline if one is missing, and `lines` to a file that will become `path`. Its permissions
    /// are those of the file that it copies; otherwise only its owner may read it.
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
        let prepared = Self::filled(path, &SystemFiles, |writer| {
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
            let file = prepared.temporary.as_file();
            file.set_permissions(permissions).map_err(failed)?;
        }
        Ok(prepared)
    }

    /// Writes what `write` writes to a file that will become `path`, and forces it to the disk. Only its owner may read
    /// it.
    pub(crate) fn filled(
        path: &Path,
        files: &dyn FileLayer,
        mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Self> {
        let temporary = temporary_in(folder_of(path))?;
        files.fill(temporary.as_file(), &mut write)?;
        Ok(Self {
            temporary,
            path: path.to_owned(),
        })
    }

    /// Returns the file for reading.
    pub(crate) fn reopen(&self) -> io::Result<File> {
        self.temporary.reopen()
    }

    /// Gives the file its name, unless a file has it.
    pub(crate) fn settle(self) -> io::Result<()> {
        let kept = self.temporary.persist_noclobber(&self.path);
        kept.map_err(|error| error.error)?;
        sync_folder(folder_of(&self.path));
        Ok(())
    }

    /// Gives the file its name. It appears whole, with its bytes on the disk, or not at all.
    ///
    /// # Errors
    /// A file that has the name: an existing one is never replaced.
    pub fn keep(self) -> Result<(), StoreError> {
        let path = self.path.clone();
        self.settle().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => StoreError::io("write", path, error),
        })
    }
}

/// The prefix of the names of temporary files.
const PREFIX: &str = ".agent-cli-new-";

/// The age from which on a temporary file is one of a program that was killed.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Returns a new file without a lasting name in `folder`. Those of programs that were killed are removed. Errors do not
/// name the temporary file.
pub(crate) fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    remove_abandoned(folder);
    let temporary = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder);
    temporary.map_err(|error| {
        let text = error.to_string();
        let reason = text.split(" at path ").next().unwrap_or_default();
        io::Error::new(error.kind(), reason)
    })
}

fn remove_abandoned(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let found = is_temporary.then(|| entry.metadata().ok()).flatten();
        let found = found.filter(std::fs::Metadata::is_file);
        let age = found.and_then(|found| found.modified().ok()?.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED) {
            // Files that cannot be removed stay.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Syncs a folder's list of names, if the system can.
pub(crate) fn sync_folder(folder: &Path) {
    // Not every system can open a folder; the file itself is safe by now.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn exists(path: &Path) -> StoreError {
    StoreError::usage(format!("{} exists", path.display())).advising(Advice::NewName)
}
