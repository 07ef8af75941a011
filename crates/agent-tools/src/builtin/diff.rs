//! Unified diffs of what a tool changed in a file.

use std::time::Duration;

use llm_providers::Redactor;
use similar::{ChangeTag, DiffOp, TextDiff};

use crate::context::ToolLimits;
use crate::text::{beginning, clip_lines, count};

/// The number of unchanged lines shown on each side.
const CONTEXT: usize = 3;

/// The time limit of the search for the smallest diff; after that a larger one is taken.
const SEARCH: Duration = Duration::from_millis(500);

/// Returns the unified diff of two versions of the file `path`.
pub(super) fn unified(path: &str, old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let found = TextDiff::configure()
        .timeout(SEARCH)
        .diff_slices(&old, &new);
    let mut diff = format!("--- {path}\n+++ {path}\n");
    for group in found.grouped_ops(CONTEXT) {
        diff.push_str(&header(&group));
        for change in group.iter().flat_map(|op| found.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            write_line(sign, change.value(), &mut diff);
        }
    }
    diff
}

/// Returns the diff as a result may hold it: without keys, and cut to the limits.
pub(super) fn bounded(mut diff: String, limits: &ToolLimits, redactor: &Redactor) -> String {
    // Before it is cut, so that no part of a key stays.
    diff = redactor.clean_answer(&diff);
    if let Some(clipped) = clip_lines(&diff, limits.line_chars) {
        diff = clipped;
    }
    let fits = beginning(&diff, limits.output_bytes, limits.output_lines);
    let left = diff[fits..].lines().count();
    diff.truncate(fits);
    if left > 0 {
        let left = count(left, "line");
        diff.push_str(&format!("[{left} of the diff left out]\n"));
    }
    diff
}

fn header(group: &[DiffOp]) -> String {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return String::new();
    };
    let range = |start: usize, end: usize| {
        let count = end - start;
        // An empty side is named by the line before it.
        format!("{},{count}", start + usize::from(count > 0))
    };
    format!(
        "@@ -{} +{} @@\n",
        range(first.old_range().start, last.old_range().end),
        range(first.new_range().start, last.new_range().end)
    )
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
