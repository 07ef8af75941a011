//! Puts the page together.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use compaction_core::{LossReport, loss_report};
use session_model::json::RawJson;
use session_model::{
    AgentMessage, EntryBody, EntryIndex, EntryKind, Leaf, SessionPath, SessionTree,
};
use sha2::{Digest, Sha256};

use crate::entries::{Known, Writer};
use crate::gate::{Gate, bytes};
use crate::sizes::{Change, CompactionSizes, Sizes, compaction_sizes, sizes};
use crate::timeline::{Mark, MarkKind, short, timeline};
use crate::{Export, Page};

const STYLE: &str = include_str!("../templates/page.css");
const SCRIPT: &str = include_str!("../templates/page.js");

/// The custom type of the entry that names the program of an imported session.
const IMPORT_ENTRY: &str = "agent-cli/import";

/// The number of first entries that are searched for that entry, and for the first message of the user.
const FIRST_ENTRIES: usize = 40;

#[derive(Template)]
#[template(path = "page.html")]
struct Sheet<'a> {
    title: String,
    facts: Vec<String>,
    style: &'static str,
    style_hash: String,
    script: &'static str,
    script_hash: String,
    timeline: String,
    tree: &'a str,
    body: &'a str,
    compactions: usize,
    note: String,
    version: &'static str,
}

/// The limit of entries shown, the newest of the path first: the markup of each takes space too.
const MOST_ENTRIES: usize = 50_000;

/// Returns the page of a session.
pub fn page(export: &Export<'_>) -> Page {
    page_of(export, MOST_ENTRIES)
}

fn page_of(export: &Export<'_>, most: usize) -> Page {
    let tree = export.tree;
    let path = tree.path(export.leaf);
    let lengths: Vec<usize> = tree
        .indices()
        .map(|index| tree.span(index).len as usize)
        .collect();
    let gate = Gate::new(export.clean, &lengths);
    let measured = sizes(&path, export.profile);
    let rules = export.profile.context_rules();
    let report = loss_report(&path, rules, export.profile.counter());
    let known = known(export, &path, &measured, &report, &gate);
    let marks = marks(&path, &measured, &known, &gate);
    let mut writer = Writer::new(export, &gate, &known);
    let left_out_entries = write(&mut writer, &path, most);
    let count = |kind| marks.iter().filter(|mark| mark.kind == kind).count();
    let points = path.entries().iter().map(|index| index.as_usize());
    let points: Vec<(usize, u64)> = points.zip(measured.points.iter().copied()).collect();
    let left_out_bytes = gate.left_out();
    let sheet = Sheet {
        title: title(tree, &gate),
        facts: facts(tree, &writer, &measured, &gate),
        style: STYLE,
        style_hash: hash(STYLE),
        script: SCRIPT,
        script_hash: hash(SCRIPT),
        timeline: timeline(&points, &marks),
        tree: &writer.tree,
        body: &writer.body,
        compactions: count(MarkKind::Compaction),
        note: note(&gate, left_out_entries),
        version: env!("CARGO_PKG_VERSION"),
    };
    Page {
        html: sheet.render().unwrap_or_default(),
        entries: writer.entries,
        compactions: count(MarkKind::Compaction),
        prunings: count(MarkKind::Pruning),
        models: count(MarkKind::Model),
        shown_bytes_per_entry: gate.cap,
        left_out_entries,
        left_out_bytes,
    }
}

/// Returns what is not shown; nothing where all is.
fn note(gate: &Gate<'_>, entries: usize) -> String {
    let cut = match gate.left_out() {
        0 => String::new(),
        left_out => format!(
            "At most {} of an entry are shown; {} are not. ",
            bytes(gate.cap as u64),
            bytes(left_out)
        ),
    };
    let old = match entries {
        0 => String::new(),
        entries => format!("{entries} older entries are left out. "),
    };
    match cut.is_empty() && old.is_empty() {
        true => String::new(),
        false => format!("{cut}{old}The session has them."),
    }
}

