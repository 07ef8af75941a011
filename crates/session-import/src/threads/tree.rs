//! The tree that units form: what each record follows, segments between compactions, rings, the leaf.

use std::collections::HashMap;

use session_model::{Diagnostic, DiagnosticKind, Diagnostics, Severity};

use super::record::{Boundary, Kind, Records};
use super::units::{Kept, UnitKind, Units};

/// What the file has before a record, in the main chain or in side chains as the record is.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    record: Option<usize>,
    /// The newest unit.
    unit: Option<usize>,
    /// The record that began the turn.
    turn: usize,
}

/// The record above each record, while compactions change what later ones follow.
#[derive(Default)]
struct Parents {
    above: Vec<Option<usize>>,
    /// What a later record follows that names this one.
    moved: HashMap<usize, usize>,
    /// The first record that a compaction kept and that is behind it, with what it follows.
    heads: HashMap<usize, usize>,
}

impl Units {
    /// Sets the parents of all units, and what compactions kept.
    pub(super) fn link(&mut self, records: &Records, diagnostics: &mut Diagnostics) {
        let before = self.before(records);
        let above = self.parents(records, &before, diagnostics);
        self.newest = self.newest(records, &above, &before);
        for unit in 0..self.list.len() {
            let index = self.list[unit].records[0];
            if self.list[unit].parent.is_some() {
                continue;
            }
            let mut parent = above[index].and_then(|above| self.newest[above]);
            if records.list[index].kind == Kind::Attachment {
                parent = self.joined(parent, before[index]);
            }
            self.list[unit].parent = parent.filter(|parent| *parent != unit);
        }
        self.cut_rings(records, diagnostics);
        for unit in 0..self.list.len() {
            self.find_kept(records, unit);
        }
    }

    /// Returns for each record what is before it.
    fn before(&self, records: &Records) -> Vec<Before> {
        let mut newest = [Before::default(); 3];
        let records = records.list.iter().enumerate();
        let before = records.map(|(index, record)| {
            let newest = &mut newest[match &record.subagent {
                Some(_) => 2,
                None => usize::from(record.is_sidechain),
            }];
            let before = *newest;
            newest.record = Some(index);
            newest.unit = self.of_record[index].or(newest.unit);
            let unit = self.of_record[index].map(|unit| &self.list[unit].kind);
            if matches!(unit, Some(UnitKind::Message)) {
                newest.turn = index;
            }
            before
        });
        before.collect()
    }

    /// Returns the record above each: the one that it names, if that is in the file, else the one before.
    fn parents(
        &mut self,
        records: &Records,
        before: &[Before],
        diagnostics: &mut Diagnostics,
    ) -> Vec<Option<usize>> {
        let mut parents = Parents::default();
        for (index, record) in records.list.iter().enumerate() {
            let mut report = |severity, text: &str| {
                let said = Diagnostic::new(severity, DiagnosticKind::MissingParent, text);
                diagnostics.push(said.at_line(record.line));
            };
            let is_compaction = matches!(record.kind, Kind::Boundary | Kind::Summary);
            let boundary = record.boundary.as_deref();
            let logical = boundary.and_then(|boundary| boundary.logical_parent.as_deref());
            // In a fork, the newest message before is written again behind the boundary.
            let logical = records.find(logical).filter(|before| *before < index);
            let named = logical.or(records.find(record.parent.as_deref()));
            if named.is_none() && record.parent.is_some() {
                let text = "its parent is not in the file; joined to the record before it";
                report(Severity::Note, text);
            }
            let joins = named.is_none() && (record.parent.is_some() || is_compaction);
            let above = named.or(before[index].record.filter(|_| joins));
            let moved = above.and_then(|above| parents.moved.get(&above).copied());
            let head = parents.heads.get(&index).copied();
            parents.above.push(head.or(moved).or(above));
            let Some(boundary) = boundary else { continue };
            let lost = boundary.preserved.iter();
            let lost = lost.filter(|id| records.find(Some(id)).is_none()).count();
            if lost > 0 {
                let text = format!(
                    "{lost} of the messages that this compaction kept are not in the file; the context here lacks them"
                );
                report(Severity::Warning, &text);
            }
            self.begin_segment(records, index, boundary, &mut parents);
        }
        parents.above
    }

