//! Texts in lines that fit the screen.

use crate::ui::{columns, first_line};

/// Returns parts with commas between them, in lines of at most `width` columns where no part is longer; lines
/// behind the first begin with `indent`.
pub(super) fn filled(parts: &[String], indent: &str, width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for part in parts {
        let length = columns(part);
        match used {
            0 => {}
            // The comma behind this part is counted too.
            _ if used + 2 + length < width => {
                text.push_str(", ");
                used += 2;
            }
            _ => {
                text.push_str(",\n");
                text.push_str(indent);
                used = columns(indent);
            }
        }
        text.push_str(part);
        used += length;
    }
    text
}

/// Returns the first line of a text, and dots where more follows.
pub(super) fn cut(text: &str, room: usize) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next() {
        None => first_line(first, room),
        Some(_) => {
            let line = first_line(first, room.saturating_sub(4));
            match line.ends_with("...") {
                true => line,
                false => format!("{line} ..."),
            }
        }
    }
}