/// Returns what the policy of the page calls a style or script that it allows.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Gathers what must be known before entries are shown.
fn known<'a>(
    export: &Export<'_>,
    path: &SessionPath<'_>,
    measured: &Sizes,
    report: &'a LossReport,
    gate: &Gate<'_>,
) -> Known<'a> {
    let tree = export.tree;
    let mut changes: BTreeMap<EntryIndex, Vec<Change>> = BTreeMap::new();
    let mut on_path: BTreeMap<EntryIndex, &CompactionSizes> = BTreeMap::new();
    for (place, change) in &measured.changes {
        let index = path.entries()[*place];
        match change {
            Change::Compaction(sizes) => drop(on_path.insert(index, sizes)),
            other => changes.entry(index).or_default().push(other.clone()),
        }
    }
    let of_kind = |kind| {
        tree.indices()
            .filter(move |index| tree.kind(*index) == kind)
    };
    let compactions = of_kind(EntryKind::Compaction)
        .enumerate()
        .map(|(number, index)| {
            let sizes = match on_path.get(&index) {
                Some(sizes) => (*sizes).clone(),
                None => left_sizes(export, index),
            };
            (index, (number + 1, sizes))
        });
    let targets =
        of_kind(EntryKind::ContextEdit).filter_map(|index| match tree.entry(index).ok()?.body {
            EntryBody::ContextEdit { target, .. } => Some(target),
            _ => None,
        });
    let labels = tree
        .labels()
        .into_iter()
        .map(|(id, label)| (id, gate.line(&label, 40)));
    Known {
        labels: labels.collect(),
        edited: targets.collect(),
        compactions: compactions.collect(),
        losses: report
            .compactions
            .iter()
            .map(|loss| (loss.entry_id.clone(), loss))
            .collect(),
        changes,
    }
}

/// Returns what a compaction did on a branch that was left.
fn left_sizes(export: &Export<'_>, index: EntryIndex) -> CompactionSizes {
    let tree = export.tree;
    let path = tree.path(Leaf::At(index));
    let place = path.entries().len() - 1;
    let before = path.entries()[..place].iter().rev();
    let edits = before.take_while(|index| {
        matches!(
            tree.kind(**index),
            EntryKind::ContextEdit | EntryKind::Custom
        )
    });
    compaction_sizes(&path, (place - edits.count(), place), export.profile)
}

/// Returns the marks of the timeline: those of other branches are at the entry where the branch begins.
fn marks(
    path: &SessionPath<'_>,
    measured: &Sizes,
    known: &Known<'_>,
    gate: &Gate<'_>,
) -> Vec<Mark> {
    let tree = path.tree();
    let mut marks = Vec::new();
    for (place, change) in &measured.changes {
        let (kind, title) = match change {
            Change::Compaction(_) => continue,
            Change::Pruning(count, saved) => (
                MarkKind::Pruning,
                format!("pruning: {count} outputs, ~{} tokens", short(*saved)),
            ),
            Change::Reset => (MarkKind::Reset, "reset".to_owned()),
            Change::Model(model) => (
                MarkKind::Model,
                format!("model: {}", gate.line(&model.model_id, 80)),
            ),
        };
        let entry = path.entries()[*place].as_usize();
        marks.push(Mark {
            kind,
            place: *place,
            entry,
            title,
            left: false,
        });
    }
    let places: BTreeMap<EntryIndex, usize> = path
        .entries()
        .iter()
        .enumerate()
        .map(|(place, index)| (*index, place))
        .collect();
    for (index, (number, sizes)) in &known.compactions {
        let mut line = std::iter::successors(Some(*index), |at| tree.parent(*at));
        let left = !places.contains_key(index);
        marks.push(Mark {
            kind: MarkKind::Compaction,
            place: line.find_map(|at| places.get(&at).copied()).unwrap_or(0),
            entry: index.as_usize(),
            title: format!(
                "compaction #{number}: ~{} to ~{}{}",
                short(sizes.before),
                short(sizes.after),
                if left {
                    ", on a branch that was left"
                } else {
                    ""
                }
            ),
            left,
        });
    }
    marks
}

/// Writes the newest `most` entries of the path and all compactions; the other branches, folded, follow the entries
/// where they begin, as far as there is room. Returns the number of entries that are left out.
fn write(writer: &mut Writer<'_>, path: &SessionPath<'_>, most: usize) -> usize {
    let skipped = path.entries().len().saturating_sub(most);
    let mut room = most.saturating_sub(path.entries().len());
    let mut left_out = 0;
    let tree = path.tree();
    let children = tree.children();
    let none = Vec::new();
    let on_path: BTreeSet<EntryIndex> = path.entries().iter().copied().collect();
    let others = |of: Option<EntryIndex>| {
        let children = children.get(&of).unwrap_or(&none).iter().copied();
        children
            .filter(|child| !on_path.contains(child))
            .collect::<Vec<_>>()
    };
    let mut left = others(None);
    for (place, index) in path.entries().iter().enumerate() {
        if place < skipped && tree.kind(*index) != EntryKind::Compaction {
            left_out += 1;
            left.extend(others(Some(*index)));
            continue;
        }
        // A result belongs to its call, even after other attempts.
        if !left.is_empty() && !is_result(tree, *index) {
            left_out += write_left(writer, std::mem::take(&mut left), &children, &mut room);
        }
        writer.push(*index);
        left.extend(others(Some(*index)));
    }
    left_out += write_left(writer, left, &children, &mut room);
    writer.flush();
    left_out
}

