//! How things look: figures, lines, bars and cards. Colour only ever repeats what letters say.

pub mod bar;
pub mod compaction;
pub mod edits;
pub mod ledger;
pub mod plan;
pub mod progress;
pub mod size;
pub mod writing;

pub use session_text::{counted, tokens};
use std::io::Write;

use anstyle::{AnsiColor, Style};
use session_model::Severity;
pub use session_model::text::{clean, clean_lines, misleads};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The style of what matters less.
pub const DIM: Style = Style::new().dimmed();
/// The style of headings.
pub const BOLD: Style = Style::new().bold();
/// The style of good news.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The style of warnings.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// The style of errors.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Returns `text` in a style; the stream strips it where colour is not wanted.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

pub fn heading(text: &str) -> String {
    format!("{}\n", styled(BOLD, text))
}

pub fn error_label() -> String {
    styled(BAD, "error")
}

pub fn severity_label(severity: Severity) -> String {
    match severity {
        Severity::Note => styled(DIM, "note   "),
        Severity::Warning => styled(WARN, "warning"),
        Severity::Error => styled(BAD, "error  "),
    }
}

/// Returns a text in which styles are all that steers a terminal.
pub fn for_terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut pieces = text.split("\u{1b}[");
    safe += &clean_lines(pieces.next().unwrap_or_default());
    for piece in pieces {
        let parameters =
            piece.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
        safe += if parameters.starts_with('m') {
            "\u{1b}["
        } else {
            " ["
        };
        safe += &clean_lines(piece);
    }
    safe
}

/// Returns JSON in which characters that steer a terminal or are not seen are escaped.
pub fn json_text(document: &serde_json::Value) -> String {
    let mut text = String::new();
    for letter in format!("{document:#}\n").chars() {
        match letter {
            '\n' => text.push(letter),
            letter if misleads(letter) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    text += &format!("\\u{unit:04x}");
                }
            }
            letter => text.push(letter),
        }
    }
    text
}

/// Prints a line for the user to standard error. Whether somebody can read it does not matter to the work.
pub fn tell(line: &str) {
    progress::wipe();
    let _ = writeln!(anstream::stderr(), "{}", for_terminal(line));
}

/// Prints an error, of whatever its text is made.
pub fn tell_error(text: &str) {
    tell(&format!("{}: {}", error_label(), clean_lines(text)));
}

/// Returns the text that a person passes to the shell to name `path` again.
pub fn shell_name(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    // Only a NUL cannot be quoted, and no path has one.
    match shlex::try_quote(&text) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => text.clone(),
    }
}

/// Prints a note for the user to standard error.
pub fn note(text: &str) {
    tell(&format!("{}: {text}", styled(DIM, "note")));
}

/// Returns the columns that there are: the terminal's, within 40 and 110; 80 without one.
pub fn width() -> usize {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.unwrap_or(80).clamp(40, 110)
}

/// Returns the columns that a text takes on the screen; wide characters take two.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Returns a text with spaces behind it up to a width in columns.
pub fn padded(text: &str, width: usize) -> String {
    let gap = width.saturating_sub(columns(text));
    format!("{text}{:gap$}", "")
}

/// Splits a text where `room` columns are full.
pub fn split_columns(text: &str, room: usize) -> (&str, &str) {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or_default();
        used > room
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

/// Returns the words of a line in lines of at most `width` columns; a longer word is cut where the line ends.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in whole_words(text, width) {
        let mut rest = line.as_str();
        while !rest.is_empty() {
            let (line, after) = split_columns(rest, width.max(2));
            lines.push(line.to_owned());
            rest = after;
        }
    }
    lines
}

/// Returns the words of a line in lines of at most `width` columns. A longer word, such as a path, stays whole, so that it
/// can be copied.
fn whole_words(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// How wide the names of rows are.
const NAMES: usize = 12;

/// Returns a name with a text next to it, in as many lines as the screen needs.
pub fn row(indent: &str, name: &str, text: &str) -> String {
    let room = width().saturating_sub(indent.len() + NAMES);
    let mut name = name;
    let lines = whole_words(text, room).into_iter();
    lines
        .map(|line| format!("{indent}{:<NAMES$}{line}\n", std::mem::take(&mut name)))
        .collect()
}

/// Returns a path in at most `room` columns, shortened in the middle: its end says most.
pub fn short_path(path: &str, room: usize) -> String {
    let path = clean(path);
    if columns(&path) <= room {
        return path;
    }
    let head = room.saturating_sub(3) / 3;
    let mut left = room.saturating_sub(3 + head);
    let tail = path.char_indices().rev().map_while(|(at, letter)| {
        left = left.checked_sub(letter.width().unwrap_or_default())?;
        Some(at)
    });
    let start = tail.last().unwrap_or(path.len());
    format!("{}...{}", split_columns(&path, head).0, &path[start..])
}

/// Returns the first line of a text that is not empty, cleaned, in at most `room` columns.
pub fn first_line(text: &str, room: usize) -> String {
    let line = session_model::text::first_line(text, usize::MAX);
    match columns(&line) <= room {
        true => line,
        false => format!("{}...", split_columns(&line, room.saturating_sub(3)).0),
    }
}

/// Returns a rule across the screen with a title in it.
pub fn rule(title: &str, width: usize) -> String {
    let used = columns(title) + 4;
    let rest = "-".repeat(width.saturating_sub(used));
    format!("-- {title} {rest}")
}

#[cfg(test)]
mod tests {
    use super::{BAD, for_terminal, json_text, styled};

    #[test]
    fn only_styles_steer_the_terminal() {
        let bad = styled(BAD, "x\ty");
        assert_eq!(for_terminal(&bad), bad);
        let steers = "\u{1b}]0;t\u{7}\u{1b}[2Ja\u{1b}[1;31mb\u{9b}2J\u{202e}\u{200b}\nc\u{1b}[";
        assert_eq!(for_terminal(steers), " ]0;t  [2Ja\u{1b}[1;31mb 2J  \nc [");
    }

    #[test]
    fn json_escapes_what_steers_or_hides_and_means_the_same() {
        let document = serde_json::json!({ "a\u{9b}": "\u{202e}\u{e0041}\u{2028}\u{7f}ü\n" });
        let text = json_text(&document);
        assert!(
            text.contains(r"\u009b") && text.contains(r"\u202e\udb40\udc41\u2028\u007fü\n"),
            "{text}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).ok(),
            Some(document)
        );
    }
}
