//! What a summary leaves out because the ledger next to it states it.

use std::collections::BTreeSet;

use session_model::EntryId;

use crate::ledger_block::{ActiveFacts, LedgerBlock, LedgerKind};

use super::fact_index::FactIndex;
use super::facts::{Facts, Item};
use super::figures::has_figure;
use super::text::{neutralise, one_line};

/// A section of which something is left to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The requests.
    Goal,
    /// The user's rules.
    Rules,
    /// Changed files.
    Done,
    /// Open todos.
    Doing,
    /// Commands that failed.
    Blocked,
    /// Decisions.
    Decisions,
    /// Next steps.
    Next,
}

/// Stands in a section all of which is in the ledger.
pub(super) const BELOW: &str = "(in the ledger below)";

/// Stands before what the user turned down.
pub(super) const TURNED_DOWN: &str = "(turned down) ";

/// Stands where the first request is in the ledger.
pub(super) const FIRST_BELOW: &str = "First request: in the ledger below.";

/// Opens what stands behind words whose figure was changed.
const SINCE: &str = " (changed since: ";

/// Returns what stands behind words whose figure was changed.
pub(crate) fn since(value: Option<&str>, id: &str) -> String {
    match value {
        Some(value) => format!("{SINCE}{value}, was said in {id})"),
        None => format!("{SINCE}see {id})"),
    }
}

impl ActiveFacts {
    /// Returns what holds of the messages that `record` was made from; `id` gives the entry of each.
    pub(crate) fn of(record: &FactIndex, id: impl Fn(usize) -> EntryId) -> Self {
        let failures = record.failures.iter();
        let figures = record.user_figures().chain(record.answered_figures());
        Self {
            failures: failures
                .map(|failure| one_line(&id(failure.place), 200))
                .collect(),
            todos: (!record.todo_calls.is_empty())
                .then(|| record.todos.iter().map(|todo| bare(&todo.text)).collect()),
            decisions: record
                .decisions()
                .map(|noted| letters(&noted.text))
                .collect(),
            figures: figures.map(|noted| bare(&noted.text)).collect(),
            refused: record
                .refused
                .iter()
                .map(|place| one_line(&id(*place), 200))
                .collect(),
            changed: record
                .changed()
                .into_iter()
                .map(|(place, change)| {
                    let by = one_line(&id(change.place), 200);
                    let since = since(change.value.as_deref(), &by);
                    (one_line(&id(place), 200), since)
                })
                .collect(),
        }
    }

    /// Returns whether a figure that the entry gives was changed later.
    pub(crate) fn is_changed(&self, id: &str) -> bool {
        self.changed.contains_key(id)
    }
}

impl Facts {
    /// Drops what was retracted since, also by messages of the kept range, which the summary does not cover.
    pub(super) fn drop_stale(&mut self, holds: &ActiveFacts) {
        self.failures
            .retain(|failure| holds.failures.contains(&failure.id));
        self.decisions
            .retain(|item| item.id.is_empty() || holds.decisions.contains(&letters(&item.text)));
        self.figures
            .retain(|item| item.id.is_empty() || holds.figures.contains(&bare(&item.text)));
        let rules = self.rules.iter_mut();
        let rules = rules.filter(|rule| has_figure(&rule.text));
        let listed = self.between.iter_mut().chain(rules);
        let listed = listed.map(|item| (&mut item.text, &item.id));
        let quoted = [&mut self.first, &mut self.latest].into_iter().flatten();
        let quoted = quoted.map(|request| (&mut request.text, &request.id));
        for (text, id) in listed.chain(quoted) {
            if let Some(since) = holds.changed.get(id) {
                let end = text.rfind(SINCE).filter(|_| text.ends_with(')'));
                text.truncate(end.unwrap_or(text.len()));
                text.push_str(since);
            }
        }
        if let Some(answer) = &mut self.answer
            && holds.refused.contains(&answer.id)
            && !answer.text.starts_with(TURNED_DOWN)
        {
            answer.text.insert_str(0, TURNED_DOWN);
        }
        if let Some(todos) = &holds.todos {
            self.open.retain(|text| todos.contains(&bare(text)));
        }
    }

