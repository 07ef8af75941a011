//! Claude Code: a tree of records in which one answer is split over several lines.

mod blocks;
mod body;
mod part;
mod scan;

use crate::Origin;
use crate::emitter::{Begin, Emitter, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::report::ImportReport;
use crate::threads::{Units, write_units};

pub(crate) use blocks::{answer_block, plain_block};
use body::Bodies;
pub(crate) use body::read_result;

use scan::scan;

/// The protocol of the model.
pub(crate) const API: &str = "anthropic-messages";

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let mut emitter = Emitter::new(Format::ClaudeCode, out);
    emitter.name_logs([input]);
    let scan = scan(input, &mut emitter)?;
    let records = &scan.records;
    if emitter.report.records.is_empty() {
        return Err(ImportError::Empty(Format::ClaudeCode));
    }
    let only_sidechain = records.only_sidechain();
    if let Some(agent) = scan.agent.as_ref().filter(|_| only_sidechain) {
        // Its records have the id of the session that started it.
        let report = &mut emitter.report;
        let parent = std::mem::replace(&mut report.session_id, format!("agent-{agent}"));
        report.parent_session = Some(parent);
    }
    let units = Units::of(records, &mut emitter.diagnostics);
    emitter.begin(Begin {
        origin,
        bytes: input.bytes,
        at: records.list.iter().find_map(|record| record.at),
        title: scan.title.clone(),
    })?;
    let bodies = Bodies {
        input,
        scan: &scan,
        only_sidechain,
    };
    write_units(records, &units, &bodies, emitter)
}
