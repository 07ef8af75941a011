//! What of a session could not be read: a warning for damage, a refusal where reading itself failed.

use std::collections::BTreeSet;
use std::path::Path;

use session_model::{Diagnostic, SessionTree, Severity};

use crate::commands::shell_name;
use crate::error::Error;
use crate::ui::{clean, counted, severity_label, tell};
use session_store::SessionFile;

/// How many lines are named.
const NAMED: usize = 5;

/// The lines of a session that are damaged, so that a plan or a summary lacks what they say.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    lines: BTreeSet<u64>,
    file: String,
}

impl Unreadable {
    /// Returns what is damaged and warns of it on standard error. Fails where an entry could not be read for another
    /// reason than damage: nothing may be planned, and no summary written, that lacks it.
    pub fn check<'a>(
        session: &SessionFile,
        diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
    ) -> Result<Self, Error> {
        refuse_failed_reads(session.tree(), &session.path)?;
        let damaged = diagnostics.into_iter();
        let damaged = damaged.filter(|diagnostic| diagnostic.severity == Severity::Error);
        let unreadable = Self {
            lines: damaged.filter_map(|diagnostic| diagnostic.line).collect(),
            file: shell_name(&session.path),
        };
        if let Some(text) = unreadable.text() {
            let label = severity_label(Severity::Warning);
            tell(&format!("{label} {}", clean(&text)));
        }
        Ok(unreadable)
    }

    /// Returns what is missing, for people; nothing where nothing is.
    pub fn text(&self) -> Option<String> {
        let count = self.lines.len();
        if count == 0 {
            return None;
        }
        let named = self.lines.iter().take(NAMED).map(u64::to_string);
        let named = named.collect::<Vec<_>>().join(", ");
        let more = if count > NAMED { ", ..." } else { "" };
        let word = if count == 1 { "line" } else { "lines" };
        Some(format!(
            "{} that cannot be read ({word} {named}{more}); run agent-cli doctor {}",
            counted(count, "damaged line"),
            self.file
        ))
    }
}

/// Fails where an entry could not be read although it may be there.
pub(super) fn refuse_failed_reads(tree: &SessionTree, path: &Path) -> Result<(), Error> {
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
    use super::{SessionFile, Unreadable};

    #[test]
    fn f4_a_read_that_fails_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, test_support::session("u:5 a:5")).expect("a session");
        let session = SessionFile::open(&path).expect("it opens");
        assert!(Unreadable::check(&session, []).is_ok());
        // Another program cuts the file off.
        std::fs::write(&path, "").expect("an empty file");
        let first = session.tree().indices().next().expect("an entry");
        assert!(session.tree().entry(first).is_err());
        let refused = Unreadable::check(&session, []).expect_err("it could not be read");
        let text = refused.to_string();
        assert!(text.ends_with("nothing was written"), "{text}");
    }
}
