//! Files as tools meet them: opened without waiting, replaced whole, and not at all once a call is cancelled.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::task::spawn_blocking;

use super::{ToolContext, ToolOutput};

const OPEN: u8 = 0;
const PASSED: u8 = 1;
const CLOSED: u8 = 2;

/// What stands between a call and its effect: either the call passes, or a cancellation closes it.
#[derive(Debug, Default)]
pub(super) struct Gate(AtomicU8);

impl Gate {
    /// Returns true when the effect may take place; from then on the call cannot be cancelled.
    pub(super) fn pass(&self) -> bool {
        self.turn(PASSED)
    }

    /// Returns true when the effect will never take place.
    pub(super) fn close(&self) -> bool {
        self.turn(CLOSED)
    }

    /// Returns true once it was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.0.load(Ordering::SeqCst) == CLOSED
    }

    fn turn(&self, to: u8) -> bool {
        let turned = self
            .0
            .compare_exchange(OPEN, to, Ordering::SeqCst, Ordering::SeqCst);
        turned.is_ok()
    }
}

/// Closes the gate when nobody waits for the call any more.
struct Waiting(Arc<Gate>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Runs `work` on a thread that may wait for the file system. A cancellation is answered at once, unless the
/// work has passed its gate, after which it is nearly done.
pub(super) async fn blocking<F>(tool: &str, context: &ToolContext, work: F) -> ToolOutput
where
    F: FnOnce(&Gate) -> Result<ToolOutput, String> + Send + 'static,
{
    let gate = Arc::new(Gate::default());
    let waiting = Waiting(gate.clone());
    let mut task = spawn_blocking(move || work(&gate));
    let joined = tokio::select! {
        biased;
        joined = &mut task => joined,
        () = context.cancel.cancelled() => {
            if waiting.0.close() {
                return ToolOutput::cancelled();
            }
            task.await
        }
    };
    match joined {
        Ok(Ok(output)) => output,
        Ok(Err(message)) => ToolOutput::error(message),
        Err(_) => ToolOutput::failed(tool),
    }
}

/// Returns what the system said in words.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "leads through something that is no folder".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" at path ")
                .next()
                .unwrap_or_default()
                .to_owned()
        }
    }
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To read it.
    Read,
    /// To learn whether it may be written; it is not changed.
    TryWrite,
}

/// Opens a regular file, and nothing that could make us wait or do something by being opened.
pub(super) fn open_regular(path: &Path, purpose: Purpose) -> Result<(File, Metadata), String> {
    let before = path.symlink_metadata().map_err(|error| reason(&error))?;
    check_regular(&before)?;
    let mut options = OpenOptions::new();
    match purpose {
        Purpose::Read => options.read(true),
        Purpose::TryWrite => options.write(true),
    };
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe that took the file's place meanwhile is noticed below instead of waited for.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| reason(&error))?;
    let opened = file.metadata().map_err(|error| reason(&error))?;
    check_regular(&opened)?;
    Ok((file, opened))
}

fn check_regular(found: &Metadata) -> Result<(), String> {
    let kind = found.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err("is a folder, not a file; name a file in it".to_owned());
    }
    Err(format!(
        "is {}, not a regular file; leave it alone",
        special(kind)
    ))
}

#[cfg(unix)]
fn special(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_block_device() || kind.is_char_device() => "a device",
        kind if kind.is_symlink() => "a link",
        _ => "something special",
    }
}

#[cfg(not(unix))]
fn special(_kind: fs::FileType) -> &'static str {
    "something special"
}

/// What tells whether a file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    length: u64,
    modified: Option<std::time::SystemTime>,
    #[cfg(unix)]
    node: (u64, u64),
}

impl Identity {
    /// Returns it.
    pub(super) fn of(found: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            length: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            node: (found.dev(), found.ino()),
        }
    }
}

/// What stands where a file is to be written.
#[derive(Debug)]
pub(super) enum Target {
    /// Nothing.
    New,
    /// A file that may be replaced.
    Old(Metadata),
}

impl Target {
    /// Returns what stands at `path`, or why it may not be replaced.
    pub(super) fn at(path: &Path) -> Result<Self, String> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::New),
            Err(error) => Err(reason(&error)),
            Ok(_) => {
                let (_, found) = open_regular(path, Purpose::TryWrite)?;
                Ok(Self::Old(found))
            }
        }
    }
}

/// Puts `bytes` in the place of the file at `path`, all of them or none. Makes the folders above. `check` has
/// the last word before the change; permissions stay as they were.
pub(super) fn replace(
    path: &Path,
    bytes: &[u8],
    target: &Target,
    gate: &Gate,
    check: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let said = |error: io::Error| reason(&error);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let made = MadeFolders::above(folder).map_err(said)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".agent-cli-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system takes the user's mask off.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(folder).map_err(said)?;
    temporary.write_all(bytes).map_err(said)?;
    if let Target::Old(found) = target {
        temporary
            .as_file()
            .set_permissions(found.permissions())
            .map_err(said)?;
    }
    temporary.as_file().sync_data().map_err(said)?;
    check()?;
    if !gate.pass() {
        return Err("cancelled".to_owned());
    }
    match target {
        Target::Old(_) => temporary.persist(path),
        Target::New => temporary.persist_noclobber(path),
    }
    .map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => {
            "somebody else made it meanwhile; nothing was changed; read it first".to_owned()
        }
        _ => reason(&error.error),
    })?;
    made.keep();
    Ok(())
}

/// Folders that were made for a file and go again when it is not written.
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    fn above(folder: &Path) -> io::Result<Self> {
        let ancestors = folder.ancestors();
        let missing: Vec<&Path> = ancestors
            .take_while(|folder| folder.symlink_metadata().is_err())
            .collect();
        let mut made = Self(Vec::new());
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => made.0.push(folder.to_owned()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Only an empty folder goes; what somebody else put there stays.
            let _ = fs::remove_dir(folder);
        }
    }
}
