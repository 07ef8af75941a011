//! Sessions of other programs: recognized where a session is opened, and read as one of the family.

mod bytes;
pub mod opencode;

use std::io::BufWriter;
use std::path::Path;

use session_import::{Format, ImportReport, Origin, detect, import, nearest_miss};
use session_store::{ReadObserver, SessionFile};
use tempfile::SpooledTempFile;

use crate::agents::find_codex;
use crate::error::Error;
use crate::ui::counted;

pub use bytes::{Bytes, unpacked_beginning};
use bytes::{Cancellable, sha256};

/// How much of a file is looked at to tell its format, in bytes.
const HEAD: u64 = 1024 * 1024;

/// Up to how many bytes a converted session is kept in memory.
pub const IN_MEMORY: usize = 16 * 1024 * 1024;

/// What is said of a session of another program that was opened.
#[derive(Debug, Clone)]
pub struct ReadAs {
    /// Its format.
    pub format: Format,
    /// What people are told about it.
    pub line: String,
}

/// A session that was converted.
pub struct Converted {
    /// Its lines.
    pub lines: Bytes,
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
    let kept = Cancellable(SpooledTempFile::new(IN_MEMORY));
    let mut lines = BufWriter::with_capacity(256 * 1024, kept);
    let find = |id: &str| {
        let path = find_codex(path, id)?;
        let bytes = Bytes::File.unpacked(&path).ok()?;
        bytes.input(&path).ok()
    };
    let report = import(format, &input, &origin, &find, &mut lines);
    crate::cancel::check()?;
    let report = report.map_err(|error| Error::session(path, error.to_string()))?;
    let lines = lines.into_inner().map_err(|error| {
        let text = format!("cannot keep the converted session: {}", error.error());
        Error::session(path, text)
    })?;
    Ok(Converted {
        lines: Bytes::of_spooled(lines.0.into_inner()),
        report,
    })
}

/// Reads a session of a known format.
pub fn open(
    path: &Path,
    format: Format,
    bytes: Bytes,
    observer: &mut dyn ReadObserver,
) -> Result<(SessionFile, ReadAs), Error> {
    let Converted { lines, mut report } = convert(path, format, bytes, false)?;
    let mut session = lines.session(path, observer)?;
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
    Ok((session, ReadAs { format, line }))
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
    let head = unpacked_beginning(Bytes::File.beginning(path)?, HEAD);
    match detect(&head) {
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
