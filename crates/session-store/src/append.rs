//! Appending: whole lines in one write, synced, and taken back when anything fails.

use std::io;

use tokio::task::JoinHandle;

use crate::file_layer::AppendFile;
use crate::lock::SessionLock;

/// When an append is forced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncPolicy {
    /// After every append.
    #[default]
    Always,
    /// The operating system decides.
    Never,
}

/// The reason why an append failed. The file has its previous contents, unless they could not be restored.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The file is not as long as it was when it was read.
    Changed,
    /// Writing failed.
    Io(io::Error),
}

impl From<io::Error> for AppendError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Lines that are written and may not be on the disk yet, and their file.
pub(crate) struct Written {
    file: Box<dyn AppendFile>,
    /// The offset of their beginning; larger than expected if another program wrote at the same time.
    pub(crate) start: u64,
    /// The offset of their end.
    pub(crate) end: u64,
}

impl Written {
    /// Appends `lines` to a file that had `length` bytes when it was read. A file without a newline at its end gets
    /// one first, so that a torn line stays separate.
    pub(crate) fn append(
        mut file: Box<dyn AppendFile>,
        length: u64,
        ends_with_newline: bool,
        lines: &[String],
    ) -> Result<Self, AppendError> {
        if file.length()? != length {
            return Err(AppendError::Changed);
        }
        let mut bytes = Vec::new();
        if !ends_with_newline {
            bytes.push(b'\n');
        }
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        let count = loop {
            match file.write_once(&bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written?,
            }
        };
        // The system appends atomically, so the position shows where the lines are, even if other programs wrote.
        let end = file.position()?;
        let start = end.saturating_sub(count as u64);
        let mut written = Self { file, start, end };
        if count < bytes.len() {
            written.take_back();
            return Err(io::Error::from(io::ErrorKind::StorageFull).into());
        }
        Ok(written)
    }

    /// Removes what was written, unless another program without the lock wrote after it. If that fails, the lines stay,
    /// and the last of them may be torn.
    pub(crate) fn take_back(&mut self) {
        if self.file.length().is_ok_and(|length| length == self.end) {
            let _ = self.file.truncate(self.start);
        }
    }

    /// Forces the lines to the disk, or takes them back.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync().inspect_err(|_| self.take_back())
    }
}

/// Work on a thread of the runtime that may block. It continues when its caller stops waiting; the next caller gets its
/// result from [`abandoned`](Self::abandoned).
pub(crate) struct OffThread<T>(Option<JoinHandle<T>>);

impl<T> Default for OffThread<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> std::fmt::Debug for OffThread<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OffThread").field(&self.0.is_some()).finish()
    }
}

impl<T: Send + 'static> OffThread<T> {
    /// Runs `work`; without a runtime, on this thread.
    pub(crate) async fn run(&mut self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return Ok(work());
        };
        let handle = self.0.insert(runtime.spawn_blocking(work));
        let done = handle.await.map_err(io::Error::other);
        self.0 = None;
        done
    }

    /// Waits for work that its caller did not wait for, and returns its result.
    pub(crate) async fn abandoned(&mut self) -> Option<io::Result<T>> {
        let done = self.0.as_mut()?.await.map_err(io::Error::other);
        self.0 = None;
        Some(done)
    }
}

/// Lines that are forced to the disk.
pub(crate) type Syncing = OffThread<io::Result<Written>>;

impl Syncing {
    /// Forces lines to the disk, or takes them back, without holding up the caller's thread; the lock is held meanwhile.
    pub(crate) async fn sync(
        &mut self,
        mut written: Written,
        lock: SessionLock,
    ) -> io::Result<Written> {
        let sync = move || {
            let _lock = lock;
            written.sync().map(|()| written)
        };
        self.run(sync).await?
    }
}

#[cfg(test)]
mod tests;
