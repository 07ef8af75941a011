//! The pending file: what was typed and is not in the session's file yet.
//!
//! JSON lines next to the session, readable by its owner only, only ever appended to and removed as a whole. For an
//! unpersisted session it holds the header and the entries as well. A line that was cut off is ignored: its writer
//! never got the confirmation that it is safe.

use std::fs::{DirBuilder, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use session_model::EntryId;

use crate::append::{AppendError, OffThread, SyncPolicy, Syncing, Written};
use crate::error::StoreError;
use crate::file_layer::FileLayer;
use crate::in_memory_log::InMemoryLog;
use crate::lock::SessionLock;
use crate::new_file::{folder_of, sync_folder};
use crate::queue::Queued;
use crate::sidecars::PENDING;
pub use crate::sidecars::pending_path;

/// The ending of the names of sessions that this program makes.
const SESSION_ENDING: &str = ".jsonl";

/// A line of a pending file that is no line of a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Note {
    /// The id of the session that the file belongs to.
    Of(String),
    /// A message that waits.
    Queued(Queued),
    /// Messages that wait no longer.
    Taken(Vec<EntryId>),
}

impl Note {
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("texts can be written as JSON"))
    }
}

/// Returns the session that a file of this name waits next to, or `None` when it is no pending file.
pub fn session_path(path: &Path) -> Option<PathBuf> {
    let stem = path.file_name()?.to_str()?.strip_suffix(PENDING)?;
    Some(path.with_file_name(format!("{stem}{SESSION_ENDING}")))
}

/// The contents of a pending file.
#[derive(Debug)]
pub struct Held {
    /// The header and the entries of a session that was unpersisted when they were written.
    pub session: InMemoryLog,
    /// The messages that wait, without those that are entries of [`session`](Self::session) by now.
    pub queue: Vec<Queued>,
    /// The id of the session that it belongs to.
    pub(crate) owner: Option<String>,
    /// Its whole content, if that is not a complete line.
    torn: Option<Vec<u8>>,
    /// True where it has a line that this version does not know.
    pub(crate) has_unknown: bool,
}

/// What a line of a session has.
#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    _type: IgnoredAny,
}

impl Held {
    fn of(bytes: &[u8]) -> Self {
        let mut lines = Vec::new();
        let mut queue: Vec<Queued> = Vec::new();
        let (mut owner, mut has_unknown) = (None, false);
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Note::Of(id)) => owner = Some(id),
                Ok(Note::Queued(queued)) => queue.push(queued),
                Ok(Note::Taken(ids)) => queue.retain(|queued| !ids.contains(&queued.id)),
                Err(_) if serde_json::from_slice::<Typed>(line).is_ok() => {
                    lines.extend_from_slice(line);
                    lines.push(b'\n');
                }
                // What was cut off is no JSON.
                Err(_) => has_unknown |= serde_json::from_slice::<IgnoredAny>(line).is_ok(),
            }
        }
        let session = InMemoryLog::of(lines);
        queue.retain(|queued| session.tree().find(&queued.id).is_none());
        let header = session.tree().header().map(|header| header.id.clone());
        Self {
            session,
            queue,
            owner: owner.or(header),
            torn: (!bytes.contains(&b'\n')).then(|| bytes.to_vec()),
            has_unknown,
        }
    }

    /// Returns true if it names the session of this id, or would have when writing it was cut off.
    pub(crate) fn belongs_to(&self, session: &str) -> bool {
        let line = Note::Of(session.to_owned()).line();
        match &self.owner {
            Some(owner) => owner == session,
            None => self
                .torn
                .as_ref()
                .is_some_and(|torn| line.as_bytes().starts_with(torn)),
        }
    }
}

