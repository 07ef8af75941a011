//! One JSON document, or a journal: what is not whole.

use session_model::json::Members;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde_json::{Value, json};
use session_model::{DiagnosticKind, Severity};

use super::{At, Edit, Examined, Findings, INTERRUPTED, Step, write_line};
use crate::error::ImportError;
use crate::input::{Input, is_lines};
use crate::partial::Document;

/// Examines a journal of lines that need no others, or one document.
pub(super) fn examine_chat(input: &Input) -> Result<Examined, ImportError> {
    let mut findings = Findings::default();
    if !is_lines(input)? {
        return examine(input);
    }
    findings.records(input, |_, _, _, _| {})?;
    Ok(findings.done())
}

/// Examines one document, of which opencode's has messages with their own ids, and calls that hold their results.
pub(super) fn examine(input: &Input) -> Result<Examined, ImportError> {
    let mut findings = Findings::default();
    let (_, text) = input.document()?;
    let document = Document::read(&text);
    let is_cut = document.as_ref().is_none_or(|document| document.is_cut);
    let (mut line, mut counted, mut ids) = (1, 0, BTreeSet::new());
    let mut line_at = |at: usize| {
        let text = text.as_bytes().get(counted..at).unwrap_or_default();
        line += text.iter().filter(|byte| **byte == b'\n').count() as u64;
        counted = at.max(counted);
        line
    };
    let messages = document.iter().flat_map(|document| &document.messages);
    for (number, raw) in (0..).zip(messages) {
        let number = (number, 0);
        let line = (line_at(raw.as_ptr() as usize - text.as_ptr() as usize), 0);
        let message = Members::parse(raw).unwrap_or_default();
        let id = message.object("info").and_then(|info| info.filled("id"));
        if id.is_some_and(|id| !ids.insert(id)) {
            let text = "a second message with the same id; opencode takes one of them";
            findings.add(Severity::Warning, DiagnosticKind::DuplicateId, line, text);
            findings.edit(number, Edit::Drop);
            continue;
        }
        for (place, part) in message.objects("parts").iter().enumerate() {
            let state = part.object("state").unwrap_or_default();
            let status = state.text("status").unwrap_or_default();
            if !matches!(status.as_str(), "pending" | "running") {
                continue;
            }
            let id = part.text("callID").unwrap_or_default();
            let text = format!(
                "a call without a result ({id}); opencode tells the model that it was interrupted"
            );
            let kind = DiagnosticKind::UnpairedToolCall;
            findings.add(Severity::Warning, kind, line, &text);
            let own = state.object("time").unwrap_or_default().count("start");
            let whole = message.object("info").unwrap_or_default();
            let at = own.or_else(|| whole.object("time")?.count("created"));
            let input = state
                .raw("input")
                .and_then(|raw| serde_json::from_str(raw).ok());
            let ended = json!({
                "status": "error",
                "input": input.unwrap_or_else(|| json!({})),
                "error": INTERRUPTED,
                "time": { "start": at, "end": at },
            });
            let path = vec![Step::Key("parts"), Step::Item(place), Step::Key("state")];
            findings.edit(number, Edit::Replace(path, ended));
        }
    }
    if is_cut {
        let line = (line_at(text.trim_end().len()), 0);
        let text = "the document is cut off or damaged; the agent does not open it";
        findings.add(Severity::Error, DiagnosticKind::TornTail, line, text);
    }
    Ok(Examined {
        is_document: true,
        is_cut,
        ..findings.done()
    })
}

/// Writes the members and messages of a document that are whole, with what the edits change of a message by its number.
pub(super) fn repair(
    input: &Input,
    edits: &BTreeMap<At, Vec<Edit>>,
    out: &mut dyn Write,
) -> Result<(), ImportError> {
    let (_, text) = input.document()?;
    let document = Document::read(&text).unwrap_or_default();
    // Alone on its line, it says that this is one document.
    writeln!(out, "{{")?;
    for (name, raw) in &document.members {
        writeln!(out, "{}:{raw},", Value::from(name.as_str()))?;
    }
    write!(out, "\"messages\":[")?;
    let mut between = "";
    for (number, raw) in (0..).zip(&document.messages) {
        let mut message = Vec::new();
        write_line(
            raw,
            edits.get(&(number, 0)).map_or(&[], Vec::as_slice),
            &mut message,
        )?;
        if !message.is_empty() {
            out.write_all(between.as_bytes())?;
            out.write_all(&message)?;
            between = ",";
        }
    }
    writeln!(out, "]}}")?;
    Ok(())
}
