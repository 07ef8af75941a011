//! What of a session could not be read: reported with every outcome; an error where reading itself failed.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use session_finder::ReadAs;
use session_model::{Diagnostic, DiagnosticKind, SessionTree, Severity};
use session_text::damaged_lines;

use crate::error::Error;
use crate::ui::{clean, severity_label, shell_name, tell};

/// What is reported of a session that a command has read.
#[derive(Debug, Default)]
pub(crate) struct ReadReport {
    /// The format, where another program wrote the session.
    pub read_as: Option<ReadAs>,
    damaged: BTreeSet<u64>,
    /// That what came before is in a session that was not found.
    missing: Option<String>,
    /// That the last line hides newer messages.
    stale: Option<Diagnostic>,
    file: String,
    failed: Option<Error>,
}

impl ReadReport {
    /// Returns what is to be reported of a session. A command asks when it has read all that it reads.
    pub fn of(
        tree: &SessionTree,
        diagnostics: &[Diagnostic],
        path: &Path,
        read_as: Option<&ReadAs>,
    ) -> Self {
        let of_kind = |is_missing| {
            let errors = diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.severity == Severity::Error);
            errors.filter(move |diagnostic| {
                (diagnostic.kind == DiagnosticKind::MissingParent) == is_missing
            })
        };
        let damaged =
            of_kind(false).filter(|diagnostic| diagnostic.kind != DiagnosticKind::OversizedImage);
        let mut damaged: BTreeSet<u64> = damaged.filter_map(|diagnostic| diagnostic.line).collect();
        damaged.extend(tree.damaged_lines());
        Self {
            read_as: read_as.cloned(),
            damaged,
            missing: of_kind(true)
                .map(|diagnostic| diagnostic.message.clone())
                .next(),
            stale: tree.stale_leaf(),
            file: shell_name(path),
            failed: refuse_failed_reads(tree, path).err(),
        }
    }

    /// Returns the report of a command that lists damage itself.
    pub fn of_format(read_as: Option<&ReadAs>) -> Self {
        Self {
            read_as: read_as.cloned(),
            ..Self::default()
        }
    }

    /// Returns why reading failed, if it did, damage not counted.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Returns what is missing, for people; nothing where nothing is.
    pub fn text(&self) -> Option<String> {
        damaged_lines(&self.damaged, &self.file)
    }

    /// Warns on standard error of what is missing, and adds it to the document.
    pub fn report(&self, document: &mut Value) {
        if let Some(stale) = &self.stale {
            let label = severity_label(Severity::Warning);
            tell(&format!("{label} {}", clean(&stale.message)));
            if let Some(members) = document.as_object_mut() {
                members.insert("newer_branch".to_owned(), json!(stale.entry_id));
            }
        }
        let label = severity_label(Severity::Warning);
        if let Some(missing) = &self.missing {
            tell(&format!("{label} {}", clean(missing)));
        }
        let Some(text) = self.text() else { return };
        tell(&format!("{label} {}", clean(&text)));
        if let Some(members) = document.as_object_mut() {
            members.insert("damaged_lines".to_owned(), json!(self.damaged.len()));
        }
    }
}

/// Fails where an entry could not be read although it may be there.
pub(crate) fn refuse_failed_reads(tree: &SessionTree, path: &Path) -> Result<(), Error> {
    match tree.source_failure() {
        None => Ok(()),
        Some(failure) => {
            let reason = format!("{}; nothing was written", failure.reason);
            Err(Error::io("read", path, std::io::Error::other(reason)))
        }
    }
}

#[cfg(test)]
mod tests {
    use session_store::SessionFile;

    use super::ReadReport;

    #[test]
    fn a_read_that_fails_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, test_support::session("u:5 a:5")).expect("a session");
        let session = SessionFile::open(&path).expect("it opens");
        assert!(
            ReadReport::of(session.tree(), &[], &path, None)
                .take_failure()
                .is_none()
        );
        // Another program cuts the file off.
        std::fs::write(&path, "").expect("an empty file");
        let first = session.tree().indices().next().expect("an entry");
        assert!(session.tree().entry(first).is_err());
        let failed = ReadReport::of(session.tree(), &[], &path, None).take_failure();
        let text = failed.expect("it could not be read").to_string();
        assert!(text.ends_with("nothing was written"), "{text}");
    }
}
