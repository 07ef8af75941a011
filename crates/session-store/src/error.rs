//! The error of a store, and how its causes read.

use std::io;
use std::path::{Path, PathBuf};

/// The kind of a [`StoreError`].
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

/// The reason why a session cannot be read, written or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Reading or writing failed.
    #[error("cannot {action} {}: {}", shown(.path), cause(action, .source, "write elsewhere"))]
    Io {
        /// The action that failed, as a verb.
        action: &'static str,
        /// The path; `-` is standard input.
        path: PathBuf,
        /// The error of the system.
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
        /// Further advice.
        advice: Advice,
    },
    /// The request does not fit the session: an unknown entry, a name that is taken.
    #[error("{text}")]
    Usage {
        /// The text that does not fit.
        text: String,
        /// The advice.
        advice: Advice,
    },
    /// Another program wrote to the session since it was read, so nothing was written.
    #[error("{}: {CHANGED}", shown(.path))]
    Conflict {
        /// The path of the session.
        path: PathBuf,
    },
    /// The store has a session of this id, so nothing was copied.
    #[error("a session {id} is there already; nothing was copied")]
    AlreadyThere {
        /// The id.
        id: String,
    },
    /// Another program took the session over, so nothing was written and nothing will be.
    #[error("{}: {LEASE_LOST}", shown(.path))]
    LeaseLost {
        /// The path of the session.
        path: PathBuf,
    },
    /// The store cannot be used now. Nothing was written.
    #[error("{}: {reason}", shown(.path))]
    Unavailable {
        /// The path of the session or the store.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The answer to a write was lost. The same write again, with the same ids, is written once.
    #[error("{}: {reason}; it is not known whether the last write was stored", shown(.path))]
    Unknown {
        /// The path of the session.
        path: PathBuf,
        /// The reason why there is no answer.
        reason: String,
    },
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
            Self::Io { .. }
            | Self::Message(_)
            | Self::Unavailable { .. }
            | Self::Unknown { .. } => ErrorKind::Failure,
            Self::Session { .. } | Self::Conflict { .. } | Self::LeaseLost { .. } => {
                ErrorKind::Session
            }
            Self::Usage { .. } | Self::AlreadyThere { .. } => ErrorKind::Usage,
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
            advice: Advice::None,
        }
    }

    /// Returns an error about a request.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage {
            text: text.into(),
            advice: Advice::None,
        }
    }

    /// Returns the error with advice.
    #[must_use]
    pub fn advising(mut self, new: Advice) -> Self {
        if let Self::Session { advice, .. } | Self::Usage { advice, .. } = &mut self {
            *advice = new;
        }
        self
    }
}

/// The reason why a session that has changed since it was read is not written.
pub const CHANGED: &str =
    "changed while it was open (another program wrote to it); run the command again";

/// The reason why a session that another program now writes is not written.
pub const LEASE_LOST: &str =
    "another program took it over, so nothing more is written here; open it again to continue";

/// Advice for an error. The text of the error leaves it out, because each program has its own commands for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// No advice besides the text.
    #[default]
    None,
    /// Write a copy instead of changing what cannot be changed.
    UseCopy,
    /// Write a copy meanwhile.
    OrCopy,
    /// Read the session, or continue in a copy of it, while another program has it open.
    ReadOrFork,
    /// Convert the session at this path to the newest version.
    Migrate(PathBuf),
    /// Convert the session at this path, which another program wrote, and use the result.
    Import(PathBuf),
    /// Choose a name that no file has.
    NewName,
    /// Look up the ids of the entries.
    ListEntries,
    /// Look up the ids of the sessions.
    ListSessions,
    /// Say where sessions are.
    NameFolder,
    /// Look up what is wrong with the lines of the session.
    Diagnose,
    /// Look whether another program wrote the file.
    TryFormats,
}

/// Returns the name of a file for people.
pub fn shown(path: &Path) -> std::path::Display<'_> {
    match path == Path::new("-") {
        true => Path::new("standard input").display(),
        false => path.display(),
    }
}

/// Returns the cause of a failure with advice; `elsewhere` says how to write to another place.
pub fn cause(action: &str, source: &io::Error, elsewhere: &str) -> String {
    if action == "write to" {
        // The work is done by the time that it is printed.
        return format!("{source}; the command itself was carried out");
    }
    let reads = matches!(action, "open" | "read");
    match source.kind() {
        io::ErrorKind::StorageFull => {
            format!("the disk is full; nothing was changed; make room, or {elsewhere}")
        }
        io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            format!("{source}; nothing was changed; raise the limit, or {elsewhere}")
        }
        io::ErrorKind::PermissionDenied if reads => {
            "permission denied; change the permissions".to_owned()
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !reads => {
            format!("no such folder; make it first, or {elsewhere}")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            format!("the file system is read-only; {elsewhere}")
        }
        io::ErrorKind::PermissionDenied => {
            format!("permission denied; {elsewhere}, or change the permissions")
        }
        _ => source.to_string(),
    }
}
