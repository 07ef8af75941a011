//! What the files that the agent touched hold now, for the strategy `restore`.
//!
//! ```text
//! TouchedFile -> ResolvedPath (links resolved, inside?) -> allowed? -> opened handle -> size -> bytes -> text without keys -> DiskFile
//! ```
//!
//! **Invariants.** A file is opened first and looked at then, from folders that are held open and never through a
//! link, so that nobody who changes names meanwhile leads a read out of the workspace. Nothing but a regular file is
//! opened, and none that is too large is read. Relative paths begin at the session's folder, not the process's.

mod decode;
#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::{
    DiskFile, FileState, RestoreInput, RestoreSettings, TouchedFile, touched_files,
};
use llm_providers::{CancellationToken, Redactor};
use session_model::SessionContext;
use tokio::task::spawn_blocking;

use agent_tools::Workspace;
use agent_tools::approval::{Approvals, Policy, Question};
use agent_tools::text::one_line;
use agent_tools::workspace::{PathError, Purpose, ResolvedPath};
use agent_tools::{Identity, reason};

/// How many bytes are read in one call; between two blocks a cancellation is noticed.
const BLOCK: usize = 64 * 1024;

/// The most bytes that a token can stand for: a token is at most about four characters, and one has at most four
/// bytes, in UTF-8 as in UTF-16.
const BYTES_OF_A_TOKEN: u64 = 16;

/// The tool whose rules hold.
const READ: &str = "read";

/// How often a file is read that changes meanwhile.
const ATTEMPTS: usize = 2;

/// Where a session's files are, and what must not come out of them.
#[derive(Debug, Clone)]
pub struct Disk {
    workspace: Arc<Workspace>,
    /// The folder that the session calls its own.
    cwd: PathBuf,
    redactor: Arc<Redactor>,
    approvals: Approvals,
}

/// Where the paths of a session begin.
#[derive(Debug)]
struct Base {
    /// Where relative paths begin; without links.
    folder: PathBuf,
    /// What absolute paths begin with that mean the workspace, where the session worked in another folder.
    moved_from: Option<PathBuf>,
}

/// Somebody does not want to wait any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Why an attempt to read brought nothing.
enum Miss {
    /// The file changed meanwhile.
    Changed,
    /// Nobody waits any more.
    Stopped,
}

impl Disk {
    /// Returns the files of `workspace` for a session that worked in `cwd`: there, or where that is not in the
    /// workspace, in what the workspace was then. What `approvals` do not let the tool `read` have is not opened.
    pub fn new(
        workspace: Arc<Workspace>,
        cwd: &Path,
        redactor: Arc<Redactor>,
        approvals: Approvals,
    ) -> Self {
        Self {
            workspace,
            cwd: cwd.to_owned(),
            redactor,
            approvals,
        }
    }

    /// Returns what the files hold, newest first, each once, until there are so many to name as the settings bring
    /// back. What is missing, no text or not to be read takes nobody's place.
    ///
    /// # Errors
    /// `stop` said so.
    pub fn read(
        &self,
        touched: Vec<TouchedFile>,
        settings: &RestoreSettings,
        stop: &dyn Fn() -> bool,
    ) -> Result<RestoreInput, Stopped> {
        let tokens = settings.tokens_per_file.min(settings.total_tokens);
        let most = tokens.0.saturating_mul(BYTES_OF_A_TOKEN);
        let mut input = RestoreInput::default();
        let mut seen = BTreeSet::new();
        let mut named = 0;
        let base = self.base();
        for touched in touched {
            if named == settings.max_files {
                break;
            }
            if stop() {
                return Err(Stopped);
            }
            let (path, state) = match self.place(&base, &touched.path) {
                Err(PathError::Outside) => {
                    input.outside.push(touched.path);
                    continue;
                }
                Err(PathError::Nowhere(reason)) => (None, FileState::Unreadable { reason }),
                Err(PathError::Protected(reason)) => {
                    let reason = reason.to_owned();
                    (None, FileState::Unreadable { reason })
                }
                Ok(place) if seen.contains(place.path()) => continue,
                Ok(place) => {
                    let state = match self.denied(&place) {
                        Some(reason) => FileState::Unreadable { reason },
                        None => self.state(&place, most, stop)?,
                    };
                    (Some(place.into_path()), state)
                }
            };
            named += usize::from(match &state {
                FileState::Text(_) | FileState::TooLarge { .. } | FileState::Unsettled => true,
                FileState::Binary | FileState::Missing | FileState::Unreadable { .. } => false,
            });
            input.files.push(DiskFile {
                shown: match &path {
                    Some(path) => self.workspace.shown(path),
                    None => one_line(&touched.path),
                },
                touched,
                state,
            });
            seen.extend(path);
        }
        Ok(input)
    }

    /// Returns what the files hold now that the entries of a context have touched. A caller that does not wait any more
    /// drops this.
    pub async fn of_context(
        &self,
        context: &SessionContext,
        settings: RestoreSettings,
    ) -> RestoreInput {
        let disk = self.clone();
        let read = disk
            .read_beside(touched_files(context), settings, &CancellationToken::new())
            .await;
        read.unwrap_or_else(|Stopped| RestoreInput::default())
    }

