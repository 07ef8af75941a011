//! Units: the records that become one entry, or an answer with its results; and the tree that they form.

use std::collections::HashMap;

use session_model::Diagnostics;

use super::record::{Kind, Record, Records};

/// A result: the record that has it, and which of its results it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultAt {
    pub record: usize,
    pub block: usize,
}

/// What a unit is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// The lines of one answer, and for each of its calls the result.
    Answer { results: Vec<Option<ResultAt>> },
    /// A message with the role of the user.
    Message,
    /// Context that the program added.
    Attachment,
    /// Results whose calls are not in the file.
    Orphan { blocks: Vec<usize> },
    /// A compaction with the record of its summary.
    Compaction { summary: Option<usize>, kept: Kept },
}

/// What a compaction kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    None,
    /// What begins with this unit.
    From(usize),
    /// What is before it; the summary is of what was behind that, up to this unit.
    Before(Option<usize>),
}

impl UnitKind {
    /// A compaction whose summary is not known yet.
    const COMPACTION: Self = Self::Compaction {
        summary: None,
        kept: Kept::None,
    };
}

/// Records that are written together.
#[derive(Debug)]
pub(crate) struct Unit {
    pub kind: UnitKind,
    pub records: Vec<usize>,
    /// The unit that it stands under, once all are known.
    pub parent: Option<usize>,
    /// It begins the branch of a subagent, under the answer that called it and not behind the results of that.
    pub is_subagent: bool,
}

/// The calls with each id, in their order: the unit, and the place among its calls. Some services count calls from zero in
/// every answer.
type Calls<'a> = HashMap<&'a str, Vec<(usize, usize)>>;

/// All units.
pub(crate) struct Units {
    pub list: Vec<Unit>,
    /// The unit of each record; none for links.
    pub of_record: Vec<Option<usize>>,
    /// The newest unit of the chain of each record, which what follows the record follows.
    pub newest: Vec<Option<usize>>,
    /// How many results there are of calls that have one already.
    pub extra_results: u64,
}

impl Units {
    pub fn of(records: &Records, diagnostics: &mut Diagnostics) -> Self {
        let mut units = Self {
            list: Vec::new(),
            of_record: vec![None; records.list.len()],
            newest: Vec::new(),
            extra_results: 0,
        };
        units.group(records);
        units.link(records, diagnostics);
        units
    }

    fn add(&mut self, kind: UnitKind, record: usize) -> usize {
        self.list.push(Unit {
            kind,
            records: vec![record],
            parent: None,
            is_subagent: false,
        });
        self.of_record[record] = Some(self.list.len() - 1);
        self.list.len() - 1
    }

    /// Groups the lines of answers, and gives each result to the answer that called.
    fn group(&mut self, records: &Records) {
        let mut answers: HashMap<&str, usize> = HashMap::new();
        let mut calls: Calls<'_> = HashMap::new();
        let mut with_results = Vec::new();
        let mut open: Option<usize> = None;
        for (index, record) in records.list.iter().enumerate() {
            match &record.kind {
                Kind::Answer {
                    message_id,
                    calls: own,
                } => {
                    let known = message_id
                        .as_deref()
                        .and_then(|id| answers.get(id).copied());
                    let unit = match known {
                        Some(unit) => {
                            self.list[unit].records.push(index);
                            self.of_record[index] = Some(unit);
                            unit
                        }
                        None => {
                            let results = Vec::new();
                            self.add(UnitKind::Answer { results }, index)
                        }
                    };
                    if let Some(id) = message_id.as_deref() {
                        answers.insert(id, unit);
                    }
                    if let UnitKind::Answer { results } = &mut self.list[unit].kind {
                        for call in own {
                            let known = calls.entry(call).or_default();
                            if known.last().is_none_or(|(other, _)| *other != unit) {
                                known.push((unit, results.len()));
                                results.push(None);
                            }
                        }
                    }
                }
                Kind::User { results, has_more } => match results.is_empty() {
                    true if *has_more => {
                        self.add(UnitKind::Message, index);
                    }
                    true => {}
                    false => with_results.push(index),
                },
                Kind::Boundary => {
                    open = Some(self.add(UnitKind::COMPACTION, index));
                }
                Kind::Summary => {
                    // That of the boundary that it names, or of the one before it.
                    let named = records.find(record.parent.as_deref());
                    let named = named.and_then(|named| self.of_record[named]);
                    let is_open = |unit: &usize| self.list[*unit].kind == UnitKind::COMPACTION;
                    let unit = named.filter(is_open).or(open.take().filter(is_open));
                    let unit = unit.unwrap_or_else(|| self.add(UnitKind::COMPACTION, index));
                    let found = &mut self.list[unit];
                    if found.records[0] != index {
                        found.records.push(index);
                    }
                    found.kind = UnitKind::Compaction {
                        summary: Some(index),
                        kept: Kept::None,
                    };
                    self.of_record[index] = Some(unit);
                }
                Kind::Attachment => {
                    self.add(UnitKind::Attachment, index);
                }
                Kind::Progress | Kind::Link => {}
            }
        }
        for index in with_results {
            self.take_results(records, index, &calls);
        }
        for unit in &mut self.list {
            let agent = records.list[unit.records[0]].subagent.as_ref();
            let calls = agent.and_then(|agent| calls.get(agent.call.as_deref()?));
            if let Some((caller, _)) = calls.and_then(|calls| calls.first()) {
                unit.parent = Some(*caller);
                unit.is_subagent = true;
            }
        }
    }

