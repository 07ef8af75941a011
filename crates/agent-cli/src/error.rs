//! The errors of the command line, and the one place that maps their kinds to exit codes.

use std::io;
use std::path::{Path, PathBuf};

use crate::summarize::ModelReport;

/// What kind of failure an error is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Anything else: input and output, a full disk, a folder that is read-only.
    Failure,
    /// Usage, settings, an unknown leaf.
    Usage,
    /// There is nothing to do.
    NothingToDo,
    /// The session is missing, no session, too new, damaged beyond use, or locked.
    Session,
    /// A provider failed.
    Provider,
    /// The user cancelled.
    Cancelled,
}

impl ErrorKind {
    /// Returns the exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Failure => 1,
            Self::Usage => 2,
            Self::NothingToDo => 3,
            Self::Session => 4,
            Self::Provider => 5,
            Self::Cancelled => 130,
        }
    }

    /// Returns the name that JSON output uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Usage => "usage",
            Self::NothingToDo => "nothing_to_do",
            Self::Session => "session",
            Self::Provider => "provider",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error("cannot {action} {}: {}", named(.path), cause(action, .source))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The session cannot be opened.
    #[error("{}: {reason}", named(.path))]
    Session {
        /// Its file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// Something that was asked for cannot be asked for.
    #[error("{0}")]
    Usage(String),
    /// There is nothing to do.
    #[error("nothing to do: {0}")]
    NothingToDo(String),
    /// The summary could not be used.
    #[error("{message}")]
    Summary {
        /// What is wrong with it.
        message: String,
        /// What models were asked and what it took.
        report: Option<Box<ModelReport>>,
    },
    /// No model could be asked, or none answered.
    #[error("{message}")]
    Provider {
        /// What went wrong and what to do.
        message: String,
        /// The kind of the provider's failure.
        kind: &'static str,
        /// What models were asked and what it took.
        report: Option<Box<ModelReport>>,
    },
    /// Something went wrong that no other variant names.
    #[error("{0}")]
    Failure(String),
    /// The user cancelled.
    #[error("cancelled; nothing was changed")]
    Cancelled,
    /// The user stopped a running session, which keeps what was done.
    #[error("{0}")]
    Stopped(String),
}

/// Returns what a person calls the file.
fn named(path: &Path) -> std::path::Display<'_> {
    match path == Path::new("-") {
        true => Path::new("standard input").display(),
        false => path.display(),
    }
}

fn cause(action: &str, source: &io::Error) -> String {
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

impl Error {
    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } | Self::Summary { .. } | Self::Failure(_) => ErrorKind::Failure,
            Self::Session { .. } => ErrorKind::Session,
            Self::Usage(_) => ErrorKind::Usage,
            Self::NothingToDo(_) => ErrorKind::NothingToDo,
            Self::Provider { .. } => ErrorKind::Provider,
            Self::Cancelled | Self::Stopped(_) => ErrorKind::Cancelled,
        }
    }

    /// Returns the kind of a provider's failure: what a program goes by.
    pub fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Provider { kind, .. } => Some(kind),
            _ => None,
        }
    }

    /// Returns what models were asked before it failed.
    pub fn report(&self) -> Option<&ModelReport> {
        match self {
            Self::Provider { report, .. } | Self::Summary { report, .. } => report.as_deref(),
            _ => None,
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