/// Returns the content of the pending file of `session`, its length, and whether it ends in a newline; `None` when
/// there is no such file.
///
/// # Errors
/// A file that cannot be read, is no regular file, or is another user's.
pub fn read_pending(session: &Path) -> Result<Option<(Held, u64, bool)>, StoreError> {
    let path = pending_path(session);
    check_file(&path, session)?;
    match std::fs::read(&path) {
        Ok(bytes) => {
            let ends = bytes.last().is_none_or(|byte| *byte == b'\n');
            Ok(Some((Held::of(&bytes), bytes.len() as u64, ends)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", path, error)),
    }
}

/// A pending file that its session's owner writes; there may be none yet.
#[derive(Debug)]
pub(crate) struct Pending {
    path: PathBuf,
    /// Its length, and whether it ends in a newline.
    file: Option<(u64, bool)>,
    syncing: Syncing,
    files: Arc<dyn FileLayer>,
}

impl Pending {
    /// Returns the pending file of `session`, which is not there yet.
    pub(crate) fn new(session: &Path, files: Arc<dyn FileLayer>) -> Self {
        Self {
            path: pending_path(session),
            file: None,
            syncing: Syncing::default(),
            files,
        }
    }

    /// Returns the pending file of `session`, and its content.
    pub(crate) fn open(
        session: &Path,
        files: Arc<dyn FileLayer>,
    ) -> Result<(Self, Option<Held>), StoreError> {
        let mut pending = Self::new(session, files);
        let held = read_pending(session)?.map(|(held, length, ends)| {
            pending.file = Some((length, ends));
            held
        });
        Ok((pending, held))
    }

    /// Returns the path of the file, which may not exist yet.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true when there is a file.
    pub(crate) fn exists(&self) -> bool {
        self.file.is_some()
    }

    /// Waits for a write that its caller did not wait for, and returns whether its lines are in the file.
    pub(crate) async fn settle(&mut self) -> bool {
        match self.syncing.abandoned().await {
            None => false,
            Some(Ok(Ok(written))) => {
                self.file = Some((written.end, true));
                true
            }
            Some(_) => {
                if self.file.is_none() {
                    // It is empty, for what was written was taken back.
                    let _ = std::fs::remove_file(&self.path);
                }
                false
            }
        }
    }

    /// Writes lines, after `before` if the file is new. After an error the file is unchanged.
    pub(crate) async fn write(
        &mut self,
        before: Vec<String>,
        lines: &[String],
        policy: SyncPolicy,
        lock: SessionLock,
    ) -> Result<(), StoreError> {
        self.settle().await;
        let path = &self.path;
        let failed = |error| StoreError::io("append to", path, error);
        let is_new = self.file.is_none();
        let file = self.files.open(path, is_new).map_err(failed)?;
        let (length, ends) = self.file.unwrap_or((0, true));
        let written = match is_new {
            true => Written::append(file, length, ends, &[&before, lines].concat()),
            false => Written::append(file, length, ends, lines),
        };
        let written = match written {
            Ok(mut written) if written.start != length => {
                written.take_back();
                Err(AppendError::Changed)
            }
            Ok(written) if policy != SyncPolicy::Never => self
                .syncing
                .sync(written, lock)
                .await
                .map_err(AppendError::Io),
            written => written,
        };
        match written {
            Ok(written) => {
                self.file = Some((written.end, true));
                if is_new && policy != SyncPolicy::Never {
                    let folder = folder_of(path).to_owned();
                    OffThread::default()
                        .run(move || sync_folder(&folder))
                        .await
                        .map_err(failed)?;
                }
                Ok(())
            }
            Err(error) => {
                if is_new {
                    // It is empty, for what was written was taken back.
                    let _ = std::fs::remove_file(path);
                }
                Err(match error {
                    AppendError::Changed => StoreError::session(
                        path,
                        "changed while it was open (another program wrote to it); open the session again",
                    ),
                    AppendError::Io(error) => failed(error),
                })
            }
        }
    }

    /// Removes the file.
    pub(crate) fn remove(&mut self) -> Result<(), StoreError> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => sync_folder(folder_of(&self.path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("remove", &self.path, error)),
        }
        self.file = None;
        Ok(())
    }
}

/// Refuses what only has the name of a pending file: what is no regular file, and one of another user than the session.
fn check_file(pending: &Path, session: &Path) -> Result<(), StoreError> {
    let Ok(found) = pending.symlink_metadata() else {
        return Ok(());
    };
    let why = match session.metadata() {
        _ if !found.is_file() => "is not a regular file",
        Ok(session) if !is_of_same_user(&found, &session) => "belongs to another user",
        Ok(_) | Err(_) => return Ok(()),
    };
    let reason = format!(
        "{} next to it {why}, so it is not read; move it away",
        pending.display()
    );
    Err(StoreError::session(session, reason))
}

#[cfg(unix)]
fn is_of_same_user(pending: &Metadata, session: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // The administrator may write everything anyway.
    pending.uid() == session.uid() || pending.uid() == 0
}

#[cfg(not(unix))]
fn is_of_same_user(_pending: &Metadata, _session: &Metadata) -> bool {
    true
}

/// Makes a folder for sessions, and those that it is in; only its owner may look into what is new.
pub(crate) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| StoreError::io("create the folder", folder, error))
}
