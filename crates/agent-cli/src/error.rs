//! The errors of the command line, and the one place that maps their kinds to exit codes.

use std::io;
use std::path::PathBuf;

use agent_session::summarize::ModelReport;
use agent_tools::WorkspaceError;
use serde::Serialize;
use session_store::StoreError;
use session_store::error::shown;

/// What kind of failure an error is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
}

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error("cannot {action} {}: {}", shown(.path), cause(action, .source))]
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
    #[error("{}: {reason}", shown(.path))]
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

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io {
                action,
                path,
                source,
            } => Self::Io {
                action,
                path,
                source,
            },
            StoreError::Session { path, reason } => Self::Session { path, reason },
            StoreError::Usage(text) => Self::Usage(text),
            StoreError::Cancelled => Self::Cancelled,
            error => Self::Failure(error.to_string()),
        }
    }
}

impl From<WorkspaceError> for Error {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Open { path, source } => Self::io("open", path, source),
            error => Self::Usage(error.to_string()),
        }
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

/// Returns the cause of a failure, with what the user can do about it.
fn cause(action: &str, source: &io::Error) -> String {
    if action == "write to" {
        // The work is done by the time that it is printed.
        return format!("{source}; the command itself was carried out");
    }
    let advice = match (source.kind(), matches!(action, "open" | "read")) {
        (io::ErrorKind::StorageFull, _) => {
            "the disk is full; nothing was changed; make room, or write elsewhere with --out"
        }
        (io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge, _) => {
            return format!(
                "{source}; nothing was changed; raise the limit, or write elsewhere with --out"
            );
        }
        (io::ErrorKind::PermissionDenied, true) => "permission denied; change the permissions",
        (io::ErrorKind::PermissionDenied, false) => {
            "permission denied; write elsewhere with --out, or change the permissions"
        }
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, false) => {
            "no such folder; make it first, or write elsewhere with --out"
        }
        (io::ErrorKind::ReadOnlyFilesystem, _) => {
            "the file system is read-only; write elsewhere with --out"
        }
        _ => return source.to_string(),
    };
    advice.to_owned()
}
