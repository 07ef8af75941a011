//! What a run prints: progress for people on standard error, or every event as a line of JSON on standard output.

use std::io::{self, Write};

use crate::commands::run::progress::Progress;
use crate::ui::tell;
use session_protocol::event::SessionEvent;

/// What is printed, and what is remembered for the end.
pub(super) struct Printer {
    form: Form,
    answer: String,
    turns: usize,
    broke_off: bool,
    failed: Option<io::Error>,
    /// The user has cancelled, and is told so at the end.
    pub is_interrupted: bool,
}

/// How a run is told.
pub(super) enum Form {
    /// As progress for people.
    Text(Progress),
    /// As events.
    Json,
    /// Not at all.
    Silent,
}

impl Printer {
    pub fn new(form: Form) -> Self {
        Self {
            form,
            answer: String::new(),
            turns: 0,
            broke_off: false,
            failed: None,
            is_interrupted: false,
        }
    }

    /// Returns the text of the newest answer of the newest turn.
    pub fn answer(&self) -> &str {
        self.answer.trim_end()
    }

    pub fn had_no_turn(&self) -> bool {
        self.turns == 0
    }

    /// Returns whether events could not be printed, so that nobody reads them.
    pub fn is_unread(&self) -> bool {
        self.failed.is_some()
    }

    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Returns whether the newest answer broke off and what there was of it is kept, so that nothing is left to be
    /// asked again.
    pub fn broke_off(&self) -> bool {
        self.broke_off
    }

    /// Prints the error that nothing came after.
    pub fn print_error(&mut self) {
        if let Form::Text(progress) = &mut self.form {
            progress.take_error().iter().for_each(|line| tell(line));
        }
    }

    /// Prints an event.
    pub fn print(&mut self, event: &SessionEvent) {
        if matches!(event, SessionEvent::TurnStart) {
            self.turns += 1;
            self.answer.clear();
        }
        if let SessionEvent::Answer {
            text,
            entry_id,
            error,
            ..
        } = event
        {
            self.broke_off = entry_id.is_some() && error.is_some();
            if error.is_none() {
                self.answer.clone_from(text);
            }
        }
        match &mut self.form {
            Form::Silent => {}
            Form::Text(_) if self.is_interrupted && is_abort(event) => {}
            Form::Text(progress) => {
                for line in progress.lines(event) {
                    tell(&line);
                }
            }
            Form::Json if self.failed.is_some() => {}
            Form::Json => {
                let line = serde_json::to_string(event).unwrap_or_default();
                let mut out = io::stdout().lock();
                let written = writeln!(out, "{line}").and_then(|()| out.flush());
                self.failed = written.err();
            }
        }
    }
}

/// Returns whether an event says that a turn was stopped.
fn is_abort(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TurnEnd { end, .. } if *end == "aborted")
}