/// Writes branches, and the branches of those, as far as there is room; returns the number of entries that are left
/// out.
fn write_left(
    writer: &mut Writer<'_>,
    starts: Vec<EntryIndex>,
    children: &BTreeMap<Option<EntryIndex>, Vec<EntryIndex>>,
    room: &mut usize,
) -> usize {
    let mut left_out = 0;
    writer.flush();
    let mut work: Vec<(EntryIndex, usize)> =
        starts.into_iter().rev().map(|start| (start, 1)).collect();
    while let Some((start, depth)) = work.pop() {
        let mut chain = Vec::new();
        let mut at = Some(start);
        while let Some(index) = at {
            chain.push(index);
            let next = children
                .get(&Some(index))
                .map(Vec::as_slice)
                .unwrap_or_default();
            at = next.last().copied();
            work.extend(next.iter().rev().skip(1).map(|other| (*other, depth + 1)));
        }
        left_out += chain.len().saturating_sub(*room);
        chain.truncate(*room);
        *room -= chain.len();
        if !chain.is_empty() {
            writer.branch(&chain, depth);
        }
    }
    left_out
}

fn is_result(tree: &SessionTree, index: EntryIndex) -> bool {
    match tree.entry(index).map(|entry| entry.body) {
        Ok(EntryBody::Message(message)) => matches!(*message, AgentMessage::ToolResult(_)),
        _ => false,
    }
}

/// Returns the name of the session: its own, or the user's first message.
fn title(tree: &SessionTree, gate: &Gate<'_>) -> String {
    let asked = || {
        tree.indices()
            .take(FIRST_ENTRIES)
            .find_map(|index| match tree.entry(index).ok()?.body {
                EntryBody::Message(message) => match &*message {
                    AgentMessage::User(user) => {
                        Some(user.words()).filter(|words| !words.trim().is_empty())
                    }
                    _ => None,
                },
                _ => None,
            })
    };
    let title = tree.name().or_else(asked).map(|name| gate.line(&name, 120));
    title
        .filter(|title| !title.is_empty())
        .unwrap_or_else(|| "Session".to_owned())
}

/// Returns the facts below the title.
fn facts(
    tree: &SessionTree,
    writer: &Writer<'_>,
    measured: &Sizes,
    gate: &Gate<'_>,
) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(imported(tree).map(|name| gate.line(&name, 60)));
    if let Some(header) = tree.header() {
        facts.push(gate.line(&header.cwd, 120));
    }
    let day =
        |index: EntryIndex| Some(tree.entry(index).ok()?.timestamp?.to_string()[..10].to_owned());
    let first = tree.indices().find_map(day);
    let last = tree.indices().next_back().and_then(day);
    facts.push(match (first, last) {
        (Some(first), Some(last)) if first != last => format!("{first} \u{2013} {last}"),
        (first, last) => first.or(last).unwrap_or_default(),
    });
    let counted = |count: usize, one: &str, several: &str| {
        format!("{count} {}", if count == 1 { one } else { several })
    };
    facts.push(counted(writer.turns, "turn", "turns"));
    facts.push(counted(writer.calls, "tool call", "tool calls"));
    facts.push(counted(
        writer.known.compactions.len(),
        "compaction",
        "compactions",
    ));
    if let Some(now) = measured.points.last() {
        facts.push(format!(
            "context ~{}",
            short(compaction_core::TokenCount(*now))
        ));
    }
    facts.retain(|fact| !fact.is_empty());
    facts
}

/// Returns the program that a session was imported from.
fn imported(tree: &SessionTree) -> Option<String> {
    let mut first = tree
        .indices()
        .take(FIRST_ENTRIES)
        .filter(|index| tree.kind(*index) == EntryKind::Custom);
    first.find_map(|index| match tree.entry(index).ok()?.body {
        EntryBody::Custom { custom_type, data } if custom_type == IMPORT_ENTRY => {
            let data = data.as_ref().map(RawJson::to_value)?;
            let version = data["version"].as_str().unwrap_or_default();
            Some(
                format!("{} {version}", data["source"].as_str()?)
                    .trim()
                    .to_owned(),
            )
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use compaction_core::Profile;
    use session_model::decode_bytes;

    use super::page_of;
    use crate::Export;

    #[test]
    fn of_many_entries_the_newest_are_shown_and_every_compaction() {
        let text = test_support::session("u:5 a:5 k@e1:5 u:5 a:5 u:5 a:5 | ^e2 u:5 a:5");
        let tree = decode_bytes(text.into_bytes()).tree;
        let export = Export {
            tree: &tree,
            leaf: tree.leaf(),
            profile: Profile::Own,
            clean: None,
            facts: &|_| Vec::new(),
        };
        let whole = page_of(&export, 100);
        assert_eq!((whole.left_out_entries, whole.entries), (0, tree.len()));
        let part = page_of(&export, 2);
        assert_eq!((part.left_out_entries, part.entries), (tree.len() - 2, 2));
        assert!(part.html.contains("older entries are left out"));
    }
}
