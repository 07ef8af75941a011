//! Builds a ledger from messages: which facts are out of context, and which entries they come from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use session_model::{EntryBody, EntryId, SessionContext, SessionPath};

use crate::ledger::gather::{Gathered, gather, handed_on};
use crate::ledger::lines::{one_name, shown_id};
use crate::ledger::{Ledger, LedgerItem, LedgerKind, Pin, pins_of};
use crate::ledger_block::prose_of;
use session_facts::{
    Change, FactIndex, Noted, Prose, ShortForm, SourceMessage, Spoken, brief_decision,
    brief_figure, brief_step, message_starts, record, without_pasted,
};

/// The most entries that a ledger names as its sources.
const SOURCES: usize = 4096;
/// The mark behind a failure that the summary calls fixed, though no later success was seen.
const SAID_FIXED: &str = " (fixed, as the summary says)";

/// The facts of a path, read in one pass, wherever its context is cut.
pub struct PathFacts {
    gathered: Gathered,
    record: FactIndex,
    pins: Vec<Pin>,
    handed: Vec<LedgerItem>,
}

impl PathFacts {
    /// Reads the facts of `path`.
    pub fn of(path: &SessionPath<'_>, context: &SessionContext) -> Self {
        let gathered = gather(path, context);
        let cwd = path.tree().header().map_or("", |header| &header.cwd);
        Self {
            record: record(&gathered.messages, cwd, prose_of),
            gathered,
            pins: pins_of(path),
            handed: handed_on(path),
        }
    }

    /// Returns those that are not verbatim in a context whose kept range begins at the place `first_kept` of
    /// `context.entries` (its length for none), and in which these entries of the kept range are shortened. What is kept
    /// still shows what is resolved.
    pub(crate) fn ledger(
        &self,
        context: &SessionContext,
        first_kept: usize,
        shortened: &BTreeSet<EntryId>,
    ) -> Ledger {
        let mut in_context = in_context(context, first_kept);
        in_context.retain(|id| !shortened.contains(id));
        let mut ledger = Ledger {
            listed: self.gathered.listed.clone(),
            read_from: self.gathered.read_from.clone(),
            ..Ledger::default()
        };
        let pins = self.pins.iter().rev();
        for pin in pins.filter(|pin| !in_context.contains(&pin.entry_id)) {
            ledger.add(LedgerKind::Pin, pin.entry_id.clone(), pin.text.clone());
        }
        let builder = Builder {
            messages: &self.gathered.messages,
            in_context: &in_context,
            ledger,
        };
        let mut ledger = builder.build(&self.record);
        // What was handed on is older than all of it.
        let known: BTreeSet<&String> = ledger.items.iter().map(|item| &item.text).collect();
        let handed = self.handed.iter();
        let handed = handed.filter(|item| !in_context.contains(&item.entry_id));
        let handed = handed.filter(|item| !known.contains(&item.text)).cloned();
        let handed: Vec<LedgerItem> = handed.collect();
        let is_first = |item: &LedgerItem| item.kind == LedgerKind::FirstMessage;
        if handed.iter().any(is_first) {
            ledger.first_is_a_message();
        }
        ledger.items.extend(handed);
        ledger
    }
}

impl Ledger {
    /// Returns the facts of `path` that are not verbatim in a context whose kept range begins at the place
    /// `first_kept` of `context.entries` (its length for none). What is kept still shows what is resolved.
    pub fn of(path: &SessionPath<'_>, context: &SessionContext, first_kept: usize) -> Self {
        PathFacts::of(path, context).ledger(context, first_kept, &BTreeSet::new())
    }

    /// Returns the facts of these messages, all of which are out of context.
    pub(crate) fn of_messages(messages: &[SourceMessage], cwd: &str) -> Self {
        let builder = Builder {
            messages,
            in_context: &BTreeSet::new(),
            ledger: Self::default(),
        };
        builder.build(&record(messages, cwd, prose_of))
    }

    /// Returns what is said behind a message.
    pub(crate) fn remark(&self, id: &EntryId) -> &str {
        self.remarks.get(id).map_or("", String::as_str)
    }

    /// Returns the place of an entry among those that facts come from.
    pub(crate) fn place(&self, id: &EntryId) -> usize {
        self.places.get(id).copied().unwrap_or_default()
    }

