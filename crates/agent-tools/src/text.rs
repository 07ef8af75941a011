//! Text that a model may see: no control characters, no endless lines.

use std::borrow::Cow;
use std::io;

use serde_json::Value;

/// Stands for what is no text.
pub const REPLACEMENT: char = '\u{fffd}';

/// Returns `text` with every control character but newline and tab replaced, or `None` when there is none.
pub fn without_controls(text: &str) -> Option<String> {
    let bad = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    text.contains(bad)
        .then(|| text.replace(bad, REPLACEMENT.encode_utf8(&mut [0; 3])))
}

/// Returns `text` on one line, without control characters and characters that turn or hide others.
pub fn one_line(text: &str) -> String {
    text.replace(
        session_model::text::misleads,
        REPLACEMENT.encode_utf8(&mut [0; 3]),
    )
}

/// Returns a line cut to `chars` characters, with a note of what was cut.
pub fn clip_line(line: &str, chars: usize) -> Cow<'_, str> {
    match line.char_indices().nth(chars) {
        None => Cow::Borrowed(line),
        Some((at, _)) => Cow::Owned(line[..at].to_owned() + &more_in_line(line.len() - at)),
    }
}

/// Returns the note at the end of a line that was cut.
pub fn more_in_line(bytes: usize) -> String {
    format!(" [{} in this line]", count(bytes, "more byte"))
}

/// Returns the text with each line cut to `chars` characters, or `None` when none is longer.
pub fn clip_lines(text: &str, chars: usize) -> Option<String> {
    let long = text.lines().any(|line| line.chars().nth(chars).is_some());
    let clipped = || {
        let lines = text.split('\n').map(|line| clip_line(line, chars));
        lines.collect::<Vec<_>>().join("\n")
    };
    long.then(clipped)
}

/// Returns the end of the longest beginning of `text` that has at most `bytes` bytes and `lines` lines;
/// ends a line where it can.
pub fn beginning(text: &str, bytes: usize, lines: usize) -> usize {
    let by_lines = match lines {
        0 => 0,
        _ => {
            let mut ends = text.match_indices('\n');
            ends.nth(lines - 1).map_or(text.len(), |(at, _)| at + 1)
        }
    };
    if by_lines <= bytes {
        return by_lines;
    }
    let by_bytes = text.floor_char_boundary(bytes);
    let line_end = text[..by_bytes].rfind('\n').map(|at| at + 1);
    line_end.unwrap_or(by_bytes)
}

/// Returns the start of the longest end of `text` that has at most `bytes` bytes and `lines` lines; starts a
/// line where it can.
pub fn ending(text: &str, bytes: usize, lines: usize) -> usize {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let by_lines = match lines {
        0 => text.len(),
        _ => {
            let mut ends = body.rmatch_indices('\n');
            ends.nth(lines - 1).map_or(0, |(at, _)| at + 1)
        }
    };
    let by_bytes = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    if by_lines >= by_bytes {
        return by_lines;
    }
    let at_line_start = text[..by_bytes].ends_with('\n');
    let line_start = body
        .get(by_bytes..)
        .and_then(|rest| rest.find('\n'))
        .filter(|_| !at_line_start)
        .map(|at| by_bytes + at + 1);
    line_start.unwrap_or(by_bytes)
}

/// Returns how often `one` occurs, in words: `1 line`, `2 lines`.
pub fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}

/// Changes every text of a value.
pub fn each_string(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(members) => {
            let members = members.values_mut();
            members.for_each(|member| each_string(member, change));
        }
    }
}

/// Returns the reason of an I/O error, in words.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "leads through something that is not a folder".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" at path ")
                .next()
                .unwrap_or_default()
                .to_owned()
        }
    }
}
