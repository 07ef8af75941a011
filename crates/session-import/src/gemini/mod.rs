//! gemini-cli: one JSON document, or a journal of JSON lines in which a message is written again on each change.

mod history;
mod messages;

use session_model::json::{Members, items, string};
use std::borrow::Cow;

use session_model::Span;

use crate::Origin;
use crate::emitter::{Begin, Emitter, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::ids::hash_of;
use crate::input::{Input, cut_off, damaged, is_lines, place_of};
use crate::partial::Document;
use crate::report::{ImportReport, count};

use history::{History, Message};
use messages::write_history;

/// What describes the session.
#[derive(Default)]
struct Metadata {
    begun: Option<session_model::Timestamp>,
    title: Option<String>,
}

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let mut emitter = Emitter::new(Format::GeminiCli, out);
    let mut metadata = Metadata::default();
    let mut history = History::default();
    let input = match read_document(input, &mut metadata, &mut history, &mut emitter)? {
        Some(document) => document,
        None => {
            read_lines(input, &mut metadata, &mut history, &mut emitter)?;
            input.clone()
        }
    };
    if history.nodes.is_empty() && emitter.report.session_id.is_empty() {
        return Err(ImportError::Empty(Format::GeminiCli));
    }
    emitter.begin(Begin {
        origin,
        bytes: input.bytes,
        at: metadata.begun,
        title: metadata.title,
    })?;
    write_history(&input, &history, emitter)
}

impl Metadata {
    fn take(&mut self, object: &Members<'_>, report: &mut ImportReport) {
        if report.session_id.is_empty() {
            report.session_id = object.text("sessionId").unwrap_or_default();
        }
        self.begun = self.begun.or(object.time("startTime"));
        self.title = object.filled("summary").or(self.title.take());
    }
}

/// Reads the session if it is one document; of a file of lines nothing.
fn read_document(
    input: &Input,
    metadata: &mut Metadata,
    history: &mut History,
    emitter: &mut Emitter<'_>,
) -> Result<Option<Input>, ImportError> {
    if is_lines(input)? {
        return Ok(None);
    }
    let (input, text) = input.document()?;
    let Some(document) = Document::read(&text) else {
        return Ok(None);
    };
    if document.is_cut {
        emitter.diagnostics.push(cut_off());
    }
    let members = document.members.iter();
    let members =
        members.map(|(name, raw)| format!("{}:{raw}", serde_json::Value::from(name.as_str())));
    let members = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    metadata.take(
        &Members::parse(&members).unwrap_or_default(),
        &mut emitter.report,
    );
    for raw in document.messages {
        let message = Members::parse(raw).unwrap_or_default();
        let kind = message.text("type").unwrap_or_default();
        count(&mut emitter.report.records, &kind);
        history.message(&message_of(&message, place_of(raw, &text, 0)));
    }
    Ok(Some(input))
}

fn read_lines(
    input: &Input,
    metadata: &mut Metadata,
    history: &mut History,
    emitter: &mut Emitter<'_>,
) -> Result<(), ImportError> {
    let report = &mut emitter.report;
    input.records(
        input.bytes,
        &mut emitter.diagnostics,
        |record, line, diagnostics| {
            if let Some(set) = record.object("$set") {
                count(&mut report.records, "$set");
                metadata.take(&set, report);
                if set.raw("messages").is_none() {
                    return Ok(());
                }
                let Cow::Borrowed(text) = line.text() else {
                    // The places of values are not known after a repair.
                    diagnostics.push(damaged(line.number));
                    return Ok(());
                };
                let messages = set.items("messages").into_iter();
                let messages = messages.map(|raw| {
                    let message = Members::parse(raw).unwrap_or_default();
                    message_of(&message, place_of(raw, text, line.span.offset))
                });
                history.replace(&messages.collect::<Vec<_>>());
            } else if let Some(id) = record.text("$rewindTo") {
                count(&mut report.records, "$rewindTo");
                history.rewind(&id);
            } else if record.raw("type").is_none() {
                count(&mut report.records, "metadata");
                metadata.take(record, report);
            } else {
                let kind = record.text("type").unwrap_or_default();
                count(&mut report.records, &kind);
                history.message(&message_of(record, line.span));
            }
            Ok(())
        },
    )
}

/// How the summary begins that the program makes, and what it lets the model reply.
const SUMMARY: &str = "<state_snapshot>";
const ACKNOWLEDGEMENT: &str = "Got it. Thanks for the additional context!";

/// Returns what the history needs of a message.
fn message_of(message: &Members<'_>, span: Span) -> Message {
    let raw = message.raw("content").unwrap_or("\"\"");
    let parts = match raw.starts_with('[') {
        true => items(raw),
        false => vec![raw],
    };
    let texts = parts.into_iter().filter_map(|raw| {
        let text = string(raw);
        text.or_else(|| Members::parse(raw)?.text("text"))
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let is_user = message.text("type").as_deref() == Some("user");
    Message {
        id: message.text("id").unwrap_or_default(),
        span,
        is_user,
        says: match text.trim() {
            "" => 0,
            text => hash_of(text).max(1),
        },
        is_summary: is_user && text.contains(SUMMARY),
        is_acknowledgement: !is_user && text.trim() == ACKNOWLEDGEMENT,
    }
}
