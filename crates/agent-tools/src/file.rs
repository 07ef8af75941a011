//! File access of tools: on a thread that may block, and without a change after a call is cancelled.

use std::fs::Metadata;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::task::spawn_blocking;

use crate::context::ToolContext;
use crate::output::ToolOutput;
use crate::text::reason;
use crate::workspace::resolved::{Purpose, ResolvedPath};

const OPEN: u8 = 0;
const REACHED: u8 = 1;
const CANCELLED: u8 = 2;

/// The point of a call after which its effect takes place: either the call reaches it, or is cancelled before.
#[derive(Debug, Default)]
pub struct CommitPoint(AtomicU8);

impl CommitPoint {
    /// Returns true when the effect may take place; from then on the call cannot be cancelled.
    pub fn reach(&self) -> bool {
        self.set(REACHED)
    }

    /// Returns true when the effect will never take place.
    pub fn cancel(&self) -> bool {
        self.set(CANCELLED)
    }

    /// Returns true once the call was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst) == CANCELLED
    }

    fn set(&self, to: u8) -> bool {
        let set = self
            .0
            .compare_exchange(OPEN, to, Ordering::SeqCst, Ordering::SeqCst);
        set.is_ok()
    }
}

/// Cancels the call when it is dropped, because the caller has stopped waiting.
struct Waiting(Arc<CommitPoint>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs `work` on a thread that may wait for the file system. A cancellation is answered immediately, unless the
/// work has reached its commit point, after which it is nearly done.
pub async fn blocking<F>(tool: &str, context: &ToolContext, work: F) -> ToolOutput
where
    F: FnOnce(&CommitPoint) -> Result<ToolOutput, String> + Send + 'static,
{
    let commit = Arc::new(CommitPoint::default());
    let waiting = Waiting(commit.clone());
    let mut task = spawn_blocking(move || work(&commit));
    let joined = tokio::select! {
        biased;
        joined = &mut task => joined,
        () = context.cancel.cancelled() => {
            if waiting.0.cancel() {
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

/// Identifies a version of a file: shows if it is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    length: u64,
    modified: Option<std::time::SystemTime>,
    #[cfg(unix)]
    node: (u64, u64),
}

impl Identity {
    /// Returns it.
    pub fn of(found: &Metadata) -> Self {
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

/// The existing file, if any, where a file is to be written.
#[derive(Debug)]
pub(crate) enum Target {
    /// Nothing.
    New,
    /// A file that may be replaced.
    Old(Metadata),
}

impl Target {
    /// Returns the existing file at `place`, or why it may not be replaced.
    pub(crate) fn at(place: &ResolvedPath) -> Result<Self, String> {
        match place.open(Purpose::TryWrite) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::New),
            Err(error) => Err(reason(&error)),
            Ok((_, found)) => Ok(Self::Old(found)),
        }
    }
}

/// Opens a regular file outside of any workspace, and nothing that could make us wait or do something by being
/// opened.
///
/// # Errors
/// The reason: no regular file, a link, no permission.
pub fn open_regular(path: &std::path::Path) -> Result<(std::fs::File, Metadata), String> {
    let names = path.parent().zip(path.file_name());
    let (folder, name) = names.ok_or("names no file")?;
    let place = ResolvedPath::in_folder(folder, name).map_err(|error| reason(&error))?;
    place.open(Purpose::Read).map_err(|error| reason(&error))
}
