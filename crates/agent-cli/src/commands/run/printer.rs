//! What a run prints: progress for people on standard error, or every event as a line of JSON on standard output.

use std::io::{self, IsTerminal, Write};

use crate::commands::run::progress::Progress;
use crate::commands::run::stream::Stream;
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
    /// Shows answers as they come.
    stream: Option<Stream<io::Stdout>>,
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
        let streams = matches!(form, Form::Text(_)) && io::stdout().is_terminal();
        let stream = streams.then(|| Stream::new(io::stdout()));
        Self {
            form,
            answer: String::new(),
            turns: 0,
            broke_off: false,
            failed: None,
            is_interrupted: false,
            stream,
        }
    }

    /// Returns the text of the newest answer of the newest turn.
    pub fn answer(&self) -> &str {
        self.answer.trim_end()
    }

    /// Returns the same text, unless it is on the screen already.
    pub fn unseen_answer(&self) -> Option<&str> {
        let is_seen = self.stream.as_ref().is_some_and(Stream::has_answer);
        (!is_seen).then(|| self.answer())
    }

    /// Returns whether there was no turn.
    pub fn had_no_turn(&self) -> bool {
        self.turns == 0
    }

    /// Returns whether events could not be printed, so that nobody reads them.
    pub fn is_unread(&self) -> bool {
        self.failed.is_some()
    }

    /// Returns why events could not be printed.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Returns whether the newest answer broke off and what there was of it is kept, so that nothing is left to be
    /// asked again.
    pub fn broke_off(&self) -> bool {
        self.broke_off
    }

    /// Prints the errors that nothing came after.
    pub fn print_errors(&mut self) {
        if let Form::Text(progress) = &mut self.form {
            progress.errors().iter().for_each(|line| tell(line));
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
        if let Some(stream) = &mut self.stream {
            stream.observe(event);
        }
        let is_seen = self.unseen_answer().is_none();
        match &mut self.form {
            Form::Silent => {}
            Form::Text(_) if is_seen && is_whole_answer(event) => {}
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

/// Returns whether an event is an answer that came to its own end.
fn is_whole_answer(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Answer { error: None, stop_reason, .. } if stop_reason != "length")
}
