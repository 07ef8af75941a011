//! Answers as they come, where standard output is a terminal.

use std::io::Write;

use session_protocol::event::SessionEvent;

use crate::ui::clean_lines;

/// Shows answers while models write them.
pub(super) struct Stream<W> {
    out: W,
    /// The last line on the screen has not ended.
    is_open: bool,
    /// The newest answer is on the screen.
    has_answer: bool,
}

impl<W: Write> Stream<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            is_open: false,
            has_answer: false,
        }
    }

    /// Shows what an event adds to an answer. Whatever else is printed begins on a new line.
    pub fn observe(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TextDelta { text } if !text.is_empty() => {
                self.has_answer = true;
                self.is_open = !text.ends_with('\n');
                // Whoever does not read it still gets the outcome.
                let written = write!(self.out, "{}", clean_lines(text));
                let _ = written.and_then(|()| self.out.flush());
            }
            SessionEvent::TextDelta { .. } | SessionEvent::ThinkingDelta { .. } => {}
            other => {
                if std::mem::take(&mut self.is_open) {
                    let _ = writeln!(self.out);
                }
                // What comes next is another answer.
                self.has_answer &= !matches!(
                    other,
                    SessionEvent::TurnStart | SessionEvent::ToolStart { .. }
                );
            }
        }
    }

    /// Returns whether the newest answer is on the screen.
    pub fn has_answer(&self) -> bool {
        self.has_answer
    }
}

#[cfg(test)]
mod tests;
