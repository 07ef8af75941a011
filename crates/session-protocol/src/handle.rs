//! The bounded channel of the commands of a session: [`COMMANDS`] wait at most.

use std::collections::VecDeque;

use llm_providers::CancellationToken;
use tokio::sync::mpsc;

use crate::command::{Answer, Ask, Call, Command};
use crate::reply::{Refusal, RefusalKind};
use session_store::{Delivery, Prompt};

/// How many commands wait at most.
pub const COMMANDS: usize = 64;

/// Commands a running session; cheap to clone. The session closes when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    commands: mpsc::Sender<Command>,
    closing: CancellationToken,
}

/// The commands of a session, in their order.
#[derive(Debug)]
pub struct CommandReceiver {
    commands: mpsc::Receiver<Command>,
    closing: CancellationToken,
    closed: bool,
    /// Taken while something else was waited for; they come first.
    held: VecDeque<Command>,
    /// No handle is left.
    is_abandoned: bool,
}

/// The session has ended and takes no command any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended")]
pub struct SessionEnded;

/// Returns both ends of a channel of commands.
pub fn command_channel() -> (SessionHandle, CommandReceiver) {
    let (sender, receiver) = mpsc::channel(COMMANDS);
    let closing = CancellationToken::new();
    let handle = SessionHandle {
        commands: sender,
        closing: closing.clone(),
    };
    let receiver = CommandReceiver {
        commands: receiver,
        closing,
        closed: false,
        held: VecDeque::new(),
        is_abandoned: false,
    };
    (handle, receiver)
}

impl SessionHandle {
    /// Sends a command, once there is room.
    ///
    /// # Errors
    /// [`SessionEnded`] when nobody takes it any more.
    pub async fn send(&self, command: Command) -> Result<(), SessionEnded> {
        let sent = self.commands.send(command).await;
        sent.map_err(|_| SessionEnded)
    }

    /// Sends a command if there is room; gives it back otherwise.
    ///
    /// # Errors
    /// The command, when there is no room or the session has ended.
    pub fn try_send(&self, command: Command) -> Result<(), Box<Command>> {
        let sent = self.commands.try_send(command);
        sent.map_err(|error| Box::new(error.into_inner()))
    }

    /// Waits until there is room for a command, or the session has ended.
    pub async fn room(&self) {
        drop(self.commands.reserve().await);
    }

    /// Sends a prompt: a text, or a [`Prompt`] with images. It begins a turn as soon as no other one runs.
    ///
    /// # Errors
    /// [`SessionEnded`] when nobody takes it any more.
    pub async fn prompt(&self, prompt: impl Into<Prompt>) -> Result<(), SessionEnded> {
        let prompt = prompt.into();
        let delivery = Delivery::Prompt;
        self.send(Command::Prompt { prompt, delivery }).await
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The [`Refusal`] of the session, also when it has ended.
    pub async fn ask(&self, ask: Ask) -> Answer {
        let (command, answer) = Call::of(ask);
        let ended = || Refusal {
            kind: RefusalKind::Refused,
            message: SessionEnded.to_string(),
        };
        self.send(command).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Closes the session. This needs no room.
    pub fn close(&self) {
        self.closing.cancel();
    }
}

impl CommandReceiver {
    /// Returns the next command; none once nobody can send one any more. A close comes after what was sent before.
    pub async fn recv(&mut self) -> Option<Command> {
        tokio::select! {
            biased;
            command = self.commands.recv() => command,
            () = self.closing.cancelled(), if !self.closed => {
                self.closed = true;
                Some(Command::Close)
            }
        }
    }

    /// Returns the next command where there is `room` for what follows from it; else only once the session should close.
    /// The session closes when no handle is left.
    pub async fn next(&mut self, room: bool) -> Command {
        if !room {
            self.closing.cancelled().await;
        }
        match self.held.pop_front() {
            Some(command) => command,
            None => self.take().await,
        }
    }

    async fn take(&mut self) -> Command {
        if self.is_abandoned {
            return std::future::pending().await;
        }
        let command = self.recv().await;
        self.is_abandoned = command.is_none();
        command.unwrap_or(Command::Close)
    }

    /// Takes a command, which [`next`](Self::next) returns later.
    pub async fn hold(&mut self) {
        if self.held.len() >= COMMANDS {
            return std::future::pending().await;
        }
        let command = self.take().await;
        self.held.push_back(command);
    }

    /// Returns whether a command that is held stops what runs, or the session.
    pub fn holds_stop(&self) -> bool {
        let mut held = self.held.iter();
        self.closing.is_cancelled() || held.any(Command::is_stop)
    }
}
