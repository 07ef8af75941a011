//! Merges newer facts into older ones: what is replaced, what is added, what is resolved.

use std::collections::{BTreeMap, BTreeSet};

use crate::path_normalize::resolved;

use super::command::Command;
use super::fact_index::push_newest;
use super::facts::{Facts, Failure, FileWork, Item, Request, add};
use super::figures::{has_figure, replaces_earlier, share_subject};
use super::pasted::own_lines;
use super::sections::CONTINUE;
use super::text::one_line;

/// The longest line of a request that is only listed, in characters.
const LISTED: usize = 160;
/// How many of the newest rules and figures a changed figure is compared with.
const RECENT: usize = 32;
/// How many commands that failed are listed.
const FAILURES: usize = 6;
/// How many next steps are kept.
const STEPS: usize = 5;

impl Request {
    /// Returns the request on one line of a list.
    pub(super) fn listed(&self) -> Item {
        // The user's own words tell more than what was pasted before them.
        let own: Vec<_> = own_lines(&self.text).into_iter().take(200).collect();
        let own = own.join(" ");
        let text = if own.trim().is_empty() {
            &self.text
        } else {
            &own
        };
        let text = one_line(text, LISTED);
        let id = self.id.clone();
        Item { text, id }
    }

    /// Returns true for what only asks the agent to continue: nothing, a slash command, or one of a closed list.
    pub(super) fn is_tiny(&self) -> bool {
        is_tiny(&self.text)
    }
}

/// Returns the same for a text.
pub(super) fn is_tiny(text: &str) -> bool {
    const GO_ON: &str = "continue; please continue; ok continue; ok; okay; k; yes; yep; yeah; y; \
         sure; go; go on; go ahead; proceed; next; do it; ok do it; yes do it; \
         keep going; resume; retry; try again; thanks; thank you; weiter; \
         mach weiter; bitte weiter; ja; fortsetzen; continuez; continue stp; oui; sí; \
         si; sigue; continúa; 继续; 请继续; 好的; 好; 是; 続けて; はい";
    let text = text.trim();
    if let Some(command) = text.strip_prefix('/') {
        let name = command.split_whitespace().next().unwrap_or_default();
        return !name.contains(['/', '.']) && !text.contains('\n');
    }
    if text.len() > 64 {
        return false;
    }
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let plain = words.collect::<Vec<_>>().join(" ");
    plain.is_empty() || plain == "image" || GO_ON.split(';').any(|known| known.trim() == plain)
}

impl Facts {
    /// Notes that files were modified, when nothing else is known of them.
    pub(super) fn note_files<'a>(&mut self, paths: impl IntoIterator<Item = &'a str>) {
        let works = paths.into_iter().map(|path| FileWork {
            path: one_line(path, usize::MAX),
            ..FileWork::default()
        });
        let mut known = BTreeSet::new();
        let works = works
            .filter(|work| known.insert(path_key(&work.path).to_owned()) && !work.path.is_empty());
        let works = works.collect();
        self.add_works(works);
    }

    /// Adds newer work on files, which makes them the newest; a bare path says nothing of a known file.
    pub(super) fn add_works(&mut self, works: Vec<FileWork>) {
        let mut older: Vec<_> = std::mem::take(&mut self.files)
            .into_iter()
            .map(Some)
            .collect();
        let mut places = BTreeMap::new();
        for (place, file) in older.iter().flatten().enumerate() {
            places.insert(path_key(&file.path), place);
        }
        let mut newer = Vec::new();
        for work in works {
            match places.get(&path_key(&work.path)) {
                Some(_) if work.is_plain() => {}
                Some(place) => {
                    let earlier = older[*place].take().unwrap_or_default();
                    newer.push(earlier.then(work));
                }
                None => newer.push(work),
            }
        }
        self.files = older.into_iter().flatten().chain(newer).collect();
        self.files.sort_by_key(|file| !file.is_plain());
    }
}

