//! The progress of a run as lines for people, as wide as their terminal.

mod lines;

use compaction_core::TokenCount;
use serde_json::Value;

use crate::ui::compaction::whole_percent;
use crate::ui::{BOLD, DIM, WARN, clean, counted, first_line, rule, styled, tokens, wrapped};
use agent_session::event::{CompactionResult, InstructionFile, SessionEvent};

use lines::{cut, filled};

/// What people were not told yet.
pub(super) struct Progress {
    /// How wide lines may be, in characters.
    width: fn() -> usize,
    in_copy: bool,
    /// Calls that run: their ids, and how people read them.
    calls: Vec<(String, String)>,
    /// What is printed before the next line, where there is one.
    held: Vec<Held>,
}

/// A line that may not be needed.
#[derive(PartialEq)]
enum Held {
    Header(String),
    Answer(String),
    Error(String),
}

impl Held {
    fn line(self) -> String {
        match self {
            Self::Header(line) | Self::Answer(line) | Self::Error(line) => line,
        }
    }
}

impl Progress {
    /// Returns the progress of a session whose tools work in a copy, or not, in lines of a width.
    pub fn new(width: fn() -> usize, in_copy: bool) -> Self {
        Self {
            width,
            in_copy,
            calls: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Returns what is printed now.
    pub fn lines(&mut self, event: &SessionEvent) -> Vec<String> {
        if let SessionEvent::SessionStart { .. } = event {
            // A session that has nothing to do is not announced.
            let header = self.line(event);
            self.held.extend(header.map(Held::Header));
            return Vec::new();
        }
        let held = match event {
            // The last answer goes to standard output, the last error is said at the end.
            SessionEvent::Answer {
                text,
                tool_calls: 0,
                error: None,
                ..
            } if !text.trim().is_empty() => Held::Answer(cut(text, (self.width)())),
            SessionEvent::Answer {
                error: Some(error),
                stop_reason,
                ..
            } if stop_reason != "aborted" => Held::Error(warning(error)),
            SessionEvent::TurnEnd {
                error: Some(error), ..
            }
            | SessionEvent::Error { message: error } => Held::Error(warning(error)),
            // An answer that is the last one is not told because of what came after it.
            SessionEvent::HookFailed { .. } => {
                let is_header = |held: &mut Held| matches!(held, Held::Header(_));
                let headers = self.held.extract_if(.., is_header).map(Held::line);
                let mut lines: Vec<String> = headers.collect();
                lines.extend(self.line(event));
                return lines;
            }
            _ => {
                let line = self.line(event);
                let mut lines = Vec::new();
                // A turn may begin without a message: with what the session was left with.
                if line.is_some() || matches!(event, SessionEvent::TurnStart) {
                    lines.extend(self.held.drain(..).map(Held::line));
                }
                lines.extend(line);
                return lines;
            }
        };
        // A request that fails is often the end of its turn.
        if self.held.last() != Some(&held) {
            self.held.push(held);
        }
        Vec::new()
    }

    /// Returns the errors that were not told yet: none of them was the end of the run.
    pub fn errors(&mut self) -> Vec<String> {
        let held = self.held.drain(..);
        let errors = held.filter_map(|held| match held {
            Held::Error(line) => Some(line),
            Held::Header(_) | Held::Answer(_) => None,
        });
        errors.collect()
    }

    /// Returns what people are told of an event.
    fn line(&mut self, event: &SessionEvent) -> Option<String> {
        let width = (self.width)();
        let mark = |parts: &[String]| styled(DIM, &filled(parts, "   ", width));
        match event {
            SessionEvent::SessionStart {
                session_id,
                path,
                cwd,
                model,
                window,
                entries,
            } => {
                let window =
                    (*window > 0).then(|| format!("window {}", tokens(TokenCount(*window))));
                let copy = if self.in_copy { "a copy " } else { "" };
                let so_far =
                    (*entries > 0).then(|| format!("{} so far", counted(*entries, "entry")));
                let parts = [
                    Some(clean(model)),
                    window,
                    Some(format!("in {copy}{}", clean(cwd))),
                    Some(session(session_id, path.as_deref())),
                    so_far,
                ];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
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
            SessionEvent::Retry {
                error,
                delay_seconds,
                ..
            } => Some(note(&format!("{error}; again in {delay_seconds:.1} s"))),
            SessionEvent::Pruned {
                results,
                saved_tokens,
            } => Some(mark(&[
                format!("-- pruned {} of old output", counted(*results, "result")),
                format!("{} saved", tokens(TokenCount(*saved_tokens))),
            ])),
            SessionEvent::Promoted { from, to, window } => Some(mark(&[
                format!("-- {} takes over from {}", clean(to), clean(from)),
                format!("window {}", tokens(TokenCount(*window))),
            ])),
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
            SessionEvent::CompactionProgress {
                text,
                notable: true,
            } => Some(note(text)),
            SessionEvent::Navigated {
                leaf,
                summary_entry_id,
                cancelled: false,
                ..
            } => {
                let leaf = clean(leaf.as_deref().unwrap_or("the beginning"));
                let summary = summary_entry_id.as_ref();
                let summary = summary.map(|_| "with a summary of what was left".to_owned());
                let parts = std::iter::once(format!("-- back to {leaf}")).chain(summary);
                Some(mark(&parts.collect::<Vec<_>>()))
            }
            SessionEvent::SessionSwitch {
                session_id, path, ..
            } => Some(mark(&[session(session_id, path.as_deref())])),
            SessionEvent::Labelled { entry_id, label } => Some(mark(&[match label {
                Some(label) => format!("-- {} is labelled \"{}\"", clean(entry_id), clean(label)),
                None => format!("-- {} has no label any more", clean(entry_id)),
            }])),
            SessionEvent::Pinned {
                entry_id, tokens, ..
            } => Some(mark(&[format!(
                "-- {} is pinned, {}",
                clean(entry_id),
                counted(*tokens as usize, "token")
            )])),
            SessionEvent::Unpinned { entry_id, .. } => Some(mark(&[format!(
                "-- {} is not pinned any more",
                clean(entry_id)
            )])),
            SessionEvent::Notice { text } => Some(note(text)),
            SessionEvent::HookFailed {
                hook,
                point,
                reason,
            } => Some(warning(&format!("hook {hook} failed at {point}: {reason}"))),
            SessionEvent::Instructions { reason, files } => instructions(reason, files),
            SessionEvent::ToolServer {
                name, tools, error, ..
            } => Some(match error {
                Some(error) => warning(&format!("tool server {name}: {error}")),
                None => mark(&[
                    format!("-- tool server {}", clean(name)),
                    counted(*tools, "tool"),
                ]),
            }),
            SessionEvent::TurnEnd { end, .. } if end == "aborted" => {
                Some(mark(&["-- stopped".to_owned()]))
            }
            // The others print nothing, or are printed elsewhere.
            _ => None,
        }
    }
}

/// Returns which instructions came into the context; what could not is a warning.
fn instructions(reason: &str, files: &[InstructionFile]) -> Option<String> {
    let noted = files.iter().filter_map(|file| {
        let why = file.note.as_ref()?;
        Some(warning(&format!("{}: {why}", file.path)))
    });
    let mut lines: Vec<String> = noted.collect();
    for state in ["loaded", "listed", "changed", "gone"] {
        // That they are there from the beginning is as it should be.
        let expected = reason == "start" && matches!(state, "loaded" | "listed");
        let names = files.iter().filter(|file| file.state == state && !expected);
        let names: Vec<&str> = names.map(|file| file.path.as_str()).collect();
        if !names.is_empty() {
            lines.push(note(&format!("{state}: {}", names.join(", "))));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn note(text: &str) -> String {
    format!("{}: {}", styled(DIM, "note"), clean(text))
}

fn warning(text: &str) -> String {
    format!("{}: {}", styled(WARN, "warning"), clean(text))
}

/// Returns how people call a session: by the beginning of its id, as lists do, or by a name that they gave.
fn session(id: &str, path: Option<&str>) -> String {
    /// As much of an id as tells sessions apart that did not begin in the same moment.
    const SHORT: usize = 13;
    match path {
        None => "not kept".to_owned(),
        Some(path) if path.contains(id) => {
            let short: String = id.chars().take(SHORT).collect();
            format!("session {}", clean(&short))
        }
        Some(path) => format!("session {}", clean(path)),
    }
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

/// Returns a call as people read it, on one line: the tool, and what it is about.
fn call_text(name: &str, arguments: &Value) -> String {
    let about = ["command", "path", "pattern", "query"]
        .iter()
        .find_map(|key| arguments.get(key).and_then(Value::as_str));
    let Some(about) = about else {
        return name.to_owned();
    };
    let mut text = name.to_owned();
    let mut goes_on = true;
    for line in about.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // A line that is not at its end needs no separator.
        text.push_str(if goes_on { " " } else { "; " });
        text.push_str(line.strip_suffix('\\').unwrap_or(line).trim_end());
        let opens = ["\\", "&&", "||", "|", ";", "{", "(", "do", "then", "else"];
        goes_on = opens.iter().any(|opens| line.ends_with(opens));
    }
    text
}

/// Returns the card of a compaction, folded: what it saved, and what became of the entries.
fn card(reason: &str, result: &CompactionResult, width: usize) -> String {
    let before = tokens(TokenCount(result.tokens_before));
    let after = tokens(TokenCount(result.tokens_after));
    let verb = match &*result.strategy {
        "handoff" => "handed off",
        _ if result.summary.is_none() => "shortened",
        _ => "compacted",
    };
    let by = match result.summarizer.as_str() {
        "rules" => "extractive".to_owned(),
        model => format!("by {}", clean(model)),
    };
    let mut title = format!("{verb}  {before} -> {after}");
    let more = [
        Some(reason.to_owned()),
        Some(format!("{:.1}s", result.seconds)),
        Some(by),
        result.cost_usd.map(|cost| format!("${cost:.3}")),
        result.prepared.then(|| "it was ready".to_owned()),
    ];
    for part in more.into_iter().flatten() {
        // What has no room is left out, the least important last.
        if crate::ui::columns(&title) + 2 + crate::ui::columns(&part) + 6 <= width {
            title.push_str("  ");
            title.push_str(&part);
        }
    }
    let mut text = styled(BOLD, &rule(&title, width));
    if result.first_kept_entry_id.is_some() {
        let kept = counted(result.kept_entries, "entry");
        let mut parts = vec![
            format!("   {} summarized", result.summarized_entries),
            format!("{kept} kept verbatim"),
        ];
        if let Some(percent) = result.in_sight_percent {
            parts.push(format!("{}% in context", whole_percent(percent)));
        }
        if result.shortened_entries > 0 {
            parts.push(format!("{} shortened", result.shortened_entries));
        }
        text.push('\n');
        text.push_str(&filled(&parts, "   ", width));
    }
    text
}

#[cfg(test)]
mod tests;