    /// Joins what follows a compaction to its summary, or to what it kept behind that.
    fn begin_segment(
        &mut self,
        records: &Records,
        index: usize,
        boundary: &Boundary,
        parents: &mut Parents,
    ) {
        let find = |id: &Option<Box<str>>| records.find(id.as_deref());
        let (Some(unit), Some(tail)) = (self.of_record[index], find(&boundary.tail)) else {
            return;
        };
        let unit = &mut self.list[unit];
        let UnitKind::Compaction { summary, kept } = &mut unit.kind else {
            return;
        };
        let mut anchor = summary.unwrap_or(index);
        let keeps_before = find(&boundary.anchor) == Some(index) && *summary != Some(index);
        if let Some(summary) = summary.filter(|_| keeps_before) {
            // The summary is of what follows the kept messages: it comes behind them.
            *kept = Kept::Before(parents.above[index].and_then(|left| self.of_record[left]));
            unit.records = vec![summary, index];
            self.of_record[index] = None;
            parents.above[index] = None;
            anchor = index;
        }
        if tail > index {
            parents.moved.insert(anchor, tail);
            if let Some(head) = find(&boundary.head).filter(|head| *head > index) {
                parents.heads.insert(head, anchor);
            }
        } else if keeps_before {
            parents.moved.insert(index, tail);
        } else {
            let known = boundary.preserved.iter();
            let known = known.filter_map(|id| records.find(Some(id)));
            let known = known.filter(|known| *known < index);
            parents
                .moved
                .extend(known.chain([tail]).map(|known| (known, index)));
        }
    }

    /// Returns for each record the newest unit of its chain: its own, or a later one that stands between the lines of an
    /// answer.
    fn newest(
        &self,
        records: &Records,
        above: &[Option<usize>],
        before: &[Before],
    ) -> Vec<Option<usize>> {
        let first = |unit: usize| self.list[unit].records[0];
        let mut newest: Vec<Option<Option<usize>>> = vec![None; records.list.len()];
        for start in 0..records.list.len() {
            let mut chain = Vec::new();
            let mut at = Some(start);
            let mut found = loop {
                let Some(index) = at else { break None };
                if let Some(known) = newest[index] {
                    break known;
                }
                // A ring of records leads nowhere.
                newest[index] = Some(None);
                chain.push(index);
                let own = self.of_record[index];
                if own.is_some_and(|own| first(own) == index) {
                    break own;
                }
                at = above[index];
            };
            for index in chain.into_iter().rev() {
                found = match self.of_record[index] {
                    Some(own) => found
                        .filter(|found| first(*found) > first(own))
                        .or(Some(own)),
                    None if records.list[index].kind == Kind::Progress => {
                        self.joined(found, before[index])
                    }
                    None => found,
                };
                newest[index] = Some(found);
            }
        }
        newest.into_iter().map(Option::flatten).collect()
    }

    /// Returns what a record follows that the program writes when a hook ends: the newest unit, if the one that it names
    /// is of the same turn.
    fn joined(&self, named: Option<usize>, before: Before) -> Option<usize> {
        let in_turn = |unit: usize| self.list[unit].records[0] >= before.turn;
        match named.is_some_and(in_turn) {
            true => before.unit,
            false => named,
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

    /// Finds the unit nearest to the root, on the path of a compaction, which it kept.
    fn find_kept(&mut self, records: &Records, compaction: usize) {
        let unit = &self.list[compaction];
        let UnitKind::Compaction {
            kept: Kept::None, ..
        } = unit.kind
        else {
            return;
        };
        let Some(boundary) = records.list[unit.records[0]].boundary.as_deref() else {
            return;
        };
        let kept = boundary.preserved.iter();
        let kept = kept.filter_map(|id| self.of_record[records.find(Some(id))?]);
        let is_message =
            |unit: &usize| !matches!(self.list[*unit].kind, UnitKind::Compaction { .. });
        let mut kept: Vec<usize> = kept.filter(is_message).collect();
        kept.sort_unstable_by_key(|unit| self.list[*unit].records[0]);
        kept.dedup();
        let Some(first) = kept.first().map(|unit| self.list[*unit].records[0]) else {
            return;
        };
        let (mut found, mut at) = (None, unit.parent);
        while let Some(unit) = at.filter(|unit| self.list[*unit].records[0] >= first) {
            if kept.contains(&unit) {
                found = Some(unit);
            }
            at = self.list[unit].parent;
        }
        if let UnitKind::Compaction { kept, .. } = &mut self.list[compaction].kind {
            *kept = found.map_or(Kept::None, Kept::From);
        }
    }

    /// Returns the unit at which the session stands.
    pub fn leaf(&self, records: &Records) -> Option<usize> {
        let chosen = records.find(records.leaf.as_deref());
        if let Some(unit) = chosen.and_then(|index| self.newest[index]) {
            return Some(unit);
        }
        let only_sidechain = records.only_sidechain();
        let mut records = records.list.iter().enumerate().rev();
        records.find_map(|(index, record)| {
            self.of_record[index]?;
            let is_own = record.subagent.is_none() && (only_sidechain || !record.is_sidechain);
            self.newest[index].filter(|_| is_own)
        })
    }
}
