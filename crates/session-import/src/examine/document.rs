//! One JSON document, or a journal: what is not whole.

use std::io::Write;

use serde_json::Value;
use session_model::{Diagnostic, DiagnosticKind, Severity};

use super::{Examined, Findings};
use crate::error::ImportError;
use crate::input::{Input, is_lines};
use crate::partial::Document;

/// Examines a journal of lines that need no others, or one document.
pub(super) fn examine_chat(input: &Input) -> Result<Examined, ImportError> {
    let mut findings = Findings::default();
    if !is_lines(input)? {
        return examine(input);
    }
    findings.records(input, |_, _, _| {})?;
    Ok(findings.done())
}

/// Examines one document.
pub(super) fn examine(input: &Input) -> Result<Examined, ImportError> {
    let mut findings = Findings::default();
    let (_, text) = input.document()?;
    let is_cut = Document::read(&text).is_none_or(|document| document.is_cut);
    if is_cut {
        let text = "the document is cut off or damaged; the agent does not open it";
        let found = Diagnostic::new(Severity::Error, DiagnosticKind::TornTail, text);
        findings.diagnostics.push(found);
    }
    Ok(Examined {
        is_cut_document: is_cut,
        ..findings.done()
    })
}

/// Writes the members and messages of a document that are whole.
pub(super) fn repair(input: &Input, out: &mut dyn Write) -> Result<(), ImportError> {
    let (_, text) = input.document()?;
    let document = Document::read(&text).unwrap_or_default();
    // Alone on its line, it says that this is one document.
    writeln!(out, "{{")?;
    for (name, raw) in &document.members {
        writeln!(out, "{}:{raw},", Value::from(name.as_str()))?;
    }
    writeln!(out, "\"messages\":[{}]}}", document.messages.join(","))?;
    Ok(())
}
