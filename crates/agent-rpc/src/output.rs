//! Lines of the output: written on a thread of its own, so that a slow reader does not block the session.

use std::io::Write;
use std::time::Duration;

use llm_providers::CancellationToken;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;

/// The number of lines that wait to be written.
const WAITING: usize = 64;

/// How long a slow reader is waited for once the user has cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(1);

/// Writes lines.
pub struct Output {
    lines: Option<Sender<String>>,
    written: oneshot::Receiver<()>,
}

/// The outcome of sending a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It is handed over.
    Taken,
    /// There is no room for it yet.
    Full(String),
    /// The output is closed.
    Unread,
}

impl Output {
    /// Returns the lines of an output.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        let (lines, written) = write_lines(out);
        Self {
            lines: Some(lines),
            written,
        }
    }

    /// Returns an output whose lines stay unread as long as the receiver is kept.
    #[cfg(test)]
    pub fn unread_lines() -> (Self, tokio::sync::mpsc::Receiver<String>) {
        let (lines, receiver) = channel(WAITING);
        let (_, written) = oneshot::channel();
        let lines = Some(lines);
        (Self { lines, written }, receiver)
    }

    /// Hands a line over if there is room.
    pub(crate) fn offer(&mut self, line: String) -> Offered {
        let Some(lines) = &self.lines else {
            return Offered::Unread;
        };
        match lines.try_send(line) {
            Ok(()) => Offered::Taken,
            Err(TrySendError::Full(line)) => Offered::Full(line),
            Err(TrySendError::Closed(_)) => {
                self.lines = None;
                Offered::Unread
            }
        }
    }

    /// Waits until there is room for a line, or the output is closed.
    pub(crate) async fn room(&self) {
        match &self.lines {
            Some(lines) => drop(lines.reserve().await),
            None => std::future::pending().await,
        }
    }

    /// Sends a line, once there is room; nothing more is sent after the output was given up.
    pub(crate) async fn send(&mut self, line: String, cancel: &CancellationToken) {
        let Some(lines) = &self.lines else {
            return;
        };
        let is_sent = tokio::select! {
            biased;
            sent = lines.send(line) => sent.is_ok(),
            () = is_given_up(cancel) => false,
        };
        if !is_sent {
            self.lines = None;
        }
    }

    /// Waits until the output is closed.
    pub(crate) async fn unread(&self) {
        match &self.lines {
            Some(lines) => lines.closed().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until everything is written that was handed over.
    pub(crate) async fn finish(self, cancel: &CancellationToken) {
        drop(self.lines);
        tokio::select! {
            biased;
            _ = self.written => {}
            () = is_given_up(cancel) => {}
        }
    }
}

/// Writes lines to `out` on a thread of its own, and reports when all are written.
pub fn write_lines(
    mut out: impl Write + Send + 'static,
) -> (Sender<String>, oneshot::Receiver<()>) {
    let (lines, mut receiver) = channel::<String>(WAITING);
    let (done, written) = oneshot::channel();
    std::thread::spawn(move || {
        while let Some(line) = receiver.blocking_recv() {
            if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                break;
            }
        }
        drop(receiver);
        let _ = done.send(());
    });
    (lines, written)
}

/// Waits until the user has cancelled and the reader had time to continue.
async fn is_given_up(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(AFTER_CANCEL).await;
}
