//! Finding the pieces of a text that are to be replaced.

use std::cell::OnceCell;
use std::ops::Range;

use super::edit::Replacement;
use crate::file::CommitPoint;
use crate::text::count;

/// A piece of a text and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// The range that is replaced, in bytes.
    pub(super) range: Range<usize>,
    /// The new text.
    pub(super) text: String,
}

/// Returns the changes that the replacements make in `text`, in text order, or why one of them cannot be made. A line
/// end in a replacement matches any line end of the file.
pub(super) fn find_changes(
    text: &str,
    edits: &[Replacement],
    commit: &CommitPoint,
) -> Result<Vec<Change>, String> {
    let searched = Searched::new(text);
    let mut found: Vec<(usize, Change)> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let describe = |reason: String| match edits.len() {
            1 => format!("old_text: {reason}"),
            _ => format!("edits[{index}].old_text: {reason}"),
        };
        let changes = searched.find(edit, commit).map_err(describe)?;
        found.extend(changes.into_iter().map(|change| (index, change)));
    }
    found.sort_by_key(|(_, change)| (change.range.start, change.range.end));
    for pair in found.windows(2) {
        let [(one, before), (other, after)] = pair else {
            continue;
        };
        if before.range.end > after.range.start {
            return Err(format!(
                "edits[{one}] and edits[{other}] touch the same text; make them one edit"
            ));
        }
    }
    Ok(found.into_iter().map(|(_, change)| change).collect())
}

/// A text without the carriage returns of its line ends.
struct Searched<'a> {
    original: &'a str,
    plain: String,
    /// The offsets in `plain` at which a carriage return is missing, in order.
    missing: Vec<usize>,
    /// The offsets of the newlines of the original, computed on first use.
    ends: OnceCell<Vec<usize>>,
}

impl<'a> Searched<'a> {
    fn new(original: &'a str) -> Self {
        let mut plain = String::with_capacity(original.len());
        let mut missing = Vec::new();
        let mut pieces = original.split("\r\n");
        plain.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            missing.push(plain.len());
            plain.push('\n');
            plain.push_str(piece);
        }
        Self {
            original,
            plain,
            missing,
            ends: OnceCell::new(),
        }
    }

    fn find(&self, edit: &Replacement, commit: &CommitPoint) -> Result<Vec<Change>, String> {
        let old = edit.old_text.replace("\r\n", "\n");
        let new = edit.new_text.replace("\r\n", "\n");
        if old.is_empty() {
            return Err(
                "is empty; give the text to replace, or use write for a new file".to_owned(),
            );
        }
        if old == new {
            return Err("is the same as new_text; give what is to change".to_owned());
        }
        let all = edit.all.unwrap_or(false);
        let places = match all {
            true => self
                .plain
                .match_indices(&old)
                .map(|(at, _)| at)
                .take_while(|_| !commit.is_cancelled())
                .collect(),
            false => overlapping(&self.plain, &old, commit),
        };
        if commit.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        match places.as_slice() {
            [] => Err(self.not_found(&old)),
            [_, _, ..] if !all => {
                let lines: Vec<String> = places
                    .iter()
                    .take(5)
                    .map(|at| self.line_at(*at).to_string())
                    .collect();
                Err(format!(
                    "occurs {} (lines {}); add lines around it until it occurs once, or set all to true",
                    count(places.len(), "time"),
                    lines.join(", ")
                ))
            }
            places => Ok(places
                .iter()
                .map(|at| self.change(*at..*at + old.len(), &new))
                .collect()),
        }
    }

    /// Returns the change of the original that replaces a range of the plain text by `new`.
    fn change(&self, range: Range<usize>, new: &str) -> Change {
        let original = self.place(range.start)..self.place(range.end);
        let replaced = &self.original[original.clone()];
        let crlf = match replaced.find('\n') {
            _ if !new.contains('\n') => false,
            Some(at) => replaced[..at].ends_with('\r'),
            // The line's own line end decides, or that of the first line if it has none.
            None => {
                let ends = self.ends();
                let next = ends.partition_point(|end| *end < original.end);
                let end = ends.get(next).or(ends.first());
                end.is_some_and(|end| self.original[..*end].ends_with('\r'))
            }
        };
        let text = match crlf {
            true => new.replace('\n', "\r\n"),
            false => new.to_owned(),
        };
        Change {
            range: original,
            text,
        }
    }

    /// Returns where in the original a place of the plain text is; before a line end, its carriage return follows.
    fn place(&self, plain: usize) -> usize {
        plain + self.missing.partition_point(|missing| *missing < plain)
    }

    fn ends(&self) -> &[usize] {
        self.ends.get_or_init(|| {
            let ends = self.original.match_indices('\n');
            ends.map(|(at, _)| at).collect()
        })
    }

    fn line_at(&self, plain: usize) -> usize {
        self.plain[..plain].matches('\n').count() + 1
    }

    fn not_found(&self, old: &str) -> String {
        let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
        let first = wanted.first().copied().unwrap_or_default();
        let lines: Vec<&str> = self.plain.lines().map(str::trim).collect();
        let matches = |at: &usize| {
            let window = lines.get(*at..*at + wanted.len());
            window.is_some_and(|window| window == wanted)
        };
        let hint = match (0..lines.len()).find(matches) {
            _ if first.is_empty() => String::new(),
            Some(at) => format!(
                "; line {} is the same but for spaces, so copy it exactly",
                at + 1
            ),
            None => match lines.iter().position(|line| *line == first) {
                Some(at) => format!("; only its first line is there, line {}", at + 1),
                None => "; read the file again".to_owned(),
            },
        };
        format!("is not in the file{hint}")
    }
}

/// Returns every place of `old`, also those that overlap.
fn overlapping(text: &str, old: &str, commit: &CommitPoint) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        if commit.is_cancelled() {
            break;
        }
        places.push(from + at);
        from += at + step;
    }
    places
}
