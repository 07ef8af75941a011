//! The progress of a run as lines for people, as wide as their terminal.

mod lines;

use crate::ui::{BOLD, DIM, WARN, clean, first_line, rule, styled, wrapped};
use session_protocol::event::{CompactionResult, SessionEvent};
use session_text::{
    Announcement, Tone, call_text, compaction_facts, compaction_title, session_start,
};

use lines::{cut, filled};

/// What people are shown of a run.
pub(super) struct Progress {
    /// How wide lines may be, in characters.
    width: fn() -> usize,
    in_copy: bool,
    /// Calls that run: their ids, and how people read them.
    calls: Vec<(String, String)>,
    /// The header: a session that has nothing to do is not announced.
    header: Option<String>,
    /// The newest answer, unless it is the last one, which goes to standard output.
    answer: Option<String>,
    /// The newest error, unless it is the last one, which is reported at the end.
    error: Option<String>,
}

impl Progress {
    /// Returns the progress of a session whose tools work in a copy, or not, in lines of a width.
    pub fn new(width: fn() -> usize, in_copy: bool) -> Self {
        Self {
            width,
            in_copy,
            calls: Vec::new(),
            header: None,
            answer: None,
            error: None,
        }
    }

    pub fn lines(&mut self, event: &SessionEvent) -> Vec<String> {
        let error = match event {
            SessionEvent::SessionStart { .. } => {
                self.header = self.line(event);
                return Vec::new();
            }
            SessionEvent::Answer {
                text,
                tool_calls: 0,
                error: None,
                ..
            } if !text.trim().is_empty() => {
                self.answer = Some(cut(text, (self.width)()));
                return Vec::new();
            }
            SessionEvent::Answer {
                error: Some(error),
                stop_reason,
                ..
            } if stop_reason != "aborted" => Some(error),
            SessionEvent::TurnEnd {
                error: Some(error), ..
            }
            | SessionEvent::Error { message: error } => Some(error),
            _ => None,
        };
        if let Some(error) = error.map(|error| warning(error)) {
            // A request that fails is often the end of its turn.
            let before = self.error.replace(error);
            return before
                .filter(|before| self.error.as_ref() != Some(before))
                .into_iter()
                .collect();
        }
        let line = self.line(event);
        let mut lines = Vec::new();
        // A turn may begin without a message: with what the session was left with.
        if line.is_some() || matches!(event, SessionEvent::TurnStart) {
            lines.extend(self.header.take());
            // A hook that fails behind the last answer does not make it another one.
            if !matches!(event, SessionEvent::HookFailed { .. }) {
                lines.extend(self.answer.take());
                lines.extend(self.error.take());
            }
        }
        lines.extend(line);
        lines
    }

    /// Returns the error that was not reported yet: it was not the end of the run.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }

    fn line(&mut self, event: &SessionEvent) -> Option<String> {
        let width = (self.width)();
        match event {
            SessionEvent::SessionStart { .. } => {
                let copy = if self.in_copy { "a copy " } else { "" };
                let parts = session_start(event, copy)?;
                Some(styled(DIM, &filled(&parts, "", width)))
            }
            SessionEvent::Message { text, .. } => {
                let room = width.saturating_sub(2);
                Some(styled(BOLD, &format!("> {}", cut(text, room))))
            }
            // The end of the turn reports an error.
            SessionEvent::Answer { error: Some(_), .. } => None,
            SessionEvent::Answer { stop_reason, .. } if stop_reason == "length" => {
                Some(warning("the answer was cut off by its output cap"))
            }
            SessionEvent::Answer {
                text, tool_calls, ..
            } => (*tool_calls > 0 && !text.trim().is_empty()).then(|| cut(text, width)),
            SessionEvent::ToolStart {
                call_id,
                name,
                arguments,
            } => {
                let call = (call_id.clone(), call_text(name, arguments));
                self.calls.push(call);
                None
            }
            SessionEvent::ToolEnd {
                call_id,
                name,
                is_error,
                seconds,
                output,
                ..
            } => {
                let place = self.calls.iter().position(|(id, _)| id == call_id);
                let call = place.map(|place| self.calls.swap_remove(place).1);
                let error = is_error.then_some(output.as_str());
                let call = call.unwrap_or_else(|| name.clone());
                Some(tool_end(&call, *seconds, error, width))
            }
            SessionEvent::AutoCompactionEnd {
                reason,
                result,
                error,
                ..
            }
            | SessionEvent::CompactionEnd {
                reason,
                result,
                error,
                ..
            } => match (result, error) {
                (Some(result), _) => Some(card(reason, result, width)),
                (None, Some(error)) => Some(warning(error)),
                (None, None) => None,
            },
            other => {
                let lines = Announcement::of(other);
                let lines = lines.iter().map(|line| match line.tone {
                    Tone::Mark => styled(DIM, &filled(&line.parts, "   ", width)),
                    Tone::Note => note(&line.parts.join(", ")),
                    Tone::Warning => warning(&line.parts.join(", ")),
                });
                let lines: Vec<String> = lines.collect();
                (!lines.is_empty()).then(|| lines.join("\n"))
            }
        }
    }
}

fn note(text: &str) -> String {
    format!("{}: {}", styled(DIM, "note"), clean(text))
}

fn warning(text: &str) -> String {
    format!("{}: {}", styled(WARN, "warning"), clean(text))
}

fn tool_end(call: &str, seconds: f64, error: Option<&str>, width: usize) -> String {
    let time = match seconds < 1.0 {
        true => String::new(),
        false => format!("  {seconds:.1}s"),
    };
    let room = width.saturating_sub(2 + time.len());
    let line = styled(DIM, &format!("  {}{time}", first_line(call, room)));
    match error {
        None => line,
        Some(error) => {
            // Long enough for advice.
            let why = cut(error, 2 * width.saturating_sub(6));
            let why = wrapped(&why, width.saturating_sub(6)).join("\n      ");
            format!("{line}\n    {} {why}", styled(WARN, "x"))
        }
    }
}

/// Returns the card of a compaction, folded: what it saved, and what became of the entries.
fn card(reason: &str, result: &CompactionResult, width: usize) -> String {
    let room = width.saturating_sub(6);
    let title = compaction_title(reason, result, room, crate::ui::columns);
    let mut text = styled(BOLD, &rule(&title, width));
    let mut facts = compaction_facts(result);
    if let Some(first) = facts.first_mut() {
        first.insert_str(0, "   ");
        text.push('\n');
        text.push_str(&filled(&facts, "   ", width));
    }
    text
}

#[cfg(test)]
mod tests;
