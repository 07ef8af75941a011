//! Where commands write: a new file, the session itself, or nowhere.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_executor::block_on;
use serde_json::Value;
use session_model::{
    Diagnostic, EntryDraft, EntryId, SessionTree, Severity, Stamp, Timestamp, decode_bytes,
    migrate_lines,
};
use session_store::{
    Batch, Contents, OpenSession, SessionFile, SessionLock, StoreError, readable_parent,
};
use tempfile::SpooledTempFile;

use super::same_output;
use crate::error::Error;
use crate::files::{ReadSession, open_session, open_writer, replace, write_new};
use crate::options::OutputArgs;
use crate::output_filter::OutputFilter;
use crate::read_report::{ReadReport, refuse_failed_reads};
use crate::stores::session_path;
use session_finder::Bytes;

/// Where a command writes.
pub(crate) enum Destination {
    /// A new file.
    Out(PathBuf),
    /// The session itself.
    InPlace,
    /// Nowhere.
    DryRun,
}

impl Destination {
    /// Fails where a new file could not be written.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Out(path) => Ok(session_store::check_new(path)?),
            Self::InPlace | Self::DryRun => Ok(()),
        }
    }
}

impl OutputArgs {
    pub(super) fn destination(&self, what: &str) -> Result<Destination, Error> {
        match (&self.out, self.in_place, self.dry_run) {
            (Some(path), _, _) => Ok(Destination::Out(path.clone())),
            (None, true, _) => Ok(Destination::InPlace),
            (None, false, true) => Ok(Destination::DryRun),
            (None, false, false) => Err(Error::Usage(format!(
                "{what} writes: say where with --out FILE, --in-place or --dry-run"
            ))),
        }
    }
}

/// A session opened for a command that writes: locked when it will be written in place.
pub(crate) enum Opened {
    /// Locked; the path is the one that was given.
    Writer(OpenSession, PathBuf),
    /// Of version 1 or 2, and locked: it is migrated when it is written to.
    Old(Box<OldSession>),
    /// Only read.
    Reader(Box<ReadSession>),
}

/// A session of version 1 or 2 that will be written in place.
pub(crate) struct OldSession {
    session: SessionFile,
    _lock: SessionLock,
}

impl OldSession {
    /// Locks and opens a session, if it is of version 1 or 2.
    fn open(path: &Path) -> Result<Option<Self>, Error> {
        if !path.is_file() {
            return Ok(None);
        }
        let tree = decode_bytes(Bytes::File.beginning(path)?).tree;
        if tree.header().is_none_or(|header| header.version >= 3) {
            return Ok(None);
        }
        let real = std::fs::canonicalize(path).map_err(|error| Error::io("open", path, error))?;
        let lock = SessionLock::acquire(&real)?;
        let session = open_session(&real)?.into_file();
        let is_old = session.version() < 3 && session.tree().header().is_some();
        Ok(is_old.then_some(Self {
            session,
            _lock: lock,
        }))
    }

    /// Replaces the session by its migrated form with `lines` after it; says where the old file is kept.
    fn write(&self, lines: &[String]) -> Result<(), Error> {
        let session = &self.session;
        let mut migrated = migrated(session, session.contents()?)?;
        migrated.extend(lines.iter().map(|line| line.clone().into_bytes()));
        let backup = replace(&session.path, session.version(), &migrated)?;
        let version = session.version();
        crate::ui::tell(&format!(
            "migrated from version {version}; the old file is kept as {}",
            crate::ui::clean(&backup.display().to_string())
        ));
        Ok(())
    }
}

impl Opened {
    pub(super) fn open(path: &std::path::Path, destination: &Destination) -> Result<Self, Error> {
        Ok(match destination {
            Destination::InPlace => {
                let path = session_path(path)?;
                match OldSession::open(&path)? {
                    Some(old) => Self::Old(Box::new(old)),
                    None => Self::Writer(open_writer(&path)?, path),
                }
            }
            Destination::Out(_) | Destination::DryRun => {
                Self::Reader(Box::new(open_session(path)?))
            }
        })
    }

