//! The end of a command hook's run, as a type and as text.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// It could not be started; why.
    NotStarted(String),
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Signal(i32),
    /// The system does not report how.
    Unknown,
    /// It was killed after this time.
    TimedOut(Duration),
    /// It was killed because it wrote more than it may.
    TooMuchOutput,
    /// It was killed because no caller waits any more.
    Cancelled,
}

impl CommandEnd {
    /// Returns how a program that was not killed by us ended.
    pub(super) fn of(status: Option<ExitStatus>) -> Self {
        let Some(status) = status else {
            return Self::Unknown;
        };
        match (status.code(), signal(status)) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(number)) => Self::Signal(number),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(why) => f.write_str(why),
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "killed by signal {number} ({name})"),
                None => write!(f, "killed by signal {number}"),
            },
            Self::Unknown => f.write_str("how it ended is not known"),
            Self::TimedOut(limit) => write!(
                f,
                "ran out of time after {} seconds and was killed",
                limit.as_secs_f64()
            ),
            Self::TooMuchOutput => write!(f, "wrote more than {} bytes", super::run::OUTPUT),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.signal()
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

/// Returns the names of the signals that have the same number everywhere.
fn signal_name(number: i32) -> Option<&'static str> {
    match number {
        1 => Some("SIGHUP"),
        2 => Some("SIGINT"),
        3 => Some("SIGQUIT"),
        4 => Some("SIGILL"),
        6 => Some("SIGABRT"),
        8 => Some("SIGFPE"),
        9 => Some("SIGKILL"),
        11 => Some("SIGSEGV"),
        13 => Some("SIGPIPE"),
        14 => Some("SIGALRM"),
        15 => Some("SIGTERM"),
        _ => None,
    }
}
