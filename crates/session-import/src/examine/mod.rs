//! Damage of sessions of other agents: where it is, what it does there, and a copy without it.

mod codex;
mod document;
mod threaded;

use session_model::json::Members;
use std::collections::BTreeMap;
use std::io::Write;

use serde_json::Value;
use session_model::{Diagnostic, DiagnosticKind, Diagnostics, Severity};

use crate::emitter::INTERRUPTED;
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;

/// What is said of a call or a result without its other half.
const UNPAIRED: &str =
    "a service refuses a request that has one without the other, unless the agent fills it in";

/// A record: the number of its line and how many stand before it there; or the number of a message in a document.
type At = (u64, usize);

/// A change of a record.
enum Edit {
    /// It gets a line of its own, as each does.
    Split,
    /// The line is left out.
    Drop,
    /// A line is put in front.
    Before(Value),
    /// A line is put behind.
    After(Value),
    /// A member gets another value.
    Set(&'static str, Value),
    /// What stands at the steps of a path gets another value.
    Replace(Vec<Step>, Value),
}

/// A step of a path into a record.
#[derive(Debug, Clone, Copy)]
enum Step {
    Key(&'static str),
    Item(usize),
}

/// What was found in a session of another agent.
pub struct Examined {
    /// The damage, each with its line and what it does.
    pub diagnostics: Vec<Diagnostic>,
    /// The changes of lines that undo it; of messages, by their number, where the file is one document.
    edits: BTreeMap<At, Vec<Edit>>,
    is_document: bool,
    /// The document is written anew from what is whole.
    is_cut: bool,
}

/// Collects damage and what undoes it.
#[derive(Default)]
struct Findings {
    diagnostics: Diagnostics,
    edits: BTreeMap<At, Vec<Edit>>,
}

impl Findings {
    fn add(&mut self, severity: Severity, kind: DiagnosticKind, at: At, text: &str) {
        self.diagnostics
            .push(Diagnostic::new(severity, kind, text).at_line(at.0));
    }

    fn edit(&mut self, at: At, edit: Edit) {
        self.edits.entry(at).or_default().push(edit);
    }

    /// Gives every record; a line that is none is damage.
    fn records(
        &mut self,
        input: &Input,
        mut take: impl FnMut(At, &Members<'_>, &str, &mut Self),
    ) -> Result<(), ImportError> {
        let mut last = (0, 0);
        let mut damaged = None;
        let mut ignored = Diagnostics::default();
        input.lines(input.bytes, &mut ignored, |line, _| {
            last = (line.number, line.part);
            let text = line.text();
            match Members::parse(&text) {
                Some(record) => take(last, &record, &text, self),
                None => {
                    if let Some(before) = damaged.replace(last) {
                        self.unreadable(before);
                    }
                }
            }
            Ok(())
        })?;
        match damaged {
            Some(line) if line == last => {
                let text = "the last line is cut off; agents leave it out, and what is appended next would join it";
                self.add(Severity::Error, DiagnosticKind::TornTail, line, text);
                self.edit(line, Edit::Drop);
            }
            Some(line) => self.unreadable(line),
            None => {}
        }
        for found in ignored.into_vec() {
            match (found.line, found.kind) {
                (Some(line), DiagnosticKind::SharedLine) => self.edit((line, 1), Edit::Split),
                (Some(line), _) => self.edit((line, 0), Edit::Drop),
                (None, _) => {}
            }
            self.diagnostics.push(found);
        }
        Ok(())
    }

    fn unreadable(&mut self, line: At) {
        let text =
            "not readable as a JSON object; agents leave it out, and what it said is lost to them";
        self.add(Severity::Error, DiagnosticKind::DamagedLine, line, text);
        self.edit(line, Edit::Drop);
    }

    fn done(self) -> Examined {
        let mut diagnostics = self.diagnostics.into_vec();
        diagnostics.sort_by_key(|found| found.line);
        Examined {
            diagnostics,
            edits: self.edits,
            is_document: false,
            is_cut: false,
        }
    }
}

/// Returns the damage of a session of another agent.
///
/// # Errors
///
/// [`ImportError`] when the bytes cannot be read.
pub fn examine(format: Format, input: &Input) -> Result<Examined, ImportError> {
    match format {
        Format::ClaudeCode => threaded::examine(&threaded::CLAUDE, input),
        Format::QwenCode => threaded::examine(&threaded::QWEN, input),
        Format::Codex => codex::examine(input),
        Format::GeminiCli | Format::Copilot => document::examine_chat(input),
        Format::Opencode | Format::Cline | Format::Goose | Format::Crush => {
            document::examine(input)
        }
    }
}

impl Examined {
    /// Writes a copy without the damage, and returns how many lines, or messages of a document, differ.
    ///
    /// # Errors
    ///
    /// [`ImportError`] when reading or writing fails.
    pub fn repair(&self, input: &Input, out: &mut dyn Write) -> Result<u64, ImportError> {
        let changed = self.edits.len() as u64 + u64::from(self.is_cut);
        if self.is_document {
            document::repair(input, &self.edits, out)?;
            return Ok(changed);
        }
        let mut ignored = Diagnostics::default();
        input.lines(input.bytes, &mut ignored, |line, _| {
            let edits = self
                .edits
                .get(&(line.number, line.part))
                .map_or(&[][..], Vec::as_slice);
            write_line(&line.text(), edits, out)
        })?;
        Ok(changed)
    }
}

fn write_line(text: &str, edits: &[Edit], out: &mut dyn Write) -> Result<(), ImportError> {
    for edit in edits {
        if let Edit::Before(line) = edit {
            writeln!(out, "{line}")?;
        }
    }
    let is_changed = |edit: &Edit| matches!(edit, Edit::Set(..) | Edit::Replace(..));
    if edits.iter().any(|edit| matches!(edit, Edit::Drop)) {
        // Nothing of it stays.
    } else if edits.iter().any(is_changed)
        && let Ok(mut record) = serde_json::from_str::<Value>(text)
    {
        for edit in edits {
            match edit {
                Edit::Set(key, value) => record[*key] = value.clone(),
                Edit::Replace(path, value) => {
                    if let Some(place) = at(&mut record, path) {
                        *place = value.clone();
                    }
                }
                Edit::Split | Edit::Drop | Edit::Before(_) | Edit::After(_) => {}
            }
        }
        writeln!(out, "{record}")?;
    } else {
        writeln!(out, "{text}")?;
    }
    for edit in edits {
        if let Edit::After(line) = edit {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn at<'a>(record: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    let mut place = record;
    for step in path {
        place = match step {
            Step::Key(key) => place.get_mut(key)?,
            Step::Item(item) => place.get_mut(item)?,
        };
    }
    Some(place)
}