    /// Drops what `ledger` contains verbatim.
    pub(super) fn dedupe(&mut self, ledger: &LedgerBlock) {
        let of = |kinds: &[LedgerKind]| -> BTreeSet<String> {
            let items = ledger
                .items
                .iter()
                .filter(|item| kinds.contains(&item.kind));
            items.map(|item| bare(&item.text)).collect()
        };
        let ids = |kinds: &[LedgerKind]| -> BTreeSet<String> {
            let items = ledger
                .items
                .iter()
                .filter(|item| kinds.contains(&item.kind));
            items.map(|item| one_line(&item.entry_id, 200)).collect()
        };
        let firsts = ids(&[LedgerKind::FirstMessage]);
        let said = ids(&[
            LedgerKind::FirstMessage,
            LedgerKind::LatestMessage,
            LedgerKind::Message,
        ]);
        let mut left = BTreeSet::new();
        if self
            .first
            .take_if(|first| said.contains(&first.id))
            .is_some()
        {
            left.insert(Part::Goal);
        }
        if self.first.is_none() && !firsts.is_empty() {
            self.first_in_ledger = true;
        }
        if self
            .latest
            .take_if(|latest| said.contains(&latest.id))
            .is_some()
        {
            left.insert(Part::Goal);
        }
        let mut drop = |part, list: &mut Vec<Item>, known: &dyn Fn(&Item) -> bool| {
            let before = list.len();
            list.retain(|item| !known(item));
            if list.len() < before {
                left.insert(part);
            }
        };
        drop(Part::Goal, &mut self.between, &|item| {
            said.contains(&item.id)
        });
        let rules = of(&[LedgerKind::Rule]);
        let kept: Vec<&String> = rules.iter().collect();
        let told = ids(&[LedgerKind::FirstMessage, LedgerKind::LatestMessage]);
        drop(Part::Rules, &mut self.rules, &|item| {
            let text = bare(&item.text);
            // A rule that was changed says so behind its words.
            told.contains(&item.id)
                || rules.contains(&text)
                || kept.iter().any(|rule| rule.starts_with(&text))
        });
        let decisions = ledger.items.iter();
        let decisions = decisions.filter(|item| item.kind == LedgerKind::Decision);
        let decisions: BTreeSet<String> = decisions.map(|item| letters(&item.text)).collect();
        drop(Part::Decisions, &mut self.decisions, &|item| {
            decisions.contains(&letters(&item.text))
        });
        let figures = of(&[LedgerKind::Figure]);
        self.figures
            .retain(|item| !figures.contains(&bare(&item.text)));
        let files: BTreeSet<&str> = ledger.files.iter().map(String::as_str).collect();
        let before = self.files.len();
        self.files
            .retain(|file| !files.contains(file.path.as_str()));
        if self.files.len() < before {
            left.insert(Part::Done);
        }
        let failures = ids(&[LedgerKind::Failure]);
        let before = self.failures.len();
        self.failures
            .retain(|failure| !failures.contains(&failure.id));
        if self.failures.len() < before {
            left.insert(Part::Blocked);
        }
        for (part, kind, list) in [
            (Part::Doing, LedgerKind::Todo, &mut self.open),
            (Part::Next, LedgerKind::NextStep, &mut self.next),
        ] {
            let known = of(&[kind, LedgerKind::Todo]);
            let before = list.len();
            list.retain(|text| !known.contains(&bare(text)));
            if list.len() < before {
                left.insert(part);
            }
        }
        self.in_ledger = left;
    }
}

/// Returns the first letters and digits of a decision, which both sides mark in their own ways.
fn letters(text: &str) -> String {
    let plain = text.replace("**", "");
    let lower = plain.to_lowercase();
    let bare = lower.strip_prefix("rejected: ").unwrap_or(&lower);
    bare.chars()
        .filter(|c| c.is_alphanumeric())
        .take(100)
        .collect()
}

/// Returns a text as both sides spell it.
fn bare(text: &str) -> String {
    neutralise(&text.replace("**", ""))
}
