//! Records that name their parents, as Claude Code and qwen-code write them: units, their tree, and the walk over it.

mod record;
mod tree;
mod units;

use session_model::{Block, EntryId};

use crate::emitter::{CallResult, Emitter, PendingCall, Place};
use crate::error::ImportError;
use crate::input::Input;
use crate::report::ImportReport;
use crate::results::LaterPlace;
use crate::user_message::{Ends, add_end};

pub(crate) use record::{Boundary, Kind, Record, Records, Subagent};
pub(crate) use units::{Kept, ResultAt, Unit, UnitKind, Units};

/// Writes the bodies of units.
pub(crate) trait WriteUnit {
    /// Writes a unit at a place; `written` has the ends of the units that are written already.
    fn write(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        place: Place,
        written: &[Ends],
    ) -> Result<Ends, ImportError>;

    /// Returns the log and the heads of its records.
    fn source(&self) -> (&Input, &Records);

    /// Returns one of the results that a record has, without its id and time.
    fn read_result(
        &self,
        text: &str,
        block: usize,
        report: &mut ImportReport,
    ) -> Option<CallResult>;

    /// Returns what the model sees in place of the result of a call, where that was cleared or shortened.
    fn replacement(&self, _call: &str) -> Option<String> {
        None
    }

    /// Returns a result of a call; or only where it stands, if it is read later.
    fn result(
        &self,
        report: &mut ImportReport,
        at: ResultAt,
        later: bool,
    ) -> Result<Option<CallResult>, ImportError> {
        let (input, records) = self.source();
        let head = &records.list[at.record];
        let found = match later {
            true => Some(CallResult {
                later: Some(LaterPlace {
                    log: 0,
                    span: head.span,
                    block: at.block,
                }),
                ..CallResult::default()
            }),
            false => self.read_result(&input.text(head.span)?, at.block, report),
        };
        Ok(found.map(|found| CallResult {
            id: match at.block {
                0 => head.uuid().to_owned(),
                _ => String::new(),
            },
            at: head.at,
            ..found
        }))
    }

    /// Returns the calls among blocks with their results, as far as there are any.
    fn with_results(
        &self,
        emitter: &mut Emitter<'_>,
        blocks: &[Block],
        results: &[Option<ResultAt>],
    ) -> Result<Vec<(PendingCall, Option<CallResult>)>, ImportError> {
        let mut found = Vec::new();
        for (place, call) in blocks.iter().filter_map(PendingCall::of).enumerate() {
            let at = results.get(place).copied().flatten();
            let later = emitter.reads_later();
            let result = at.map(|at| self.result(&mut emitter.report, at, later));
            let mut result = result.transpose()?.flatten();
            if let Some(result) = &mut result {
                result.replacement = self.replacement(&call.id);
            }
            found.push((call, result));
        }
        Ok(found)
    }

    /// Writes results whose calls are in another file.
    fn write_orphans(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        blocks: &[usize],
        mut place: Place,
    ) -> Result<Ends, ImportError> {
        let mut ends = None;
        for block in blocks {
            let at = ResultAt {
                record: unit.records[0],
                block: *block,
            };
            let Some(result) = self.result(&mut emitter.report, at, false)? else {
                continue;
            };
            place.parent = emitter.orphan(&place, result)?;
            add_end(&mut ends, place.parent.clone());
        }
        Ok(ends)
    }
}

/// Writes all units, each after those that it stands under, and returns the report.
pub(crate) fn write_units(
    records: &Records,
    units: &Units,
    bodies: &impl WriteUnit,
    mut emitter: Emitter<'_>,
) -> Result<ImportReport, ImportError> {
    emitter.report.duplicates += units.extra_results;
    let mut written: Vec<Ends> = vec![None; units.list.len()];
    // A unit that is not mapped ends where the one above it ends.
    let mut last: Vec<Option<EntryId>> = vec![None; units.list.len()];
    let mut done = vec![false; units.list.len()];
    let mut order: Vec<usize> = (0..units.list.len()).collect();
    order.sort_by_key(|unit| units.list[*unit].records[0]);
    for unit in order {
        let mut chain = Vec::new();
        let mut at = Some(unit);
        while let Some(next) = at.filter(|next| !done[*next]) {
            chain.push(next);
            at = units.list[next].parent;
        }
        for index in chain.into_iter().rev() {
            let unit = &units.list[index];
            let above = unit.parent.and_then(|parent| match &written[parent] {
                Some((first, _)) if unit.is_subagent => Some(first.clone()),
                _ => last[parent].clone(),
            });
            let first = unit.records.first().map(|record| &records.list[*record]);
            let place = Place {
                parent: above.clone().unwrap_or_else(|| emitter.root.clone()),
                at: first.and_then(|record| record.at),
            };
            written[index] = bodies.write(&mut emitter, unit, place, &written)?;
            last[index] = written[index].clone().map(|(_, last)| last).or(above);
            done[index] = true;
        }
    }
    let leaf = units.leaf(records).and_then(|unit| last[unit].clone());
    let leaf = leaf.unwrap_or_else(|| emitter.root.clone());
    emitter.finish(&leaf)
}
