//! Results of calls that stay where they are until somebody reads them: most of the bytes of a session are theirs.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use session_model::{EntryId, SourceError, SourceFailure, Span, Stamp, Timestamp};

use crate::format::Format;
use crate::input::Input;
use crate::report::ImportReport;
use crate::results::{CallResult, MARK, PendingCall, result_draft};
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    left: (usize, u64, u32, usize),
    tool_call_id: Cow<'a, str>,
    tool_name: Cow<'a, str>,
    timestamp: Option<i64>,
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
        memmem::find(line, MARK.as_bytes())?;
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let (_, _, _, block) = line.message.left;
        let text = match self.record(line.message.left)? {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => return Some(Err(error)),
        };
        let found = self.read(&text, block).unwrap_or_default();
        let call = PendingCall {
            id: line.message.tool_call_id.into_owned(),
            name: line.message.tool_name.into_owned(),
        };
        let at = line.message.timestamp.map(Timestamp::from_millis);
        let mut ignored = ImportReport::new(self.format);
        let draft = result_draft(call, found, at, &mut ignored).ok()?;
        let stamp = Stamp {
            id: EntryId::new(&line.id),
            parent: line.parent_id.as_deref().map(EntryId::new),
            timestamp: Timestamp::parse(&line.timestamp)?,
            part_of: None,
        };
        Some(Ok(draft.stamp(&stamp).into_bytes()))
    }

    /// Returns the record in which the result stands for which a line stands.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the log cannot be read.
    pub fn source(&self, line: &[u8]) -> Option<Result<Cow<'_, [u8]>, SourceError>> {
        let at = memmem::find(line, MARK.as_bytes())? + MARK.len();
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

    fn read(&self, text: &str, block: usize) -> Option<CallResult> {
        let mut ignored = ImportReport::new(self.format);
        match self.format {
            Format::ClaudeCode => claude::read_result(text, block, &mut ignored),
            Format::Codex => Some(codex::read_result(text, &mut ignored)),
            Format::QwenCode => qwen::read_result(text, block),
            Format::GeminiCli | Format::Opencode => None,
        }
    }
}
