//! A unified diff of what an edit changed: only the lines around its changes are compared.

use std::ops::Range;

use super::replacement::Change;

/// How many unchanged lines are shown on each side.
const CONTEXT: usize = 3;

/// Above this many pairs of lines a region is shown as replaced whole.
const MOST_PAIRS: usize = 1_000_000;

/// Lines that go and lines that come in their place.
struct Hunk<'a> {
    old: Range<usize>,
    new: Vec<&'a str>,
}

/// Returns the unified diff of `text` and what `changes`, which are in order, make of it.
pub(super) fn unified(path: &str, text: &str, changes: &[Change]) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let regions = find_regions(&lines, text, changes);
    let mut hunks = Vec::new();
    for (old, edited) in &regions {
        compare(&lines, old.clone(), edited, &mut hunks);
    }
    let mut diff = format!("--- {path}\n+++ {path}\n");
    let mut shift: isize = 0;
    let mut rest = hunks.as_slice();
    while !rest.is_empty() {
        let near = |pair: &[Hunk<'_>]| pair[1].old.start - pair[0].old.end <= 2 * CONTEXT;
        let together = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
        let (group, later) = rest.split_at(together);
        shift += write_group(&lines, group, shift, &mut diff);
        rest = later;
    }
    diff
}

/// Returns the lines that changes touch, each range with what becomes of it.
fn find_regions(lines: &[&str], text: &str, changes: &[Change]) -> Vec<(Range<usize>, String)> {
    let starts: Vec<usize> = lines
        .iter()
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start)
        })
        .collect();
    let start_of = |line: usize| starts.get(line).copied().unwrap_or(text.len());
    let line_of = |at: usize| {
        starts
            .partition_point(|start| *start <= at)
            .saturating_sub(1)
    };
    let mut regions: Vec<(Range<usize>, Vec<&Change>)> = Vec::new();
    for change in changes {
        let touched = line_of(change.range.start)..(line_of(change.range.end) + 1).min(lines.len());
        match regions.last_mut() {
            Some((region, changes)) if touched.start < region.end => {
                region.end = region.end.max(touched.end);
                changes.push(change);
            }
            _ => regions.push((touched, vec![change])),
        }
    }
    let edited = |(region, changes): (Range<usize>, Vec<&Change>)| {
        let mut at = start_of(region.start);
        let mut edited = String::new();
        for change in changes {
            edited.push_str(&text[at..change.range.start]);
            edited.push_str(&change.text);
            at = change.range.end;
        }
        edited.push_str(&text[at..start_of(region.end)]);
        (region, edited)
    };
    regions.into_iter().map(edited).collect()
}

/// Adds the differences between the lines of a region and what became of them.
fn compare<'a>(lines: &[&str], old: Range<usize>, edited: &'a str, hunks: &mut Vec<Hunk<'a>>) {
    let new: Vec<&str> = edited.split_inclusive('\n').collect();
    let before = &lines[old.clone()];
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = before.iter().zip(&new).take_while(same).count();
    let (left, right) = (&before[head..], &new[head..]);
    let pairs = left.iter().rev().zip(right.iter().rev());
    let tail = pairs.take_while(same).count();
    let left = &left[..left.len() - tail];
    let right = &right[..right.len() - tail];
    let first = old.start + head;
    if left.len().saturating_mul(right.len()) > MOST_PAIRS {
        hunks.push(Hunk {
            old: first..first + left.len(),
            new: right.to_vec(),
        });
        return;
    }
    let (mut at, mut to) = (0, 0);
    for (keep_left, keep_right) in common(left, right) {
        add(hunks, first + at..first + keep_left, &right[to..keep_right]);
        (at, to) = (keep_left + 1, keep_right + 1);
    }
    add(hunks, first + at..first + left.len(), &right[to..]);
}

fn add<'a>(hunks: &mut Vec<Hunk<'a>>, old: Range<usize>, new: &[&'a str]) {
    if !old.is_empty() || !new.is_empty() {
        hunks.push(Hunk {
            old,
            new: new.to_vec(),
        });
    }
}

/// Returns the longest row of lines that both have, as pairs of places.
fn common(left: &[&str], right: &[&str]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    let mut longest = vec![0u32; (left.len() + 1) * width];
    for one in (0..left.len()).rev() {
        for other in (0..right.len()).rev() {
            let here = one * width + other;
            longest[here] = match left[one] == right[other] {
                true => longest[here + width + 1] + 1,
                false => longest[here + width].max(longest[here + 1]),
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut pairs = Vec::new();
    while one < left.len() && other < right.len() {
        let here = one * width + other;
        if left[one] == right[other] {
            pairs.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if longest[here + width] >= longest[here + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    pairs
}

/// Writes hunks that share their context; returns by how many lines they move what follows.
fn write_group(lines: &[&str], group: &[Hunk<'_>], shift: isize, diff: &mut String) -> isize {
    let [first, ..] = group else {
        return 0;
    };
    let end = group.last().map_or(first.old.end, |hunk| hunk.old.end);
    let from = first.old.start.saturating_sub(CONTEXT);
    let to = (end + CONTEXT).min(lines.len());
    let gone: usize = group.iter().map(|hunk| hunk.old.len()).sum();
    let come: usize = group.iter().map(|hunk| hunk.new.len()).sum();
    let old_count = to - from;
    let new_count = old_count - gone + come;
    // An empty side is named by the line before it.
    let start = |count: usize, at: usize| at + usize::from(count > 0);
    diff.push_str(&format!(
        "@@ -{},{old_count} +{},{new_count} @@\n",
        start(old_count, from),
        start(new_count, from.saturating_add_signed(shift)),
    ));
    let mut at = from;
    for hunk in group {
        for line in &lines[at..hunk.old.start] {
            write_line(' ', line, diff);
        }
        for line in &lines[hunk.old.clone()] {
            write_line('-', line, diff);
        }
        for line in &hunk.new {
            write_line('+', line, diff);
        }
        at = hunk.old.end;
    }
    for line in &lines[at..to] {
        write_line(' ', line, diff);
    }
    come.cast_signed() - gone.cast_signed()
}

fn write_line(sign: char, line: &str, diff: &mut String) {
    let body = line.strip_suffix('\n');
    let text = body.unwrap_or(line);
    diff.push(sign);
    diff.push_str(text.strip_suffix('\r').unwrap_or(text));
    diff.push('\n');
    if body.is_none() {
        diff.push_str("\\ No newline at end of file\n");
    }
}
