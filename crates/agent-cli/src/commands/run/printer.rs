//! What a run prints: progress for people on standard error, or every event as a line of JSON on standard output.

use std::io::Write;

use compaction_core::TokenCount;
use serde_json::Value;

use crate::session::event::{CompactionResult, SessionEvent};
use crate::ui::{BOLD, DIM, WARN, clean, counted, first_line, rule, styled, tokens, width};

/// What is printed, and what is remembered for the end.
pub(super) struct Printer {
    form: Form,
    answer: String,
    turns: usize,
    calls: Vec<(String, String)>,
}

#[derive(PartialEq)]
enum Form {
    Text,
    Json,
    Silent,
}

impl Printer {
    /// Returns one that prints progress for people.
    pub fn text() -> Self {
        Self::of(Form::Text)
    }

    /// Returns one that prints events.
    pub fn json() -> Self {
        Self::of(Form::Json)
    }

    /// Returns one that prints nothing.
    pub fn silent() -> Self {
        Self::of(Form::Silent)
    }

    fn of(form: Form) -> Self {
        Self {
            form,
            answer: String::new(),
            turns: 0,
            calls: Vec::new(),
        }
    }

    /// Returns the text of the newest answer that was given.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Returns whether there was no turn.
    pub fn said_nothing(&self) -> bool {
        self.turns == 0
    }

    /// Prints an event; returns false when nobody reads any more.
    pub fn print(&mut self, event: &SessionEvent) -> bool {
        match event {
            SessionEvent::TurnStart => self.turns += 1,
            SessionEvent::Answer {
                text, error: None, ..
            } => self.answer.clone_from(text),
            _ => {}
        }
        match self.form {
            Form::Silent => true,
            Form::Text => {
                if let Some(line) = self.line(event) {
                    anstream::eprintln!("{line}");
                }
                true
            }
            Form::Json => {
                let mut out = std::io::stdout().lock();
                let line = serde_json::to_string(event).unwrap_or_default();
                writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
            }
        }
    }

