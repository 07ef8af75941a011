//! Lines of standard output: written on a thread of its own, so that nobody who reads slowly holds up the session.

use std::io::Write;
use std::time::Duration;

use llm_providers::CancellationToken;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;

/// How many lines wait at most to be written.
const WAITING: usize = 64;

/// How long somebody who reads is waited for once the user has cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(1);

/// Writes lines.
pub(super) struct Output {
    lines: Option<Sender<String>>,
    written: oneshot::Receiver<()>,
}

/// Whether a line was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was.
    Yes,
    /// Nobody reads any more.
    Unread,
    /// The user has cancelled before somebody read on.
    Interrupted,
}

impl Output {
    /// Returns the lines of standard output.
    pub fn stdout() -> Self {
        let (lines, mut receiver) = channel::<String>(WAITING);
        let (done, written) = oneshot::channel();
        std::thread::spawn(move || {
            let mut out = std::io::stdout();
            while let Some(line) = receiver.blocking_recv() {
                let printed = writeln!(out, "{line}").and_then(|()| out.flush());
                if printed.is_err() {
                    break;
                }
            }
            drop(receiver);
            let _ = done.send(());
        });
        Self {
            lines: Some(lines),
            written,
        }
    }

    /// Hands a line over, once there is room.
    pub async fn send(&mut self, line: String, cancel: &CancellationToken) -> Sent {
        let Some(lines) = &self.lines else {
            return Sent::Unread;
        };
        let sent = tokio::select! {
            biased;
            sent = lines.send(line) => match sent {
                Ok(()) => Sent::Yes,
                Err(_) => Sent::Unread,
            },
            () = is_given_up(cancel) => Sent::Interrupted,
        };
        if sent != Sent::Yes {
            self.lines = None;
        }
        sent
    }

    /// Waits until nobody reads any more.
    pub async fn unread(&self) {
        match &self.lines {
            Some(lines) => lines.closed().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until everything is written that was handed over.
    pub async fn finish(self, cancel: &CancellationToken) {
        drop(self.lines);
        tokio::select! {
            biased;
            _ = self.written => {}
            () = is_given_up(cancel) => {}
        }
    }
}

/// Waits until the user has cancelled and whoever reads had time to read on.
async fn is_given_up(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(AFTER_CANCEL).await;
}
