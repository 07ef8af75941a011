//! Codex: a log of items and events, in which a fork may refer to the history of another log.

mod compacted;
mod events;
mod items;
mod mapper;
mod scan;

use std::io::Write;

use session_model::Diagnostics;

use crate::emitter::{Begin, Emitter};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::json::Object;
use crate::report::ImportReport;
use crate::{FindSession, Origin};

use mapper::Mapper;
use scan::scan;

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    find: &FindSession<'_>,
    out: &mut dyn Write,
) -> Result<ImportReport, ImportError> {
    let mut emitter = Emitter::new(Format::Codex, out);
    let scan = scan(input, find, &mut emitter)?;
    if emitter.report.records.is_empty() {
        return Err(ImportError::Empty(Format::Codex));
    }
    emitter.begin(Begin {
        origin,
        bytes: input.bytes,
        at: scan.begun,
        parent_session: None,
        title: scan.title.clone(),
    })?;
    let mut mapper = Mapper::new(&scan, emitter);
    mapper.write_meta()?;
    for (index, segment) in scan.segments.iter().enumerate() {
        // What is wrong with lines was reported in the first pass.
        let mut ignored = Diagnostics::default();
        segment.input.lines(segment.end, &mut ignored, |line, _| {
            match Object::parse(&line.text) {
                Some(record) if segment.has(&record) => mapper.take(&record, index, line.span),
                _ => Ok(()),
            }
        })?;
    }
    mapper.finish()
}
