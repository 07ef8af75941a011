//! What tool calls did to files, by the argument names of several agents.

use serde_json::Value;

use super::facts::FileWork;
use super::text::one_line;
use crate::file_call::{FileAction, PatchHead, patch_head};
use crate::phrases::Phrases;

/// The longest first line of an edit, in characters.
const NEWEST: usize = 60;

/// Returns what a write or an edit of these files did, by its arguments; the names of several agents are known.
pub(super) fn file_works(
    arguments: &Value,
    files: &[(FileAction, String)],
) -> Option<Vec<FileWork>> {
    let text = |value: &Value, keys: &[&str]| -> Option<String> {
        keys.iter()
            .find_map(|key| value.get(key).and_then(Value::as_str))
            .map(str::to_owned)
    };
    if let Some(patch) =
        text(arguments, &["input", "patch", "patchText"]).filter(|patch| patch.contains("*** "))
    {
        return Some(patch_works(&patch));
    }
    let changed = files
        .iter()
        .filter(|(action, _)| *action != FileAction::Read);
    let mut paths: Vec<String> = changed
        .map(|(_, path)| one_line(path, usize::MAX))
        .collect();
    if paths.len() > 1 {
        let works = paths.into_iter().map(|path| FileWork {
            path,
            edits: 1,
            ..FileWork::default()
        });
        return Some(works.collect());
    }
    let path = paths.pop()?;
    static CONTENT: Phrases = Phrases::named("files.content");
    if let Some(content) = text(arguments, &CONTENT) {
        let lines = Some(content.lines().count());
        return Some(vec![FileWork {
            path,
            lines,
            ..FileWork::default()
        }]);
    }
    const OLD: [&str; 4] = ["oldText", "old_string", "old_str", "search"];
    static NEW: Phrases = Phrases::named("files.new");
    let single = std::slice::from_ref(arguments);
    let list = arguments
        .get("edits")
        .and_then(Value::as_array)
        .map_or(single, Vec::as_slice);
    let newest = list.last().map(|edit| {
        let old = text(edit, &OLD).unwrap_or_default();
        first_new_line(&old, &text(edit, &NEW).unwrap_or_default())
    });
    let edits = list.len().max(1);
    let newest = newest.unwrap_or_default();
    Some(vec![FileWork {
        path,
        lines: None,
        edits,
        newest,
    }])
}

/// Returns the first line that an edit brings: one that was not there before and has a word in it.
fn first_new_line(old: &str, new: &str) -> String {
    let same = old
        .lines()
        .zip(new.lines())
        .take_while(|(old, new)| old == new)
        .count();
    let telling = |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).count() >= 2;
    let line = new
        .lines()
        .skip(same)
        .find(telling)
        .or_else(|| new.lines().find(telling));
    match line {
        Some(line) => one_line(line, NEWEST),
        None => old.lines().find(telling).map_or_else(String::new, |line| {
            one_line(&format!("removed {line}"), NEWEST)
        }),
    }
}

/// Returns what a patch in the `*** Begin Patch` form does.
pub(super) fn patch_works(patch: &str) -> Vec<FileWork> {
    let mut works: Vec<FileWork> = Vec::new();
    for line in patch.lines() {
        let work = |path, edits, lines, newest: &str| FileWork {
            path: one_line(path, usize::MAX),
            lines,
            edits,
            newest: newest.to_owned(),
        };
        if let Some((head, path)) = patch_head(line) {
            match (head, works.last_mut()) {
                (PatchHead::Add, _) => works.push(work(path, 0, Some(0), "")),
                (PatchHead::Update, _) => works.push(work(path, 1, None, "")),
                (PatchHead::Delete, _) => works.push(work(path, 1, None, "deleted")),
                (PatchHead::Move, Some(moved)) => {
                    moved.newest = one_line(&format!("moved from {}", moved.path), NEWEST);
                    moved.path = one_line(path, usize::MAX);
                }
                (PatchHead::Move, None) => {}
            }
        } else if let (Some(added), Some(work)) = (line.strip_prefix('+'), works.last_mut()) {
            work.lines = work.lines.map(|lines| lines + 1);
            if work.newest.is_empty() && work.lines.is_none() {
                work.newest = one_line(added, NEWEST);
            }
        }
    }
    works
}
