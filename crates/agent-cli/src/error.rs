//! The errors of the command line, and the one place that maps their kinds to exit codes.

use std::io;
use std::path::PathBuf;

use agent_settings::SettingsError;
use agent_tools::WorkspaceError;
use serde::Serialize;
use session_store::error::{cause, shown};
use session_store::{Advice, StoreError};
use summarize::ModelReport;

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
    #[error("cannot {action} {}: {}", shown(.path), cause(action, .source, "write elsewhere with --out"))]
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
            StoreError::Session {
                path,
                reason,
                advice,
            } => Self::Session {
                path,
                reason: reason + &hint(&advice),
            },
            StoreError::Usage { text, advice } => Self::Usage(text + &hint(&advice)),
            StoreError::Conflict { path } => Self::session(path, session_store::CHANGED),
            StoreError::LeaseLost { path } => Self::session(path, session_store::LEASE_LOST),
            StoreError::AlreadyThere { .. } => Self::Usage(error.to_string()),
            StoreError::Cancelled => Self::Cancelled,
            error => Self::Failure(error.to_string()),
        }
    }
}

/// Returns how an error of a store goes on: the command or option that does what is advised.
fn hint(advice: &Advice) -> String {
    let fixed = match advice {
        Advice::UseCopy => "; use --out FILE",
        Advice::OrCopy => ", or write a copy with --out FILE",
        Advice::ReadOrFork => {
            ", or write a copy with --out FILE; open it read-only with agent-cli inspect, or continue in a copy with --fork"
        }
        Advice::Migrate(path) => {
            let path = path.display();
            return format!("; run agent-cli migrate {path} --in-place first, or use --out FILE");
        }
        Advice::Import(path) => {
            let path = path.display();
            return format!("; run agent-cli import {path} --out NEW and use NEW");
        }
        Advice::NewName => "; --out never overwrites, choose another name",
        Advice::ListEntries => "; agent-cli tree lists the ids",
        Advice::ListSessions => "; agent-cli sessions list --all shows those that are there",
        Advice::NameFolder => " with --session-dir DIR or AGENT_CLI_SESSION_DIR",
        Advice::TryFormats => {
            let names = session_import::Format::ALL.map(session_import::Format::name);
            return format!(
                "; formats of other agents were tried too: {}",
                names.join(", ")
            );
        }
        Advice::Diagnose => "; agent-cli doctor tells which",
        _ => "",
    };
    fixed.to_owned()
}

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        match error {
            SettingsError::Cancelled => Self::Cancelled,
            error => Self::Usage(error.to_string()),
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
