//! The error of a store, and how its causes read.

use std::io;
use std::path::{Path, PathBuf};

/// What kind of failure a [`StoreError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Input or output failed.
    Failure,
    /// The session is missing, no session, too new, damaged beyond use, or locked.
    Session,
    /// The request does not fit the session.
    Usage,
    /// An observer stopped the work.
    Cancelled,
}

/// Why a session cannot be read, written or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Reading or writing failed.
    #[error("cannot {action} {}: {}", shown(.path), cause(action, .source))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// Where; `-` is standard input.
        path: PathBuf,
        /// What the system reported.
        #[source]
        source: io::Error,
    },
    /// The session cannot be opened or written.
    #[error("{}: {reason}", shown(.path))]
    Session {
        /// Its file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The request does not fit the session: an unknown entry, a name that is taken.
    #[error("{0}")]
    Usage(String),
    /// The message cannot be written as an entry.
    #[error(transparent)]
    Message(#[from] session_model::UndraftableMessage),
    /// The observer of a long read stopped it.
    #[error("cancelled; nothing was changed")]
    Cancelled,
}

impl StoreError {
    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } | Self::Message(_) => ErrorKind::Failure,
            Self::Session { .. } => ErrorKind::Session,
            Self::Usage(_) => ErrorKind::Usage,
            Self::Cancelled => ErrorKind::Cancelled,
        }
    }

    /// Returns an error of input or output at `path`.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source,
        }
    }

    /// Returns an error about the session at `path`.
    pub fn session(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Session {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// Returns the name of a file for people.
pub fn shown(path: &Path) -> std::path::Display<'_> {
    match path == Path::new("-") {
        true => Path::new("standard input").display(),
        false => path.display(),
    }
}

/// Returns the cause of a failure, with what can be done about it.
pub fn cause(action: &str, source: &io::Error) -> String {
    if action == "write to" {
        // The work is done by the time that it is printed.
        return format!("{source}; the command itself was carried out");
    }
    let reads = matches!(action, "open" | "read");
    match source.kind() {
        io::ErrorKind::StorageFull => {
            "the disk is full; nothing was changed; make room, or write elsewhere with --out"
                .to_owned()
        }
        io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            format!("{source}; nothing was changed; raise the limit, or write elsewhere with --out")
        }
        io::ErrorKind::PermissionDenied if reads => {
            "permission denied; change the permissions".to_owned()
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !reads => {
            "no such folder; make it first, or write elsewhere with --out".to_owned()
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is read-only; write elsewhere with --out".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied; write elsewhere with --out, or change the permissions".to_owned()
        }
        _ => source.to_string(),
    }
}