impl FileWork {
    /// Returns this work followed by newer work on the same file.
    pub(super) fn then(self, newer: Self) -> Self {
        if newer.lines.is_some() || self.is_plain() {
            return newer;
        }
        if newer.is_plain() {
            return self;
        }
        Self {
            edits: self.edits.saturating_add(newer.edits),
            newest: newer.newest,
            ..self
        }
    }
}

fn path_key(path: &str) -> String {
    resolved(path, "")
}

/// Puts `newer` on top of `older`.
pub(super) fn merge(older: &mut Facts, mut newer: Facts) {
    let asked = newer.first.is_some() || !newer.goal.is_empty();
    merge_requests(older, &mut newer);
    let figures = std::mem::take(&mut newer.figures);
    merge_figures(older, &newer.rules, figures);
    extend_new(&mut older.rules, newer.rules, |rule| {
        rule.text.trim_end_matches(['.', '!']).to_lowercase()
    });
    add(&mut older.rules_left.count, newer.rules_left.count);
    newer
        .rules_left
        .ids
        .iter()
        .for_each(|id| older.rules_left.name(id));
    older.add_works(newer.files);
    add(&mut older.files_left, newer.files_left);
    extend_new(&mut older.done, newer.done, String::clone);
    add(&mut older.done_left, newer.done_left);
    if asked {
        // Work went on past a command that checks nothing.
        older.failures.retain(Failure::blocks);
    }
    merge_commands(older, newer.passed, newer.failures, &newer.succeeded);
    older.blocked.extend(newer.blocked);
    if newer.todos_set || !newer.open.is_empty() {
        older.open = newer.open;
    }
    let done: BTreeSet<_> = older.done.iter().collect();
    older.open.retain(|item| !done.contains(item));
    extend_new(&mut older.decisions, newer.decisions, |item| {
        item.text.clone()
    });
    extend_new(&mut older.notes, newer.notes, String::clone);
    if !newer.earlier.is_empty() {
        if !older.earlier.is_empty() {
            older.earlier.push_str("\n\n");
        }
        older.earlier.push_str(&newer.earlier);
    }
    if let Some(focus) = newer.focus {
        match &mut older.focus {
            Some(known) if known.words == focus.words => {
                extend_new(&mut known.lines, focus.lines, |item| item.text.clone());
            }
            known => *known = Some(focus),
        }
    }
    if newer.active {
        older.plan = newer.plan;
        let answered = newer.answer.as_ref().filter(|_| newer.last_steps.is_none());
        let default = match answered {
            Some(answer) => format!(
                "The latest request was answered ({}); go on from what follows.",
                answer.id
            ),
            None => CONTINUE.to_owned(),
        };
        older.last_steps = newer.last_steps;
        // A model's steps outlive one round; our own are found anew each time.
        let carried = if older.extractive || (asked && !newer.next.is_empty()) {
            Vec::new()
        } else {
            older.next.clone()
        };
        let mut steps: Vec<_> = older.open.iter().take(3).cloned().collect();
        extend_new(&mut steps, newer.next, String::clone);
        extend_new(&mut steps, carried, String::clone);
        if steps.is_empty() {
            steps.push(default);
        }
        steps.truncate(STEPS);
        older.next = steps;
    }
    older.answer = newer.answer.or(older.answer.take());
}

/// Adds the items of `more` whose key is not there yet.
fn extend_new<T>(list: &mut Vec<T>, more: Vec<T>, key: impl Fn(&T) -> String) {
    if more.is_empty() {
        return;
    }
    let mut known: BTreeSet<String> = list.iter().map(&key).collect();
    list.extend(more.into_iter().filter(|item| known.insert(key(item))));
}

