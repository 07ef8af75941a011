//! The tree that units form: parents, what stands between the lines of an answer, rings, compactions, the leaf.

use std::collections::BTreeMap;

use session_model::{Diagnostic, DiagnosticKind, Diagnostics, Severity};

use super::record::{Kind, Records};
use super::units::{UnitKind, Units};

/// What stands before a record in the file.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    /// The newest unit.
    unit: Option<usize>,
    /// The record that began the turn.
    turn: usize,
}

impl Units {
    /// Returns the units in the order of their first records.
    pub fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|unit| self.list[*unit].records[0]);
        order
    }

    /// Sets the parents as the records name them.
    pub(crate) fn link(&mut self, records: &Records, diagnostics: &mut Diagnostics) {
        let resolved = self.resolve(records);
        for record in &records.list {
            let is_lost = |id: &str| !records.by_uuid.contains_key(id);
            if record.parent.as_deref().is_some_and(is_lost) {
                let text = "its parent is not in the file; joined to the record before it";
                let said = Diagnostic::new(Severity::Note, DiagnosticKind::MissingParent, text);
                diagnostics.push(said.at_line(record.line));
            }
        }
        // The compaction whose kept messages end with this record, while it is the newest.
        let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
        // The newest unit before, in the main chain and in side chains.
        let mut newest = [None, None];
        for unit in self.in_order() {
            let index = self.list[unit].records[0];
            let record = &records.list[index];
            let side = usize::from(record.is_sidechain);
            let own = self.of_record[index];
            let mut parent = match (&record.parent, own) {
                // What a record of results has in addition stands under the answer whose results it has.
                (_, Some(own)) if own != unit => Some(own),
                (None, _) => None,
                (Some(id), _) => match records.by_uuid.get(id) {
                    Some(above) => resolved[*above],
                    None => newest[side],
                },
            };
            if let Some(compaction) = record.parent.as_deref().and_then(|id| ends.get(id)) {
                parent = Some(*compaction);
            }
            if let UnitKind::Compaction { summary, .. } = self.list[unit].kind {
                let boundary = record.boundary.as_deref();
                let logical = boundary.and_then(|boundary| boundary.logical_parent.as_deref());
                let logical = logical.and_then(|id| records.by_uuid.get(id));
                let above = summary.and_then(|summary| records.list[summary].parent.as_deref());
                let above = above.and_then(|id| records.by_uuid.get(id));
                let found = [logical, above].into_iter().flatten();
                let mut found = found.filter_map(|index| resolved[*index]);
                let before = found.find(|found| *found != unit).or(newest[side]);
                parent = before;
                if let Some(tail) = boundary.and_then(|boundary| boundary.tail.as_deref()) {
                    ends.clear();
                    ends.insert(tail, unit);
                }
            }
            if matches!(self.list[unit].kind, UnitKind::Retraction { .. }) {
                parent = parent.or(newest[side]);
            }
            self.list[unit].parent = parent.filter(|parent| *parent != unit);
            newest[side] = Some(unit);
        }
    }

    /// Returns for each record its unit, or that of the nearest record above which has one. Above a parent that is missing,
    /// and above what a hook reported later in the turn that it hangs on, is the record before in the file.
    fn resolve(&self, records: &Records) -> Vec<Option<usize>> {
        let before = self.units_before(records);
        let mut resolved: Vec<Option<Option<usize>>> = vec![None; records.list.len()];
        for start in 0..records.list.len() {
            let mut chain = Vec::new();
            let mut at = Some(start);
            let found = loop {
                let Some(index) = at else { break None };
                if let Some(known) = resolved[index] {
                    break known;
                }
                // A ring of links leads nowhere.
                resolved[index] = Some(None);
                chain.push(index);
                if let Some(unit) = self.of_record[index] {
                    break Some(unit);
                }
                let Some(parent) = records.list[index].parent.as_deref() else {
                    break None;
                };
                at = records.by_uuid.get(parent).copied();
                if at.is_none() {
                    break before[index].unit;
                }
            };
            let mut found = found;
            for index in chain.into_iter().rev() {
                let before = &before[index];
                let in_turn = |unit: usize| self.list[unit].records[0] >= before.turn;
                if records.list[index].kind == Kind::Progress && found.is_some_and(in_turn) {
                    found = before.unit;
                }
                resolved[index] = Some(found);
            }
        }
        resolved.into_iter().map(Option::flatten).collect()
    }

    /// Returns for each record what stands before it in the file, in the main chain or in side chains as it does.
    fn units_before(&self, records: &Records) -> Vec<Before> {
        let mut newest = [Before::default(); 2];
        let records = records.list.iter().enumerate();
        let before = records.map(|(index, record)| {
            let newest = &mut newest[usize::from(record.is_sidechain)];
            let before = *newest;
            newest.unit = self.of_record[index].or(newest.unit);
            let unit = self.of_record[index].map(|unit| &self.list[unit].kind);
            if matches!(unit, Some(UnitKind::Message)) {
                newest.turn = index;
            }
            before
        });
        before.collect()
    }

    /// Puts what stands between the lines of an answer behind its results, and what follows the answer behind that.
    pub(crate) fn thread_interleaved(&mut self, records: &Records) {
        let resolved = self.resolve(records);
        for unit in 0..self.list.len() {
            if !matches!(self.list[unit].kind, UnitKind::Answer { .. }) {
                continue;
            }
            let lines = self.list[unit].records.clone();
            for line in lines.into_iter().skip(1) {
                let parent = records.list[line].parent.as_deref();
                let parent = parent.and_then(|id| records.by_uuid.get(id));
                let Some(last) = parent.and_then(|index| resolved[*index]) else {
                    continue;
                };
                let Some(top) = self.child_on_way(unit, last) else {
                    continue;
                };
                if let Some(tail) = self.tails.insert(unit, last)
                    && tail != last
                {
                    self.list[top].parent = Some(tail);
                }
            }
        }
    }

    /// Returns the child of `above` on the way down to `below`, or `None` where `below` does not stand under it.
    fn child_on_way(&self, above: usize, below: usize) -> Option<usize> {
        let mut at = below;
        // What stands between two lines of one answer is little.
        for _ in 0..64 {
            let parent = self.list[at].parent?;
            if parent == above {
                return Some(at).filter(|at| *at != above);
            }
            at = parent;
        }
        None
    }

    /// Returns the unit behind which comes what follows `unit`.
    pub fn with_tail(&self, unit: usize) -> usize {
        let mut at = unit;
        for _ in 0..64 {
            match self.tails.get(&at) {
                Some(tail) if *tail != at => at = *tail,
                _ => break,
            }
        }
        at
    }

    /// Moves what follows an answer behind its tail, cuts rings, and finds what compactions kept.
    pub(crate) fn settle(&mut self, records: &Records, diagnostics: &mut Diagnostics) {
        let within: Vec<bool> = {
            let mut within = vec![false; self.list.len()];
            for (above, tail) in &self.tails {
                let mut at = *tail;
                for _ in 0..4096 {
                    if at == *above || within[at] {
                        break;
                    }
                    within[at] = true;
                    let Some(parent) = self.list[at].parent else {
                        break;
                    };
                    at = parent;
                }
            }
            within
        };
        for (unit, is_within) in within.into_iter().enumerate() {
            if let Some(parent) = self.list[unit].parent.filter(|_| !is_within) {
                self.list[unit].parent = Some(self.with_tail(parent));
            }
        }
        self.cut_rings(records, diagnostics);
        for unit in 0..self.list.len() {
            match &self.list[unit].kind {
                UnitKind::Compaction { summary, .. } => {
                    let kept = self.kept_by(records, unit);
                    let summary = *summary;
                    self.list[unit].kind = UnitKind::Compaction { summary, kept };
                }
                UnitKind::Retraction { .. } => {
                    let record = &records.list[self.list[unit].records[0]];
                    if let Kind::Retraction(ids) = &record.kind {
                        let found = ids.iter().filter_map(|id| records.by_uuid.get(id));
                        let mut targets: Vec<_> =
                            found.filter_map(|index| self.of_record[*index]).collect();
                        targets.dedup();
                        self.list[unit].kind = UnitKind::Retraction { targets };
                    }
                }
                _ => {}
            }
        }
    }

    fn cut_rings(&mut self, records: &Records, diagnostics: &mut Diagnostics) {
        // 0: not seen; 1: on the way; 2: leads to a root.
        let mut seen = vec![0_u8; self.list.len()];
        for start in 0..self.list.len() {
            let mut chain = Vec::new();
            let mut at = Some(start);
            while let Some(unit) = at.filter(|unit| seen[*unit] == 0) {
                seen[unit] = 1;
                chain.push(unit);
                at = self.list[unit].parent;
            }
            if let (Some(unit), Some(last)) = (at, chain.last())
                && seen[unit] == 1
            {
                self.list[*last].parent = None;
                let text = "its parents form a ring; it is a root now";
                let said = Diagnostic::new(Severity::Warning, DiagnosticKind::ParentCycle, text);
                let record = self.list[*last].records[0];
                diagnostics.push(said.at_line(records.list[record].line));
            }
            for unit in chain {
                seen[unit] = 2;
            }
        }
    }

    /// Returns the unit nearest to the root, on the path of a compaction, which it kept.
    fn kept_by(&self, records: &Records, compaction: usize) -> Option<usize> {
        let record = &records.list[self.list[compaction].records[0]];
        let boundary = record.boundary.as_deref()?;
        let kept = boundary.preserved.iter();
        let kept = kept.filter_map(|id| records.by_uuid.get(id).copied());
        let kept: Vec<usize> = kept.filter_map(|index| self.of_record[index]).collect();
        let (mut found, mut left) = (None, kept.len());
        let mut at = self.list[compaction].parent;
        while let Some(unit) = at.filter(|_| left > 0) {
            if matches!(self.list[unit].kind, UnitKind::Compaction { .. }) {
                break;
            }
            if kept.contains(&unit) {
                found = Some(unit);
                left -= 1;
            }
            at = self.list[unit].parent;
        }
        found
    }

    /// Returns the unit at which the session stands.
    pub fn leaf(&self, records: &Records) -> Option<usize> {
        let chosen = records
            .leaf
            .as_deref()
            .and_then(|id| records.by_uuid.get(id));
        if let Some(unit) = chosen.and_then(|index| self.resolve(records)[*index]) {
            return Some(unit);
        }
        let only_sidechain = records.only_sidechain();
        let mut records = records.list.iter().enumerate().rev();
        records.find_map(|(index, record)| {
            let unit = self.of_record[index]?;
            (only_sidechain || !record.is_sidechain).then_some(unit)
        })
    }
}
