//! Sessions of other programs: recognized where a session is opened, and read as one of the family.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use session_import::{Format, ImportReport, Input, Origin, detect, import, nearest_miss};
use session_store::{FileSource, ReadObserver, SessionFile};
use tempfile::{SpooledData, SpooledTempFile};

use crate::error::Error;
use crate::ui::counted;

/// How much of a file is looked at to tell its format, in bytes.
const HEAD: u64 = 1024 * 1024;

/// Up to how many bytes a converted session is kept in memory.
const IN_MEMORY: usize = 16 * 1024 * 1024;

/// How many folders are looked through for the session on which a fork is based.
const MOST_FOLDERS: usize = 4096;

/// A session of another program that a command has read.
#[derive(Debug, Clone)]
pub struct ReadAs {
    /// Its format.
    pub format: Format,
    /// What people are told about it.
    pub line: String,
}

/// The sessions of other programs that this command has read; what is printed names them.
static READ: Mutex<Vec<ReadAs>> = Mutex::new(Vec::new());

/// Returns the sessions of other programs that this command has read, and forgets them.
pub fn take_read() -> Vec<ReadAs> {
    std::mem::take(&mut READ.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Bytes of a session, before anybody knows whose they are.
pub enum Bytes {
    /// In memory: they came from standard input or from a pipe.
    Memory(Vec<u8>),
    /// In the file at the path.
    File,
}

impl Bytes {
    /// Returns the beginning, for telling the format.
    pub fn head(&self, path: &Path) -> Result<Vec<u8>, Error> {
        match self {
            Self::Memory(bytes) => Ok(bytes[..bytes.len().min(HEAD as usize)].to_vec()),
            Self::File => {
                let mut head = Vec::new();
                let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
                let read = file.take(HEAD).read_to_end(&mut head);
                read.map_err(|error| Error::io("read", path, error))?;
                Ok(head)
            }
        }
    }

    /// Returns the bytes as an input.
    fn input(self, path: &Path) -> Result<Input, Error> {
        match self {
            Self::Memory(bytes) => Ok(Input::of_bytes(bytes)),
            Self::File => file_input(path).map_err(|error| Error::io("open", path, error)),
        }
    }
}

fn file_input(path: &Path) -> std::io::Result<Input> {
    let file = File::open(path)?;
    Ok(Input {
        bytes: file.metadata()?.len(),
        source: Arc::new(FileSource::new(file)),
    })
}

/// A session that was converted.
pub struct Converted {
    /// Its lines.
    pub lines: SpooledData,
    /// What was found, mapped and lost.
    pub report: ImportReport,
}

/// Converts a session of a known format. Its lines are in memory, or in a file without a name.
pub fn convert(
    path: &Path,
    format: Format,
    bytes: Bytes,
    with_checksum: bool,
) -> Result<Converted, Error> {
    let input = bytes.input(path)?;
    let sha256 = match with_checksum {
        true => Some(sha256(path, &input)?),
        false => None,
    };
    let shown = path.display().to_string();
    let origin = Origin {
        path: &shown,
        sha256: sha256.as_deref(),
    };
    let mut lines = BufWriter::new(Cancellable(SpooledTempFile::new(IN_MEMORY)));
    let find = |id: &str| find_codex(path, id).and_then(|path| file_input(&path).ok());
    let report = import(format, &input, &origin, &find, &mut lines);
    crate::cancel::check()?;
    let report = report.map_err(|error| Error::session(path, error.to_string()))?;
    let lines = lines.into_inner().map_err(|error| {
        let text = format!("cannot keep the converted session: {}", error.error());
        Error::session(path, text)
    })?;
    Ok(Converted {
        lines: lines.0.into_inner(),
        report,
    })
}

/// Reads a session of a known format, and remembers that it is one of another program.
pub fn open(
    path: &Path,
    format: Format,
    bytes: Bytes,
    observer: &mut dyn ReadObserver,
) -> Result<SessionFile, Error> {
    let Converted { lines, mut report } = convert(path, format, bytes, false)?;
    let mut session = match lines {
        SpooledData::InMemory(lines) => SessionFile::of_memory(path, lines.into_inner())?,
        SpooledData::OnDisk(file) => SessionFile::of_file(path, file, observer)?,
    };
    report.diagnostics.append(&mut session.decoded.diagnostics);
    session.decoded.diagnostics = report.diagnostics.clone();
    let skipped = match report.skipped.len() {
        0 => "every kind of record is mapped".to_owned(),
        kinds => format!("{} of record skipped", counted(kinds, "kind")),
    };
    let line = format!(
        "read as: {} session {}, {skipped}",
        format.name(),
        crate::ui::clean(&report.session_id)
    );
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if !read.iter().any(|known| known.line == line) {
        read.push(ReadAs { format, line });
    }
    Ok(session)
}

/// Returns why a session of another program is not written to.
pub fn refusal(path: &Path, format: Format) -> Error {
    let reason = format!(
        "a {} session, which is read but never written; run agent-cli import {} --out NEW and use NEW",
        format.name(),
        path.display()
    );
    Error::session(path, reason)
}

/// Fails for the file of a session of another program.
pub fn refuse(path: &Path) -> Result<(), Error> {
    if !path.is_file() {
        return Ok(());
    }
    match detect(&Bytes::File.head(path)?) {
        Some(format) => Err(refusal(path, format)),
        None => Ok(()),
    }
}

/// Returns what a file that is no session resembles, as the end of a message.
pub fn resemblance(head: &[u8]) -> String {
    nearest_miss(head).map_or_else(String::new, |miss| {
        let reason = crate::ui::clean(&miss.reason);
        format!("; it resembles {}, but {reason}", miss.format.name())
    })
}

/// A file that fails to be written once the user has cancelled.
struct Cancellable(SpooledTempFile);

impl Write for Cancellable {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match crate::cancel::is_cancelled() {
            true => Err(std::io::Error::other("cancelled")),
            false => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Returns the SHA-256 of all bytes, in hexadecimal digits.
fn sha256(path: &Path, input: &Input) -> Result<String, Error> {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    let mut offset = 0;
    while offset < input.bytes {
        let len = HEAD.min(input.bytes - offset);
        let span = session_model::Span {
            offset,
            len: len as u32,
        };
        let block = input.source.line(span);
        let block = block.map_err(|error| Error::session(path, error.to_string()))?;
        hasher.update(&block);
        offset += len;
    }
    let digits = hasher.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the log of Codex with an id, among those next to `path` and below the same folder of sessions. An id is
/// never taken for a path.
fn find_codex(path: &Path, id: &str) -> Option<PathBuf> {
    let is_id = (8..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_id {
        return None;
    }
    let end = format!("-{id}.jsonl");
    let folder = path.parent()?;
    let root = path.ancestors().find(|folder| folder.ends_with("sessions"));
    let mut folders = vec![folder.to_owned()];
    folders.extend(root.map(Path::to_owned));
    folders.extend(
        root.and_then(Path::parent)
            .map(|home| home.join("archived_sessions")),
    );
    let mut left = MOST_FOLDERS;
    while let Some(folder) = folders.pop() {
        left = left.checked_sub(1)?;
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            // What a link leads to is not looked at.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if kind.is_file() && name.ends_with(&end) {
                return Some(entry.path());
            }
            // Years, months and days.
            let is_date = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            if kind.is_dir() && is_date {
                folders.push(entry.path());
            }
        }
    }
    None
}