    fn take_results(&mut self, records: &Records, index: usize, calls: &Calls<'_>) {
        let record = &records.list[index];
        let Kind::User { results, has_more } = &record.kind else {
            return;
        };
        let mut orphans = Vec::new();
        let mut owner = None;
        for (block, id) in results.iter().enumerate() {
            let named = id.as_deref().and_then(|id| calls.get(id));
            let named = named.and_then(|calls| self.nearest(records, index, calls));
            let free = named
                .filter(|(unit, call)| self.is_free(*unit, *call))
                .or_else(|| self.free_call(records, record).filter(|_| named.is_none()));
            owner = owner.or(named.or(free).map(|(unit, _)| unit));
            match free {
                Some((unit, call)) => {
                    if let UnitKind::Answer { results } = &mut self.list[unit].kind {
                        results[call] = Some(ResultAt {
                            record: index,
                            block,
                        });
                    }
                }
                None if named.is_none() => orphans.push(block),
                None => self.extra_results += 1,
            }
        }
        self.of_record[index] = owner;
        let mut orphan = None;
        if !orphans.is_empty() {
            orphan = Some(self.add(UnitKind::Orphan { blocks: orphans }, index));
        }
        if *has_more {
            let message = self.add(UnitKind::Message, index);
            self.list[message].parent = orphan;
        }
    }

    /// Returns which of the calls with one id a result is of: that of the answer that its record follows, else the last
    /// one before it without a result, else the last one before it.
    fn nearest(
        &self,
        records: &Records,
        index: usize,
        calls: &[(usize, usize)],
    ) -> Option<(usize, usize)> {
        let above = records.find(records.list[index].parent.as_deref());
        let above = above.and_then(|above| self.of_record[above]);
        let followed = calls.iter().find(|(unit, _)| Some(*unit) == above);
        let before = |call: &&(usize, usize)| self.list[call.0].records[0] < index;
        let before = || calls.iter().rev().filter(before);
        let found = followed
            .or_else(|| before().find(|(unit, call)| self.is_free(*unit, *call)))
            .or_else(|| before().next());
        found.or(calls.first()).copied()
    }

    fn is_free(&self, unit: usize, call: usize) -> bool {
        match &self.list[unit].kind {
            UnitKind::Answer { results } => results.get(call) == Some(&None),
            _ => false,
        }
    }

    /// Returns the first call without a result of the answer that a record names as its source.
    fn free_call(&self, records: &Records, record: &Record) -> Option<(usize, usize)> {
        let unit = self.of_record[records.find(record.source.as_deref())?]?;
        match &self.list[unit].kind {
            UnitKind::Answer { results } => {
                let call = results.iter().position(Option::is_none)?;
                Some((unit, call))
            }
            _ => None,
        }
    }
}
