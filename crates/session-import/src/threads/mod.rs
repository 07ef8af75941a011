//! Records that name their parents, as Claude Code and qwen-code write them: units, their tree, and the walk over it.

mod record;
mod tree;
mod units;

use session_model::EntryId;

use crate::emitter::{Emitter, Place};
use crate::error::ImportError;
use crate::report::ImportReport;

pub(crate) use record::{Boundary, Kind, Record, Records};
pub(crate) use units::{ResultAt, Unit, UnitKind, Units};

/// The first and the last entry that a unit was written as; none for a unit that is not mapped.
pub(crate) type Ends = Option<(EntryId, EntryId)>;

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
}

/// Adds an entry to the ends of a unit.
pub(crate) fn add_end(ends: &mut Ends, id: EntryId) {
    *ends = Some(match ends.take() {
        Some((first, _)) => (first, id),
        None => (id.clone(), id),
    });
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
    for unit in units.in_order() {
        let mut chain = Vec::new();
        let mut at = Some(unit);
        while let Some(next) = at.filter(|next| !done[*next]) {
            chain.push(next);
            at = units.list[next].parent;
        }
        for index in chain.into_iter().rev() {
            let unit = &units.list[index];
            let above = unit.parent.and_then(|parent| last[parent].clone());
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
    let leaf = units.leaf(records).map(|unit| units.with_tail(unit));
    let leaf = leaf.and_then(|unit| last[unit].clone());
    let leaf = leaf.unwrap_or_else(|| emitter.root.clone());
    emitter.finish(&leaf)
}
