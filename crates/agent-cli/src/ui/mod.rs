//! How things look: figures, lines, bars and cards. Colour only ever repeats what letters say.

pub mod bar;
pub mod compaction;
pub mod ledger;
pub mod plan;
pub mod progress;
pub mod restored;
pub mod writing;

use anstyle::{AnsiColor, Style};
use compaction_core::TokenCount;
use session_model::Severity;

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

/// Returns the word that opens an error message.
pub fn error_label() -> String {
    styled(BAD, "error")
}

/// Returns the word that opens a diagnostic.
pub fn severity_label(severity: Severity) -> String {
    match severity {
        Severity::Note => styled(DIM, "note   "),
        Severity::Warning => styled(WARN, "warning"),
        Severity::Error => styled(BAD, "error  "),
    }
}

/// Returns a token figure for people: `950`, `31.8k`, `1.2M`.
pub fn tokens(count: TokenCount) -> String {
    let tenths = |unit: u64| {
        let tenths = count.0.saturating_add(unit / 20) / (unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match count.0 {
        0..1000 => count.to_string(),
        1000..999_950 => format!("{}k", tenths(1000)),
        _ => format!("{}M", tenths(1_000_000)),
    }
}

/// Returns `count` and the noun, in the plural where it belongs.
pub fn counted(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (_, "entry") => format!("{count} entries"),
        (_, "match") => format!("{count} matches"),
        (_, "matching entry") => format!("{count} matching entries"),
        (_, "branch") => format!("{count} branches"),
        (_, noun) => format!("{count} {noun}s"),
    }
}

/// Returns the columns that there are: the terminal's, within 40 and 110; 80 without one.
pub fn width() -> usize {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.unwrap_or(80).clamp(40, 110)
}

/// Returns a text from a session without control characters, so that it cannot steer the terminal.
pub fn clean(text: &str) -> String {
    text.replace(misleads, " ")
}

/// Returns whether a character is not seen itself, but changes how others are: control characters, those that turn
/// the direction of text, and tags.
pub fn misleads(character: char) -> bool {
    character.is_control() || turns(character)
}

/// Returns whether a character turns or hides others.
pub fn turns(character: char) -> bool {
    matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Returns a text of several lines without control characters; its line breaks and tabs stay.
pub fn clean_lines(text: &str) -> String {
    let visible = |character: char| match character {
        '\n' | '\t' => character,
        other if misleads(other) => ' ',
        plain => plain,
    };
    text.chars().map(visible).collect()
}

/// Returns the first line of `text` that is not blank, cut to `width` characters, without control characters.
pub fn first_line(text: &str, width: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let clean = clean(line.unwrap_or_default().trim());
    if clean.chars().count() <= width {
        return clean;
    }
    let kept: String = clean.chars().take(width.saturating_sub(3)).collect();
    format!("{kept}...")
}

/// Returns a rule across the screen with a title in it.
pub fn rule(title: &str, width: usize) -> String {
    let used = title.chars().count() + 4;
    let rest = "-".repeat(width.saturating_sub(used));
    format!("-- {title} {rest}")
}

#[cfg(test)]
mod tests {
    use super::{clean_lines, first_line, tokens};
    use compaction_core::TokenCount;

    #[test]
    fn figures_are_short_and_never_jump_a_unit() {
        let shown = [
            0, 999, 1000, 1049, 1050, 31_849, 999_949, 999_950, 12_345_678,
        ]
        .map(|count| tokens(TokenCount(count)));
        let want = [
            "0", "999", "1.0k", "1.0k", "1.1k", "31.8k", "999.9k", "1.0M", "12.3M",
        ];
        assert_eq!(shown, want);
    }

    #[test]
    fn a_text_of_several_lines_keeps_them_and_steers_no_terminal() {
        let text = "a\tb\n\u{1b}]0;title\u{7}c\r\n\u{9b}2J\u{0}\u{2713}\n";
        assert_eq!(clean_lines(text), "a\tb\n ]0;title c \n 2J \u{2713}\n");
    }

    #[test]
    fn lines_are_cut_and_cleaned() {
        assert_eq!(first_line("\n\n a\u{1b}[2Jb\nc", 10), "a [2Jb");
        assert_eq!(clean_lines("a\u{202e}b\u{200f}\n\u{2066}c"), "a b \n c");
        assert_eq!(first_line("0123456789", 8), "01234...");
    }
}