    /// Returns it without what this prose of a model says: rules in the same words, steps, decisions and figures in any.
    pub(crate) fn lacking(&self, prose: &str) -> Self {
        let prose = Prose::of(prose);
        let mut ledger = self.without(|item| match item.kind {
            LedgerKind::Rule => prose.quotes(&item.text),
            LedgerKind::NextStep | LedgerKind::Decision | LedgerKind::Figure => {
                prose.quotes(&item.text) || prose.says(&item.text)
            }
            _ => false,
        });
        ledger.mark_fixed(|failure| prose.says_fixed(failure));
        ledger
    }

    /// Marks the failures that the summary calls fixed, and puts them behind the others.
    fn mark_fixed(&mut self, is_fixed: impl Fn(&str) -> bool) {
        let failures = self.items.iter_mut();
        for item in failures.filter(|item| item.kind == LedgerKind::Failure) {
            let brief = self.brief.get(&item.text).cloned();
            let told = brief.as_deref().unwrap_or(&item.text);
            let printed = told.split_once("`: ").map(|(_, printed)| printed);
            if !is_fixed(printed.unwrap_or(told)) {
                continue;
            }
            let text = format!("{}{SAID_FIXED}", item.text);
            if let Some(brief) = brief {
                self.brief
                    .insert(text.clone(), format!("{brief}{SAID_FIXED}"));
            }
            self.ranks.insert(text.clone(), 1);
            item.text = text;
        }
    }

    /// Returns it without what a log quotes. Rules stand in the ledger in any case: there they are read as rules.
    pub(crate) fn lacking_in_log(&self, log: &str) -> Self {
        let quoted = Prose::of(log);
        let mut rules: BTreeMap<&EntryId, Vec<String>> = BTreeMap::new();
        for item in self.items.iter().filter(|it| it.kind == LedgerKind::Rule) {
            rules
                .entry(&item.entry_id)
                .or_default()
                .push(item.text.clone());
        }
        self.without(|item| match item.kind.is_message() {
            true => {
                let rules = rules.get(&item.entry_id).map_or(&[][..], Vec::as_slice);
                let starts = message_starts(&item.text, rules);
                starts.iter().any(|start| quoted.quotes(start))
            }
            false => {
                matches!(item.kind, LedgerKind::Decision | LedgerKind::Figure)
                    && quoted.quotes(&item.text)
            }
        })
    }

    /// Returns what of it a log does not tell in its own way: no messages and, where that has room for them (`tells_all`),
    /// no figures or choices.
    pub(crate) fn next_to_log(&self, tells_all: bool) -> Self {
        let logged = [LedgerKind::Decision, LedgerKind::Figure];
        self.without(|item| item.kind.is_message() || tells_all && logged.contains(&item.kind))
    }

    fn without(&self, is_known: impl Fn(&LedgerItem) -> bool) -> Self {
        let mut ledger = self.clone();
        ledger.items.retain(|item| !is_known(item));
        ledger
    }

    /// Makes the first message one among the others: work that goes on began with that of the session before.
    fn first_is_a_message(&mut self) {
        let own = self.items.iter_mut();
        for item in own.filter(|item| item.kind == LedgerKind::FirstMessage) {
            item.kind = LedgerKind::Message;
        }
    }

    fn add(&mut self, kind: LedgerKind, entry_id: EntryId, text: String) {
        self.items.push(LedgerItem {
            kind,
            entry_id,
            text,
        });
    }
}

/// What is told as one kind, so that no other kind tells it again.
#[derive(Default)]
struct Said<'a>(BTreeMap<usize, Vec<&'a str>>);

impl<'a> Said<'a> {
    fn add(&mut self, noted: &'a Noted) {
        self.0.entry(noted.place).or_default().push(&noted.text);
    }

    fn has(&self, noted: &Noted) -> bool {
        let text = noted.text.trim_end_matches('…');
        let mut known = self.0.get(&noted.place).into_iter().flatten();
        known.any(|known| known.contains(text))
    }
}

/// Returns the entries that stay as they were written.
fn in_context(context: &SessionContext, first_kept: usize) -> BTreeSet<EntryId> {
    let entries = &context.entries;
    let edited = entries
        .iter()
        .filter_map(|projected| match &projected.entry.body {
            EntryBody::ContextEdit { target, .. } => Some(target),
            _ => None,
        });
    let edited: BTreeSet<&EntryId> = edited.collect();
    let kept = entries.iter().skip(first_kept);
    kept.filter(|projected| !projected.messages.is_empty())
        .map(|projected| &projected.entry.id)
        .filter(|id| !edited.contains(id))
        .cloned()
        .collect()
}