    pub(super) fn tree(&self) -> &SessionTree {
        match self {
            Self::Writer(store, _) => store.tree(),
            Self::Old(old) => old.session.tree(),
            Self::Reader(session) => session.tree(),
        }
    }

    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Writer(store, _) => store.diagnostics(),
            Self::Old(old) => &old.session.decoded.diagnostics,
            Self::Reader(session) => &session.decoded.diagnostics,
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Writer(_, path) => path,
            Self::Old(old) => &old.session.path,
            Self::Reader(session) => &session.path,
        }
    }

    pub(super) fn report(&self) -> ReadReport {
        let read_as = match self {
            Self::Writer(..) | Self::Old(_) => None,
            Self::Reader(session) => session.read_as(),
        };
        ReadReport::of(self.tree(), self.diagnostics(), self.path(), read_as)
    }

    /// Writes `drafts` without keys as a chain under `parent` and returns their ids; none for a dry run.
    pub(super) fn commit(
        &mut self,
        destination: &Destination,
        drafts: &[EntryDraft],
        parent: Option<&EntryId>,
        filter: &Arc<OutputFilter>,
    ) -> Result<Vec<EntryId>, Error> {
        let (parent, skipped) = readable_parent(self.tree(), parent);
        refuse_failed_reads(self.tree(), self.path())?;
        if let Some(skipped) = skipped {
            let place = parent.as_deref().unwrap_or("the beginning");
            crate::ui::tell(&format!(
                "{} {} cannot be read; what is written follows {} instead",
                crate::ui::severity_label(Severity::Warning),
                crate::ui::clean(&skipped),
                crate::ui::clean(place)
            ));
        }
        let stamped = |session: &SessionFile| {
            let (lines, ids) = session.stamp(drafts, parent.as_ref());
            let lines = lines.into_iter().map(|line| filter.line(line));
            (lines.collect::<Vec<String>>(), ids)
        };
        Ok(match (self, destination) {
            (_, Destination::DryRun) => Vec::new(),
            (Self::Writer(store, path), _) => {
                crate::cancel::begin_write()?;
                store.set_filter(filter.clone());
                let batch = Batch {
                    expected: Some(store.tree().len()),
                    entries: drafts.iter().cloned().map(Into::into).collect(),
                    parent,
                };
                let written = block_on(store.write(batch));
                written.map_err(|error| named_as(error, path))?
            }
            (Self::Old(old), _) => {
                let (lines, ids) = stamped(&old.session);
                old.write(&lines)?;
                ids
            }
            (Self::Reader(session), Destination::Out(out)) => {
                let (lines, ids) = stamped(session);
                if let Some(theirs) = same_output::ids_in(session, out, &lines, &ids) {
                    same_output::notice(out);
                    return Ok(theirs);
                }
                write_copy(session, out, &lines)?;
                ids
            }
            (Self::Reader(_), Destination::InPlace) => {
                unreachable!("opening for in-place writing gives a writer")
            }
        })
    }
}

/// Returns an error of a store, which names the session as the user does.
fn named_as(error: StoreError, name: &Path) -> StoreError {
    match error {
        StoreError::Conflict { .. } => StoreError::Conflict {
            path: name.to_owned(),
        },
        StoreError::Session { reason, advice, .. } => StoreError::Session {
            path: name.to_owned(),
            reason,
            advice,
        },
        StoreError::Io { action, source, .. } => StoreError::io(action, name, source),
        error => error,
    }
}

/// Returns what a dry run would write: entries as a session stores them, without what makes them unique. A compaction
/// that keeps nothing has no `firstKeptEntryId`.
pub(super) fn draft_documents(drafts: &[EntryDraft]) -> Vec<Value> {
    let stamp = Stamp {
        id: EntryId::new(""),
        parent: None,
        timestamp: Timestamp::from_millis(0),
        part_of: None,
    };
    let entries = drafts
        .iter()
        .filter_map(|draft| serde_json::from_str(&draft.stamp(&stamp)).ok());
    let mut entries: Vec<Value> = entries.collect();
    for members in entries.iter_mut().filter_map(Value::as_object_mut) {
        members.retain(|name, value| {
            let is_own_id = name == "firstKeptEntryId" && value == "";
            !is_own_id && !["id", "parentId", "timestamp"].contains(&name.as_str())
        });
    }
    entries
}

/// Writes a copy of the session, in version 3, with `lines` after it.
pub(super) fn write_copy(
    session: &SessionFile,
    out: &std::path::Path,
    lines: &[String],
) -> Result<(), Error> {
    let contents = session.contents()?;
    let ends = session.decoded.ends_with_newline;
    if session.version() >= 3 {
        return write_new(out, contents, ends, lines);
    }
    let mut migrated = migrated(session, contents)?;
    migrated.extend(lines.iter().map(|line| line.clone().into_bytes()));
    write_new(out, Contents::Empty, true, &migrated)
}

/// Returns the lines of a session of version 1 or 2 as version 3 has them.
pub(super) fn migrated(session: &SessionFile, contents: Contents) -> Result<Vec<Vec<u8>>, Error> {
    let bytes = contents
        .read()
        .map_err(|error| Error::io("read", &session.path, error))?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut lines =
        migrate_lines(session.version(), lines).map_err(|error| Error::Usage(error.to_string()))?;
    if bytes.ends_with(b"\n") {
        lines.pop();
    }
    Ok(lines)
}

/// Returns the tree of a session as version 3 has it.
pub(super) fn newest_form(session: &SessionFile) -> Result<SessionTree, Error> {
    if session.version() >= 3 {
        return Ok(session.tree().clone());
    }
    let mut bytes = migrated(session, session.contents()?)?.join(&b'\n');
    bytes.push(b'\n');
    Ok(decode_bytes(bytes).tree)
}

/// Writes what was collected to a new file.
pub(super) fn write_spooled(lines: BufWriter<SpooledTempFile>, out: &Path) -> Result<(), Error> {
    let lines = lines.into_inner();
    let lines = lines.map_err(|error| Error::io("write", out, error.into_error()))?;
    let contents = Bytes::of_spooled(lines.into_inner()).contents(out)?;
    write_new::<&str>(out, contents, true, &[])
}
