//! Who commands a session that runs by itself: the prompt, then a script's user, then the end.
//!
//! The session runs only while this one waits. So once every event that is there has been heard, nothing has
//! happened that is not known here, and what is sent then meets the session as it is.

use std::collections::VecDeque;
use std::path::PathBuf;

use llm_script::{ScriptAction, ScriptDelivery, ScriptPlay};

use crate::commands::run::printer::Printer;
use session_protocol::Command;
use session_protocol::event::SessionEvent;
use session_protocol::{EventReceiver, SessionHandle};
use session_store::Delivery;

/// Commands a session and prints what it tells.
pub(super) struct Driver {
    pub commands: SessionHandle,
    pub events: EventReceiver,
    /// What comes first.
    pub opening: Option<Command>,
    pub script: Option<ScriptPlay>,
    /// What the user of the script is to do next.
    pub due: VecDeque<ScriptAction>,
    pub printer: Printer,
    /// What goes on, as far as it is known here.
    pub phase: Phase,
    /// Messages that were said and that the session has not told of yet: a rest before that is an older one.
    pub unheard: usize,
    /// What the user of the script wants besides messages is under way.
    pub acting: bool,
    /// The user has cancelled.
    pub interrupted: bool,
    /// Why a turn that was asked for could not even begin.
    pub refused: Option<Refused>,
    /// The session that runs now: its id, and its file where it has one or will have one.
    pub session: (String, Option<PathBuf>),
}

/// What goes on in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: it waits for a command.
    Resting,
    /// It was asked for something while it was resting, and it has not begun.
    Asked {
        /// What for.
        what: Asked,
        /// The message that was said is on the disk.
        kept: bool,
        /// What went wrong so far.
        error: Option<String>,
    },
    /// It is at work.
    Working,
    /// It was told to end.
    Closing,
}

/// What a session was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A turn.
    Turn,
    /// Anything else.
    Work,
}

/// A turn that could not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    /// Why.
    pub why: String,
    /// The message waits in the session.
    pub kept: bool,
}

impl Driver {
    /// Commands until the session has ended.
    pub async fn drive(&mut self) {
        let cancel = crate::cancel::token();
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => {
                        self.observe(&event);
                        while let Some(event) = self.events.try_recv() {
                            self.observe(&event);
                        }
                        self.act().await;
                    }
                    None => return,
                },
                () = cancel.cancelled(), if !self.interrupted => {
                    self.interrupted = true;
                    self.printer.is_interrupted = true;
                    self.close();
                }
            }
        }
    }

    fn observe(&mut self, event: &SessionEvent) {
        self.printer.print(event);
        if let SessionEvent::SessionStart {
            session_id, path, ..
        }
        | SessionEvent::SessionSwitch {
            session_id, path, ..
        } = event
        {
            self.session = (session_id.clone(), path.as_ref().map(PathBuf::from));
        }
        if let SessionEvent::Queued { .. } = event {
            self.unheard = self.unheard.saturating_sub(1);
        } else if let SessionEvent::Error { .. } = event {
            // What is not kept is not queued either.
            self.unheard = 0;
        }
        if self.phase == Phase::Closing {
            return;
        }
        if let SessionEvent::Idle { .. } = event {
            if self.unheard == 0 {
                self.rest();
            }
        } else if let Phase::Asked { what, kept, error } = &mut self.phase {
            if let SessionEvent::Error { message } = event {
                *error = Some(message.clone());
            } else if let SessionEvent::Queued { .. } = event {
                *kept = true;
            } else if *what == Asked::Work || matches!(event, SessionEvent::TurnStart) {
                self.phase = Phase::Working;
            }
        }
    }

    /// Nothing goes on any more. A turn that was asked for and has not begun never will.
    fn rest(&mut self) {
        self.acting = false;
        let phase = std::mem::replace(&mut self.phase, Phase::Resting);
        if let Phase::Asked {
            what: Asked::Turn,
            kept,
            error: Some(why),
        } = phase
        {
            self.refused = Some(Refused { why, kept });
        }
    }

    /// Does what is due by now.
    async fn act(&mut self) {
        if let Phase::Asked {
            error: Some(_),
            what,
            kept,
        } = self.phase
            && (what == Asked::Work || !kept)
        {
            // What is refused immediately leaves the session at rest.
            self.rest();
        }
        if self.phase == Phase::Closing {
            return;
        }
        if self.printer.is_unread() || self.refused.is_some() {
            self.close();
            return;
        }
        if let Some(opening) = self.opening.take() {
            self.send(opening, Some(Asked::Turn)).await;
        }
        if let Some(script) = &self.script {
            self.due.extend(script.take_actions());
        }
        while let Some(action) = self.due.front() {
            if needs_rest(action) && self.phase != Phase::Resting {
                return;
            }
            let Some(action) = self.due.pop_front() else {
                return;
            };
            let asked = asked(&action);
            self.acting |= asked == Some(Asked::Work);
            self.send(command(action), asked).await;
        }
        if self.phase == Phase::Resting {
            self.close();
        }
    }

    /// Returns whether the user of the script was stopped before all was done.
    pub fn is_cut_short(&self) -> bool {
        let left = self.script.as_ref().map(ScriptPlay::take_actions);
        self.acting || !self.due.is_empty() || left.is_some_and(|left| !left.is_empty())
    }

    fn close(&mut self) {
        self.commands.close();
        self.phase = Phase::Closing;
    }

    async fn send(&mut self, command: Command, asked: Option<Asked>) {
        self.unheard += usize::from(matches!(command, Command::Prompt { .. }));
        if let (Phase::Resting, Some(what)) = (&self.phase, asked) {
            self.phase = Phase::Asked {
                what,
                kept: false,
                error: None,
            };
        }
        // A session that has ended needs no command.
        let _ = self.commands.send(command).await;
    }
}

fn needs_rest(action: &ScriptAction) -> bool {
    match action {
        ScriptAction::Say { delivery, .. } => *delivery == ScriptDelivery::Prompt,
        ScriptAction::Abort => false,
        ScriptAction::Compact { .. }
        | ScriptAction::Handoff { .. }
        | ScriptAction::Navigate { .. }
        | ScriptAction::Label { .. } => true,
    }
}

/// Returns what a session that rests begins by an action. A label is written immediately, and nothing is stopped where
/// nothing runs.
fn asked(action: &ScriptAction) -> Option<Asked> {
    match action {
        ScriptAction::Say { .. } => Some(Asked::Turn),
        ScriptAction::Compact { .. }
        | ScriptAction::Handoff { .. }
        | ScriptAction::Navigate { .. } => Some(Asked::Work),
        ScriptAction::Label { .. } | ScriptAction::Abort => None,
    }
}

fn command(action: ScriptAction) -> Command {
    match action {
        ScriptAction::Say { text, delivery } => Command::Prompt {
            prompt: text.into(),
            delivery: match delivery {
                ScriptDelivery::Prompt => Delivery::Prompt,
                ScriptDelivery::Steer => Delivery::Steer,
                ScriptDelivery::FollowUp => Delivery::FollowUp,
            },
        },
        ScriptAction::Compact { focus } => Command::Compact(focus.into()),
        ScriptAction::Handoff { focus } => Command::Handoff { focus },
        ScriptAction::Navigate {
            back,
            summarize,
            focus,
        } => Command::Back {
            count: back,
            summarize,
            focus,
        },
        ScriptAction::Label { back, text } => Command::Label {
            count: back,
            text: Some(text),
        },
        ScriptAction::Abort => Command::Abort,
    }
}