fn merge_requests(older: &mut Facts, newer: &mut Facts) {
    if !newer.goal.is_empty() {
        // The original request of a split turn, in the words of a model.
        let text = std::mem::take(&mut newer.goal);
        let id = String::new();
        match &newer.first {
            None => newer.first = Some(Request { text, id }),
            Some(_) => newer.between.insert(0, Request { text, id }.listed()),
        }
    }
    let starts = older.first.is_none() && older.goal.is_empty() && !older.first_in_ledger;
    if starts {
        older.first_follows_summary = !older.earlier.is_empty();
        older.first = newer.first.take();
    }
    let known: BTreeSet<&String> = [&older.first, &older.latest]
        .into_iter()
        .flatten()
        .map(|request| &request.id)
        .collect();
    let is_new = |request: &Request| {
        !request.is_tiny() && (request.id.is_empty() || !known.contains(&request.id))
    };
    let first = newer.first.take().filter(is_new);
    let latest = newer.latest.take().filter(is_new);
    if first.is_some() || latest.is_some() {
        older
            .between
            .extend(older.latest.take().map(|request| request.listed()));
    }
    let (listed, latest) = match latest {
        Some(latest) => (first, Some(latest)),
        None => (None, first),
    };
    older.between.extend(listed.map(|request| request.listed()));
    extend_new(
        &mut older.between,
        std::mem::take(&mut newer.between),
        Item::line,
    );
    add(&mut older.between_left.count, newer.between_left.count);
    newer
        .between_left
        .ids
        .iter()
        .for_each(|id| older.between_left.name(id));
    if latest.is_some() {
        older.latest = latest;
        older.latest_answers = newer.latest_answers.take();
    }
}

/// Adds figures; a sentence that changes one, be it one of `rules`, replaces the earlier ones on its subject.
/// It joins the rules when the earlier one was a rule, which stays: the change must stand behind it.
pub(super) fn merge_figures(facts: &mut Facts, rules: &[Item], figures: Vec<Item>) {
    for rule in rules {
        if replaces_earlier(&rule.text) && has_figure(&rule.text) {
            facts
                .figures
                .retain(|figure| !share_subject(&figure.text, &rule.text));
        }
    }
    for figure in figures {
        if replaces_earlier(&figure.text) {
            facts
                .figures
                .retain(|earlier| !share_subject(&earlier.text, &figure.text));
            let mut known = facts.rules.iter().rev().take(RECENT).chain(rules);
            if known.any(|rule| has_figure(&rule.text) && share_subject(&rule.text, &figure.text)) {
                facts.rules.push(figure);
                continue;
            }
        }
        if !facts.figures.iter().any(|known| known.text == figure.text) {
            push_newest(&mut facts.figures, figure, RECENT);
        }
    }
}

fn merge_commands(
    older: &mut Facts,
    passed: Vec<Item>,
    failures: Vec<Failure>,
    succeeded: &[String],
) {
    let wins: Vec<_> = succeeded.iter().map(|text| Command::new(text)).collect();
    older.failures.retain(|failure| {
        let failed = Command::new(&failure.command);
        !wins.iter().any(|win| win.settles(&failed))
    });
    older.blocked.retain(|note| {
        !wins
            .iter()
            .any(|win| !win.core().is_empty() && note.contains(win.core()))
    });
    older.passed.retain(|item| {
        let passed = Command::new(&item.text);
        !failures
            .iter()
            .any(|failure| Command::new(&failure.command).is_same(&passed))
    });
    for item in passed {
        let newest = Command::new(&item.text);
        older
            .passed
            .retain(|earlier| !Command::new(&earlier.text).is_same(&newest));
        older.passed.push(item);
    }
    for failure in failures {
        let newest = Command::new(&failure.command);
        older
            .failures
            .retain(|earlier| !Command::new(&earlier.command).is_same(&newest));
        older.failures.push(failure);
    }
    // Only the newest is shown in full.
    let excess = older.failures.len().saturating_sub(FAILURES);
    older.failures.drain(..excess);
    if let Some((_, earlier)) = older.failures.split_last_mut() {
        earlier
            .iter_mut()
            .for_each(|failure| failure.lines.truncate(1));
    }
}
