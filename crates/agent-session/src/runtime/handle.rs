//! The bounded channel of the commands of a session: [`COMMANDS`] wait at most.

use llm_providers::CancellationToken;
use tokio::sync::mpsc;

use crate::runtime::{Answer, Ask, Call, Command, Refusal, RefusalKind};
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

    /// Does the same where there is `room` for what comes of it; else only once the session should close.
    pub(crate) async fn recv_with(&mut self, room: bool) -> Option<Command> {
        if !room {
            self.closing.cancelled().await;
        }
        self.recv().await
    }
}
