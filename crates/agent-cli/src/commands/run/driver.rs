//! Who commands a session that runs by itself: the prompt, then a script's user, then the end.

use std::collections::VecDeque;

use llm_providers::{ScriptAction, ScriptDelivery, ScriptPlay};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::commands::run::printer::Printer;
use crate::session::event::SessionEvent;
use crate::session::shell::Command;
use crate::session::store::Delivery;

/// Commands a session and prints what it tells.
pub(super) struct Driver {
    pub commands: UnboundedSender<Command>,
    pub events: UnboundedReceiver<SessionEvent>,
    pub script: Option<ScriptPlay>,
    /// What the user of the script is to do next.
    pub due: VecDeque<ScriptAction>,
    /// Nothing goes on in the session.
    pub resting: bool,
    pub printer: Printer,
    /// The user has cancelled.
    pub interrupted: bool,
}

impl Driver {
    /// Commands until the session has ended.
    pub async fn drive(&mut self, prompt: Option<String>) {
        match prompt {
            Some(text) => self.send(Command::Say {
                text,
                delivery: Delivery::Prompt,
            }),
            None => self.send(Command::Resume),
        }
        self.resting = false;
        let cancel = crate::cancel::token();
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.heard(&event),
                    None => return,
                },
                () = cancel.cancelled(), if !self.interrupted => {
                    self.interrupted = true;
                    self.send(Command::Close);
                }
            }
        }
    }

    fn heard(&mut self, event: &SessionEvent) {
        if !self.printer.print(event) {
            // Nobody reads any more.
            self.send(Command::Close);
        }
        if let Some(script) = &self.script {
            self.due.extend(script.take_actions());
        }
        match event {
            SessionEvent::TurnEnd {
                end: "failed" | "aborted",
                ..
            } => {
                self.due.clear();
                self.resting = false;
            }
            SessionEvent::Idle { .. } => self.resting = true,
            _ => {}
        }
        self.act();
        if self.resting && self.due.is_empty() {
            self.resting = false;
            self.send(Command::Close);
        }
    }

    /// Does what the user of the script does by now.
    fn act(&mut self) {
        while let Some(action) = self.due.front() {
            if needs_rest(action) && !self.resting {
                return;
            }
            let Some(action) = self.due.pop_front() else {
                return;
            };
            // Everything but a label ends in a rest of its own.
            if !matches!(action, ScriptAction::Label { .. }) {
                self.resting = false;
            }
            self.send(command(action));
        }
    }

    fn send(&self, command: Command) {
        // A session that has ended needs no command.
        let _ = self.commands.send(command);
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

fn command(action: ScriptAction) -> Command {
    match action {
        ScriptAction::Say { text, delivery } => Command::Say {
            text,
            delivery: match delivery {
                ScriptDelivery::Prompt => Delivery::Prompt,
                ScriptDelivery::Steer => Delivery::Steer,
                ScriptDelivery::FollowUp => Delivery::FollowUp,
            },
        },
        ScriptAction::Compact { focus } => Command::Compact { focus },
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