    /// Does the same on a thread that may wait for the file system. A cancellation is answered immediately.
    ///
    /// # Errors
    /// It was cancelled.
    pub async fn read_beside(
        self,
        touched: Vec<TouchedFile>,
        settings: RestoreSettings,
        cancel: &CancellationToken,
    ) -> Result<RestoreInput, Stopped> {
        if touched.is_empty() || settings.max_files == 0 {
            return Ok(RestoreInput::default());
        }
        beside(cancel, move |stop| self.read(touched, &settings, stop)).await
    }

    fn base(&self) -> Base {
        let root = self.workspace.root();
        let folder = self.cwd.canonicalize();
        let folder = folder.unwrap_or_else(|_| self.cwd.clone());
        match folder.starts_with(root) {
            true => Base {
                folder,
                moved_from: None,
            },
            false => Base {
                folder: root.to_owned(),
                moved_from: Some(self.cwd.clone()),
            },
        }
    }

    /// Returns where a file is.
    fn place(&self, base: &Base, path: &str) -> Result<ResolvedPath, PathError> {
        let from = base.moved_from.as_deref();
        let within = from.and_then(|from| Path::new(path).strip_prefix(from).ok());
        let within = within.and_then(Path::to_str);
        self.workspace
            .locate_from(&base.folder, within.unwrap_or(path))
    }

    /// Returns why the tool `read` would not get a file, unasked.
    fn denied(&self, place: &ResolvedPath) -> Option<String> {
        let question = Question {
            call_id: String::new(),
            tool: READ.to_owned(),
            subject: self.workspace.named(&place.path().to_string_lossy()),
        };
        let why = self.approvals.unasked(&question, Policy::Allow);
        why.map(str::to_owned)
    }

    fn state(
        &self,
        place: &ResolvedPath,
        most: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<FileState, Stopped> {
        for _ in 0..ATTEMPTS {
            match self.attempt(place, most, stop) {
                Ok(state) => return Ok(state),
                Err(Miss::Changed) => {}
                Err(Miss::Stopped) => return Err(Stopped),
            }
        }
        Ok(FileState::Unsettled)
    }

    /// Opens a file, and then looks at what was opened.
    fn attempt(
        &self,
        place: &ResolvedPath,
        most: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<FileState, Miss> {
        let unreadable = |error: &io::Error| FileState::Unreadable {
            reason: reason(error),
        };
        let (mut file, found) = match place.open(Purpose::Read) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileState::Missing),
            Err(error) => return Ok(unreadable(&error)),
        };
        if found.len() > most {
            return Ok(FileState::TooLarge { bytes: found.len() });
        }
        let before = Identity::of(&found);
        let bytes = match read_all(&mut file, most, stop)? {
            Ok(bytes) => bytes,
            Err(error) => return Ok(unreadable(&error)),
        };
        let after = match file.metadata() {
            Ok(found) => Identity::of(&found),
            Err(error) => return Ok(unreadable(&error)),
        };
        if after != before || bytes.len() as u64 != found.len() {
            return Err(Miss::Changed);
        }
        Ok(match decode::text(&bytes) {
            None => FileState::Binary,
            Some(text) => {
                // A key of several lines may be written with the line ends of the file or without.
                let text = decode::as_seen(&self.redactor.clean_answer(&text));
                FileState::Text(self.redactor.clean_answer(&text))
            }
        })
    }
}

/// Reads a file that has no more than `most` bytes; of one that has become larger a little more.
fn read_all(
    file: &mut File,
    most: u64,
    stop: &dyn Fn() -> bool,
) -> Result<io::Result<Vec<u8>>, Miss> {
    let mut bytes = Vec::new();
    let mut block = vec![0; BLOCK];
    loop {
        if stop() {
            return Err(Miss::Stopped);
        }
        match file.read(&mut block) {
            Ok(0) => return Ok(Ok(bytes)),
            Ok(read) => bytes.extend_from_slice(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok(Err(error)),
        }
        if bytes.len() as u64 > most {
            return Ok(Ok(bytes));
        }
    }
}

/// Runs `work` on a thread that may wait. What goes wrong there brings nothing back, and says so.
async fn beside(
    cancel: &CancellationToken,
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<RestoreInput, Stopped> + Send + 'static,
) -> Result<RestoreInput, Stopped> {
    // Who does not wait any more has stopped it, too.
    let token = cancel.child_token();
    let _stops = token.clone().drop_guard();
    let task = spawn_blocking(move || work(&|| token.is_cancelled()));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stopped),
        read = task => read.unwrap_or_else(|_| {
            Ok(RestoreInput {
                failed: Some("reading the files failed by a mistake of the program".to_owned()),
                ..RestoreInput::default()
            })
        }),
    }
}

/// Returns files that are named and not looked at.
pub fn unseen(touched: Vec<TouchedFile>, settings: &RestoreSettings) -> RestoreInput {
    let mut seen = BTreeSet::new();
    let files = touched
        .into_iter()
        .filter(|touched| seen.insert(touched.path.clone()))
        .take(settings.max_files)
        .map(|touched| DiskFile {
            shown: one_line(&touched.path),
            touched,
            // Like one that holds still for nobody: its path is all that is known.
            state: FileState::Unsettled,
        });
    RestoreInput {
        files: files.collect(),
        ..RestoreInput::default()
    }
}
