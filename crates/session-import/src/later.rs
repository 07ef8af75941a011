//! Results of calls that stay where they are until somebody reads them: most of the bytes of a session are theirs.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use session_model::{
    EntryDraft, EntryId, SourceError, SourceFailure, Span, Stamp, StopReason, Timestamp,
};

use crate::content::Answer;
use crate::format::Format;
use crate::input::Input;
use crate::json::usage as usage_of;
use crate::report::ImportReport;
use crate::results::{MARKS, PendingCall, result_draft};
use crate::{claude, codex, qwen};

/// What a line says that stands for a longer one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    id: Cow<'a, str>,
    parent_id: Option<Cow<'a, str>>,
    timestamp: Cow<'a, str>,
    message: Message<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Message<'a> {
    role: Cow<'a, str>,
    left: (usize, u64, u32, usize),
    tool_call_id: Cow<'a, str>,
    tool_name: Cow<'a, str>,
    provider: Cow<'a, str>,
    model: Cow<'a, str>,
    usage: Option<[u64; 4]>,
    stop: Option<Cow<'a, str>>,
    timestamp: Option<i64>,
}

/// How far behind the beginning of a line its mark stands at most, in bytes.
const HEAD: usize = 512;

/// Returns where the numbers of a line begin that stands for another.
fn mark(line: &[u8]) -> Option<usize> {
    let head = &line[..line.len().min(HEAD)];
    MARKS.iter().find_map(|mark| {
        let at = memmem::find(head, mark.as_bytes())?;
        Some(at + mark.len())
    })
}

/// Gives the lines for which those stand that [`import_without_results`](crate::import_without_results) writes.
#[derive(Debug, Clone)]
pub struct ReadLater {
    format: Format,
    logs: Vec<Input>,
}

impl ReadLater {
    pub(crate) fn new(format: Format, logs: Vec<Input>) -> Self {
        Self { format, logs }
    }

    /// Returns the line for which another stands, as [`import`](crate::import) writes it; `None` for a line that stands
    /// for itself.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the log cannot be read.
    pub fn line(&self, line: &[u8]) -> Option<Result<Vec<u8>, SourceError>> {
        mark(line)?;
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let message = line.message;
        let text = match self.record(message.left)? {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => return Some(Err(error)),
        };
        let draft = match &*message.role {
            "assistant" => self.answer(&text, message)?,
            _ => self.result(&text, message)?,
        };
        let stamp = Stamp {
            id: EntryId::new(&line.id),
            parent: line.parent_id.as_deref().map(EntryId::new),
            timestamp: Timestamp::parse(&line.timestamp)?,
            part_of: None,
        };
        Some(Ok(draft.stamp(&stamp).into_bytes()))
    }

    /// Returns the record, or the records, in which that stands for which a line stands.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the log cannot be read.
    pub fn source(&self, line: &[u8]) -> Option<Result<Cow<'_, [u8]>, SourceError>> {
        let at = mark(line)?;
        let end = at + memchr::memchr(b']', &line[at..])?;
        let numbers = std::str::from_utf8(&line[at..end]).ok()?;
        let mut numbers = numbers.split(',').map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let (log, offset, len) = (next()?, next()?, next()?);
        self.record((log as usize, offset, u32::try_from(len).ok()?, 0))
    }

    /// Returns which reads of the logs have failed so far.
    pub fn failure(&self) -> Option<SourceFailure> {
        self.logs.iter().find_map(|log| log.source.failure())
    }

    fn record(
        &self,
        (log, offset, len, _): (usize, u64, u32, usize),
    ) -> Option<Result<Cow<'_, [u8]>, SourceError>> {
        let log = self.logs.get(log)?;
        Some(log.source.line(Span { offset, len }))
    }

    /// Returns the answer whose records a text holds.
    fn answer(&self, text: &str, message: Message<'_>) -> Option<EntryDraft> {
        let mut ignored = ImportReport::new(self.format);
        let (api, blocks) = match self.format {
            Format::Codex => (codex::API, codex::read_answer(text, &mut ignored)),
            Format::ClaudeCode => (claude::API, claude::read_answer(text, &mut ignored)),
            _ => return None,
        };
        let usage = message.usage;
        let answer = Answer {
            blocks,
            api,
            provider: message.provider.into_owned(),
            model: message.model.into_owned(),
            usage: usage
                .map(|[input, output, read, written]| usage_of(input, output, read, written)),
            stop: message.stop.map(|stop| StopReason::from_name(&stop)),
            error: None,
            at: message.timestamp.map(Timestamp::from_millis),
        };
        Some(EntryDraft::Message(Box::new(answer.draft().ok()?)))
    }

    /// Returns the result that a record holds.
    fn result(&self, text: &str, message: Message<'_>) -> Option<EntryDraft> {
        let mut ignored = ImportReport::new(self.format);
        let (_, _, _, block) = message.left;
        let found = match self.format {
            Format::ClaudeCode => claude::read_result(text, block, &mut ignored),
            Format::Codex => Some(codex::read_result(text, &mut ignored)),
            Format::QwenCode => qwen::read_result(text, block),
            Format::GeminiCli | Format::Opencode => None,
        };
        let call = PendingCall {
            id: message.tool_call_id.into_owned(),
            name: message.tool_name.into_owned(),
        };
        let at = message.timestamp.map(Timestamp::from_millis);
        result_draft(call, found.unwrap_or_default(), at, &mut ignored).ok()
    }
}