    /// Returns what people are told of an event.
    fn line(&mut self, event: &SessionEvent) -> Option<String> {
        let dim = |text: String| Some(styled(DIM, &text));
        match event {
            SessionEvent::SessionStart {
                path,
                cwd,
                model,
                window,
                entries,
                ..
            } => {
                let window = match window {
                    0 => String::new(),
                    window => format!(", window {}", tokens(TokenCount(*window))),
                };
                let place = path.as_deref().unwrap_or("not kept");
                let before = match entries {
                    0 => String::new(),
                    count => format!(", {} so far", counted(*count, "entry")),
                };
                dim(format!(
                    "{}{window} in {}\nsession {}{before}",
                    clean(model),
                    clean(cwd),
                    clean(place)
                ))
            }
            SessionEvent::Message { text, .. } => Some(styled(
                BOLD,
                &format!("> {}", first_line(text, width().saturating_sub(2))),
            )),
            SessionEvent::Answer {
                text,
                tool_calls,
                error: None,
                ..
            } if *tool_calls > 0 && !text.trim().is_empty() => Some(first_line(text, width())),
            SessionEvent::Answer { stop_reason, .. } if stop_reason == "length" => Some(format!(
                "{}: the answer was cut off by its output cap",
                styled(WARN, "warning")
            )),
            SessionEvent::Answer {
                error: Some(error), ..
            } => Some(format!("{}: {}", styled(WARN, "warning"), clean(error))),
            SessionEvent::ToolStart {
                call_id,
                name,
                arguments,
            } => {
                self.calls
                    .push((call_id.clone(), call_text(name, arguments)));
                None
            }
            SessionEvent::ToolEnd {
                call_id,
                is_error,
                seconds,
                output,
                name,
            } => {
                let place = self.calls.iter().position(|(id, _)| id == call_id);
                let call = place.map(|place| self.calls.swap_remove(place).1);
                let call = call.unwrap_or_else(|| name.clone());
                let time = match *seconds < 1.0 {
                    true => String::new(),
                    false => format!("  {seconds:.1} s"),
                };
                let room = width().saturating_sub(4 + time.len());
                let line = format!("  {}{time}", first_line(&call, room));
                match is_error {
                    false => dim(line),
                    true => {
                        let why = first_line(output, width().saturating_sub(8));
                        Some(format!(
                            "{}\n    {} {why}",
                            styled(DIM, &line),
                            styled(WARN, "x")
                        ))
                    }
                }
            }
            SessionEvent::Retry {
                error,
                delay_seconds,
                ..
            } => Some(format!(
                "{}: {}; again in {delay_seconds:.1} s",
                styled(DIM, "note"),
                clean(error)
            )),
            SessionEvent::Pruned {
                results,
                saved_tokens,
            } => dim(format!(
                "-- pruned  {} of old output, {} saved; still in the file",
                counted(*results, "result"),
                tokens(TokenCount(*saved_tokens))
            )),
            SessionEvent::Promoted { from, to, window } => dim(format!(
                "-- {} takes over from {}: window {}",
                clean(to),
                clean(from),
                tokens(TokenCount(*window))
            )),
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
                (Some(result), _) => Some(card(reason, result)),
                (None, Some(error)) => {
                    Some(format!("{}: {}", styled(WARN, "warning"), clean(error)))
                }
                (None, None) => None,
            },
            SessionEvent::CompactionProgress {
                text,
                notable: true,
            } => Some(format!("{}: {}", styled(DIM, "note"), clean(text))),
            SessionEvent::Navigated {
                leaf,
                summary_entry_id,
                cancelled: false,
                ..
            } => dim(format!(
                "-- back to {}{}",
                clean(leaf.as_deref().unwrap_or("the beginning")),
                match summary_entry_id {
                    Some(_) => ", with a summary of the branch that was left",
                    None => "",
                }
            )),
            SessionEvent::SessionSwitch { path, .. } => dim(format!(
                "session {}",
                clean(path.as_deref().unwrap_or("not kept"))
            )),
            SessionEvent::Labelled { entry_id, label } => dim(match label {
                Some(label) => format!("-- {} is labelled \"{}\"", clean(entry_id), clean(label)),
                None => format!("-- {} has no label any more", clean(entry_id)),
            }),
            SessionEvent::Notice { text } => {
                Some(format!("{}: {}", styled(DIM, "note"), clean(text)))
            }
            SessionEvent::Error { message } => {
                Some(format!("{}: {}", styled(WARN, "warning"), clean(message)))
            }
            SessionEvent::SessionEnd {
                path: Some(path),
                usage,
                cost_usd,
                ..
            } => {
                let cost = match cost_usd {
                    Some(cost) => format!(", ${cost:.3}"),
                    None => String::new(),
                };
                let read = usage.input + usage.cache_read + usage.cache_write;
                dim(format!(
                    "{} read, {} written{cost}\nto go on: agent-cli --session {} -p ...",
                    tokens(TokenCount(read)),
                    tokens(TokenCount(usage.output)),
                    crate::commands::shell_name(std::path::Path::new(path))
                ))
            }
            SessionEvent::Queued { .. }
            | SessionEvent::TurnStart
            | SessionEvent::TextDelta { .. }
            | SessionEvent::ThinkingDelta { .. }
            | SessionEvent::Answer { .. }
            | SessionEvent::Context { .. }
            | SessionEvent::AutoCompactionStart { .. }
            | SessionEvent::CompactionStart { .. }
            | SessionEvent::CompactionProgress { .. }
            | SessionEvent::Navigated { .. }
            | SessionEvent::TurnEnd { .. }
            | SessionEvent::Idle { .. }
            | SessionEvent::SessionEnd { .. } => None,
        }
    }
}

/// Returns the card of a compaction, folded to two lines.
fn card(reason: &str, result: &CompactionResult) -> String {
    let before = tokens(TokenCount(result.tokens_before));
    let after = tokens(TokenCount(result.tokens_after));
    let verb = match result.strategy {
        "handoff" => "handed off",
        _ if result.summary.is_none() => "shortened",
        _ => "compacted",
    };
    let by = match result.summarizer.as_str() {
        "rules" => "by rule".to_owned(),
        model => format!("by {}", clean(model)),
    };
    let cost = match result.cost_usd {
        Some(cost) => format!("  ${cost:.3}"),
        None => String::new(),
    };
    let ready = match result.prepared {
        true => "  it was ready",
        false => "",
    };
    let title = format!(
        "{verb}  {before} -> {after}  {reason}  {by}{cost}{ready}  {:.1}s",
        result.seconds
    );
    let mut text = styled(BOLD, &rule(&title, width()));
    if let Some(kept) = &result.first_kept_entry_id {
        text.push_str(&format!(
            "\n   {} word for word from {}, {} summarized{}",
            counted(result.kept_entries, "entry"),
            clean(kept),
            result.summarized_entries,
            match result.shortened_entries {
                0 => String::new(),
                count => format!(", {count} shortened"),
            }
        ));
    }
    text
}

/// Returns a call as people read it: the tool, and what it is about.
fn call_text(name: &str, arguments: &Value) -> String {
    let about = ["command", "path", "pattern", "query"]
        .iter()
        .find_map(|key| arguments.get(key).and_then(Value::as_str));
    match about {
        Some(about) => format!("{name} {about}"),
        None => name.to_owned(),
    }
}
