//! Results of calls that stay where they are until somebody reads them: most of the bytes of a session are theirs.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;
use serde::Deserialize;
use session_model::{
    EntryDraft, EntryId, SourceError, SourceFailure, Span, Stamp, TakeLeftOut, Timestamp,
};

use crate::format::Format;
use crate::input::{Input, text_of};
use crate::report::ImportReport;
use crate::results::{MARK, PendingCall, result_draft};
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
    left: (usize, u64, u32, usize),
    tool_call_id: Cow<'a, str>,
    tool_name: Cow<'a, str>,
    timestamp: Option<i64>,
}

/// How far behind the beginning of a line its mark stands at most, in bytes.
const HEAD: usize = 512;

/// Gives the lines for which those stand that [`import_without_results`](crate::import_without_results) writes.
#[derive(Debug, Clone)]
pub struct ReadLater {
    format: Format,
    logs: Vec<Input>,
    mark: Finder<'static>,
}

/// The number of a log, and a part of it.
type Place = (usize, Span);

impl ReadLater {
    pub(crate) fn new(format: Format, logs: Vec<Input>) -> Self {
        Self {
            format,
            logs,
            mark: Finder::new(MARK),
        }
    }

    /// Returns the line for which another stands, as [`import`](crate::import) writes it; `None` for a line that stands
    /// for itself.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the log cannot be read.
    pub fn line(&self, line: &[u8]) -> Option<Result<Vec<u8>, SourceError>> {
        self.place(line)?;
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let (log, offset, len, _) = line.message.left;
        let bytes = match self.read((log, Span { offset, len }))? {
            Ok(bytes) => bytes,
            Err(error) => return Some(Err(error)),
        };
        let stamp = Stamp {
            id: EntryId::new(&line.id),
            parent: line.parent_id.as_deref().map(EntryId::new),
            timestamp: Timestamp::parse(&line.timestamp)?,
            part_of: None,
        };
        let draft = self.result(&bytes, line.message)?;
        Some(Ok(draft.stamp(&stamp).into_bytes()))
    }

    /// Gives for each of some lines the record in which that is for which it stands.
    pub fn left_out(
        &self,
        stored: &[u8],
        lines: &[Range<usize>],
        take: &mut TakeLeftOut<'_>,
    ) -> bool {
        lines.iter().enumerate().all(|(number, line)| {
            let place = self.place(&stored[line.clone()]);
            match place.and_then(|place| self.read(place)) {
                Some(Ok(bytes)) => take(number, Some(Ok(&bytes))),
                Some(Err(error)) => take(number, Some(Err(error))),
                None => take(number, None),
            }
        })
    }

    /// Returns where that stands for which a line stands.
    fn place(&self, line: &[u8]) -> Option<Place> {
        let head = &line[..line.len().min(HEAD)];
        let at = self.mark.find(head)? + MARK.len();
        let end = at + memchr::memchr(b']', &line[at..])?;
        let numbers = std::str::from_utf8(&line[at..end]).ok()?;
        let mut numbers = numbers.split(',').map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let (log, offset, len) = (next()? as usize, next()?, next()?);
        let len = u32::try_from(len).ok()?;
        Some((log, Span { offset, len }))
    }

    /// Returns which reads of the logs have failed so far.
    pub fn failure(&self) -> Option<SourceFailure> {
        self.logs.iter().find_map(|log| log.source.failure())
    }

    fn read(&self, (log, span): Place) -> Option<Result<Cow<'_, [u8]>, SourceError>> {
        Some(self.logs.get(log)?.source.line(span))
    }

    /// Returns the result that a record holds.
    fn result(&self, bytes: &[u8], message: Message<'_>) -> Option<EntryDraft> {
        let text = &text_of(bytes);
        let mut ignored = ImportReport::new(self.format);
        let (_, _, _, block) = message.left;
        let found = match self.format {
            Format::ClaudeCode => claude::read_result(text, block, &mut ignored),
            Format::Codex => Some(codex::read_result(text, &mut ignored)),
            Format::QwenCode => qwen::read_result(text, block),
            _ => None,
        };
        let call = PendingCall {
            id: message.tool_call_id.into_owned(),
            name: message.tool_name.into_owned(),
        };
        let at = message.timestamp.map(Timestamp::from_millis);
        result_draft(call, found.unwrap_or_default(), at, &mut ignored).ok()
    }
}
