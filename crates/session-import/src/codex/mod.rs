//! Codex: a log of items and events, in which a fork may refer to the history of another log.

mod compacted;
mod events;
mod items;
mod lead;
mod mapper;
mod outputs;
mod scan;

use session_model::Diagnostics;

use crate::emitter::{Begin, Emitter, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::report::ImportReport;
use crate::{FindSession, Origin};

/// The protocol of the model.
pub(crate) const API: &str = "openai-responses";

pub(crate) use items::{is_call, is_output, read_result, unwrapped};
use mapper::Mapper;
use scan::scan;

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    find: &FindSession<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let mut emitter = Emitter::new(Format::Codex, out);
    let mut scan = scan(input, find, &mut emitter)?;
    emitter.name_logs(scan.segments.iter().map(|segment| &segment.input));
    if emitter.report.records.is_empty() {
        return Err(ImportError::Empty(Format::Codex));
    }
    emitter.report.window = scan.window;
    emitter.begin(Begin {
        origin,
        bytes: input.bytes,
        at: scan.begun,
        title: scan.title.clone(),
    })?;
    let outputs = std::mem::take(&mut scan.outputs);
    let mut mapper = Mapper::new(&scan, outputs, emitter);
    mapper.write_meta()?;
    for (index, segment) in scan.segments.iter().enumerate() {
        // What is wrong with lines was reported in the first pass.
        let mut ignored = Diagnostics::default();
        segment.input.lines(segment.end, &mut ignored, |line, _| {
            mapper.line(&line, index)
        })?;
    }
    mapper.finish()
}
