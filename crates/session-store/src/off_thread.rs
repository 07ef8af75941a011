//! Waiting for the disk without holding up the caller's thread.

use std::io;

/// Runs `work` on a thread of the runtime that may block; without a runtime, here.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(io::Error::other),
        Err(_) => Ok(work()),
    }
}