struct Builder<'a> {
    messages: &'a [SourceMessage],
    in_context: &'a BTreeSet<EntryId>,
    ledger: Ledger,
}

impl Builder<'_> {
    fn build(mut self, record: &FactIndex) -> Ledger {
        let first = first_of(&record.spoken).map(|spoken| spoken.place);
        let latest = record.spoken.iter().rev().find(|spoken| !spoken.tiny);
        let latest = latest.map(|spoken| spoken.place);
        let changed = record.changed();
        for rule in record.rules.iter().rev() {
            let change = rule.changed.as_ref();
            let change = change.map(|change| changed.get(&change.place).copied().unwrap_or(change));
            let since = change.map(|change| self.since(change)).unwrap_or_default();
            self.note(
                LedgerKind::Rule,
                rule.place,
                format!("{}{since}", rule.text),
            );
        }
        self.files(record);
        for failure in record.failures.iter().rev() {
            let brief = (failure.text.clone(), failure.brief.clone());
            self.ledger.brief.extend([brief]);
            if !failure.further.is_empty() {
                let further = (failure.text.clone(), failure.further.clone());
                self.ledger.further.extend([further]);
            }
            self.note(LedgerKind::Failure, failure.place, failure.text.clone());
        }
        let mut steps: Vec<_> = record.steps().collect();
        // Newest first, but those of one answer as it gives them.
        steps.sort_by_key(|step| Reverse(step.place));
        let mut told = Said::default();
        record.decisions().for_each(|decision| told.add(decision));
        for step in steps.into_iter().filter(|step| !told.has(step)) {
            self.in_brief(&step.text, brief_step(&step.text));
            self.note(LedgerKind::NextStep, step.place, step.text.clone());
        }
        for todo in &record.todos {
            self.note(LedgerKind::Todo, todo.place, todo.text.clone());
        }
        for decision in record.decisions().rev() {
            self.in_brief(&decision.text, brief_decision(&decision.text));
            self.note(LedgerKind::Decision, decision.place, decision.text.clone());
        }
        let figures = record.user_figures().rev();
        let figures = figures.chain(record.answered_figures().rev());
        for figure in figures.filter(|it| !told.has(it)) {
            self.in_brief(&figure.text, brief_figure(&figure.text));
            self.note(LedgerKind::Figure, figure.place, figure.text.clone());
        }
        for spoken in record.spoken.iter().rev() {
            let kind = match Some(spoken.place) {
                place if place == first => LedgerKind::FirstMessage,
                place if place == latest => LedgerKind::LatestMessage,
                // "continue" and "/model" tell nothing, unless they answer a question.
                _ if spoken.tiny && spoken.answers.is_none() => continue,
                // What no longer holds is not said again without need.
                _ if spoken.changed.is_some() => continue,
                _ => LedgerKind::Message,
            };
            let mut remark = String::new();
            if let Some(asked) = &spoken.answers {
                remark = format!(" (asked: {})", one_name(asked));
            }
            if let Some(change) = changed.get(&spoken.place) {
                remark.push_str(&self.since(change));
            }
            let id = self.id(spoken.place);
            let text = without_pasted(&spoken.text);
            if spoken.lasting {
                self.ledger.lasting.insert(id.clone());
            }
            if !remark.is_empty() {
                self.ledger.remarks.insert(id, remark);
            }
            self.note(kind, spoken.place, text);
        }
        for (answer, refused) in record.answers() {
            let kind = match refused {
                true => LedgerKind::TurnedDown,
                false => LedgerKind::Answer,
            };
            self.note(kind, answer.place, answer.text);
        }
        for cause in record.causes() {
            self.note(LedgerKind::Cause, cause.place, cause.text);
        }
        for (kind, noted) in [
            (LedgerKind::Done, &record.done),
            (LedgerKind::Check, &record.checks),
            (LedgerKind::Branch, &record.branches),
        ] {
            for noted in noted.iter().rev() {
                self.note(kind, noted.place, noted.text.clone());
            }
        }
        // Whatever else was read, the same facts are in the same places.
        let mut order: Vec<&mut usize> = self.ledger.places.values_mut().collect();
        order.sort();
        for (place, known) in order.into_iter().enumerate() {
            *known = place;
        }
        self.ledger.sources = self.sources(record, first);
        self.ledger.changed = changed.keys().map(|place| self.id(*place)).collect();
        self.ledger
    }

    /// Returns what stands behind words whose figure was changed.
    fn since(&self, change: &Change) -> String {
        let id = shown_id(&self.id(change.place));
        match &change.value {
            Some(value) => format!(" (changed since: {value}, was said in {id})"),
            None => format!(" (changed since: see {id})"),
        }
    }

    fn id(&self, place: usize) -> EntryId {
        self.messages[place].entry_id.clone()
    }

    /// Notes what stands for a fact where there is little room.
    fn in_brief(&mut self, text: &str, brief: ShortForm) {
        let ShortForm { text: short, rank } = brief;
        self.ledger.brief.entry(text.to_owned()).or_insert(short);
        self.ledger.ranks.entry(text.to_owned()).or_insert(rank);
    }

    fn note(&mut self, kind: LedgerKind, place: usize, text: String) {
        let id = self.id(place);
        if !self.in_context.contains(&id) {
            self.ledger.places.insert(id.clone(), place);
            self.ledger.add(kind, id, text);
        }
    }

    /// Notes the files, those touched last first.
    fn files(&mut self, record: &FactIndex) {
        for file in record.files.iter().rev() {
            let text = format!("{}: {}", file.path, file.work);
            let short = format!("{} ({})", file.path, file.brief);
            self.ledger.paths.insert(text.clone(), short);
            self.ledger.names.insert(text.clone(), file.names.clone());
            self.note(LedgerKind::File, file.place, text);
        }
    }

    /// Returns what the record rests on. Where that is too much, plain messages go first, the oldest first.
    fn sources(&self, record: &FactIndex, first: Option<usize>) -> Vec<EntryId> {
        let mut vital: BTreeSet<usize> = first.into_iter().collect();
        vital.extend(record.rules.iter().map(|rule| rule.place));
        vital.extend(record.files.iter().map(|file| file.place));
        for failure in &record.failures {
            vital.extend(failure.call);
            vital.insert(failure.place);
        }
        vital.extend(&record.todo_calls);
        vital.extend(record.marks);
        let vital = with_dependencies(vital, &record.dependencies);
        let mut useful = vital.clone();
        for file in &record.files {
            useful.extend(&file.places);
        }
        let noted = record.decisions().chain(record.user_figures());
        let noted = noted.chain(record.answered_figures()).chain(record.steps());
        let done = record
            .done
            .iter()
            .chain(&record.checks)
            .chain(&record.branches);
        useful.extend(noted.chain(done).map(|noted| noted.place));
        useful.extend(record.answer_places());
        useful.extend(record.causes().map(|cause| cause.place));
        useful.extend(record.last_words);
        let useful = with_dependencies(useful, &record.dependencies);
        let mut all = useful.clone();
        all.extend(record.spoken.iter().map(|spoken| spoken.place));
        let mut all: Vec<usize> = with_dependencies(all, &record.dependencies)
            .into_iter()
            .collect();
        if all.len() > SOURCES {
            let rank = |place: &usize| match () {
                () if vital.contains(place) => 0,
                () if useful.contains(place) => 1,
                () => 2,
            };
            all.sort_by_key(|place| (rank(place), Reverse(*place)));
            all.truncate(SOURCES);
            all.sort_unstable();
        }
        let mut sources: Vec<EntryId> = all.into_iter().map(|place| self.id(place)).collect();
        sources.dedup();
        sources
    }
}

/// Returns the first message that says something, or the first at all.
fn first_of(spoken: &[Spoken]) -> Option<&Spoken> {
    spoken.iter().find(|spoken| !spoken.tiny).or(spoken.first())
}

/// Returns the places and all that reading them takes.
fn with_dependencies(
    mut places: BTreeSet<usize>,
    dependencies: &BTreeMap<usize, BTreeSet<usize>>,
) -> BTreeSet<usize> {
    let mut open: Vec<usize> = places.iter().copied().collect();
    while let Some(place) = open.pop() {
        let others = dependencies.get(&place).into_iter().flatten();
        open.extend(others.filter(|other| places.insert(**other)));
    }
    places
}
