//! What was done to a file, and how a command failed.

/// What was done to a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileWork {
    /// The path.
    pub path: String,
    /// Lines of the newest whole write.
    pub lines: Option<usize>,
    /// Edits since then.
    pub edits: usize,
    /// The first line that the newest edit brought.
    pub newest: String,
}

/// A command that failed and was not seen to pass since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Failure {
    /// The command, on one line.
    pub command: String,
    /// Its exit code, if known.
    pub exit: Option<i64>,
    /// Its error lines.
    pub lines: Vec<String>,
    /// The sentence that reported it, where no run of it is recorded.
    pub reported: Option<String>,
}

impl FileWork {
    /// Returns this work followed by newer work on the same file.
    pub(super) fn then(self, newer: Self) -> Self {
        if newer.lines.is_some() || (self.lines.is_none() && self.edits == 0) {
            return newer;
        }
        Self {
            edits: self.edits.saturating_add(newer.edits),
            newest: newer.newest,
            ..self
        }
    }
}
