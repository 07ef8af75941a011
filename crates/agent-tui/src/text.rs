//! Text in lines that fit the screen. Whatever comes from models, tools or files is cleaned before it gets here.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use session_model::text::{clean, clean_lines};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns a tab takes in texts that are shown.
const TAB: &str = "    ";

/// Returns the columns that a text takes on the screen; wide characters take two.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Returns the lines of a text that cannot be trusted: without control characters, escape sequences and characters
/// that turn the direction of text, and with spaces in place of tabs.
pub fn safe_lines(text: &str) -> Vec<String> {
    let text = clean_lines(&text.replace("\r\n", "\n"));
    text.lines().map(|line| line.replace('\t', TAB)).collect()
}

/// Returns a text that cannot be trusted on one line.
pub fn safe_line(text: &str) -> String {
    clean(text.trim())
}

/// Returns a text in at most `room` columns; dots stand for what is left out.
pub fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let dots = if room > 3 { "..." } else { "" };
    let mut left = room.saturating_sub(dots.len());
    let kept = text.chars().take_while(|letter| {
        let width = letter.width().unwrap_or_default();
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    });
    let mut kept: String = kept.collect();
    kept.push_str(dots);
    kept
}

/// Returns as many parts as have room, the first ones first, and `last` behind them, which is never left out.
pub fn fitting(parts: &[&str], last: &str, between: &str, room: usize) -> String {
    let whole = |count: usize| {
        let shown = parts[..count].iter().copied();
        let shown = shown.chain((!last.is_empty()).then_some(last));
        shown.collect::<Vec<_>>().join(between)
    };
    let fits = (0..=parts.len()).rev().map(whole);
    let mut fits = fits.filter(|text| !text.is_empty() && columns(text) <= room);
    fits.next()
        .unwrap_or_else(|| cut(&whole(parts.len().min(1)), room))
}

/// Returns a title of parts with three spaces between them, without those at its end that have no room.
pub fn title(text: &str, room: usize) -> String {
    let parts: Vec<&str> = text.split("   ").collect();
    fitting(&parts, "", "   ", room)
}

/// Returns the end of a text in at most `room` columns.
pub fn cut_start(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(3);
    let start = text.char_indices().rev().map_while(|(at, letter)| {
        left = left.checked_sub(letter.width().unwrap_or_default())?;
        Some(at)
    });
    let start = start.last().unwrap_or(text.len());
    cut(&format!("...{}", &text[start..]), room)
}

/// Returns one line of one style.
pub fn line(text: impl Into<String>, style: Style) -> Line<'static> {
    Line::from(Span::styled(text.into(), style))
}

/// Returns a line in as many lines as `width` columns need, broken between words where that is possible; `hang` is
/// put in front of each line but the first.
pub fn wrap(line: &Line<'_>, width: usize, hang: &Span<'static>) -> Vec<Line<'static>> {
    let letters: Vec<(char, Style)> = line
        .spans
        .iter()
        .flat_map(|span| span.content.chars().map(|letter| (letter, span.style)))
        .collect();
    let indent = columns(&hang.content).min(width / 2);
    let mut lines = Vec::new();
    let mut start = 0;
    loop {
        let is_first = lines.is_empty();
        let room = if is_first { width } else { width - indent }.max(2);
        let end = start + letters_that_fit(&letters[start..], room);
        let (end, next) = match end == letters.len() {
            true => (end, end),
            false => break_before(&letters, start, end),
        };
        let mut spans = Vec::new();
        if !is_first && indent > 0 {
            spans.push(hang.clone());
        }
        spans.extend(runs(&letters[start..end]));
        lines.push(Line::from(spans));
        if next >= letters.len() {
            return lines;
        }
        start = next;
    }
}

/// Returns how many letters fit into `room` columns, at least one.
fn letters_that_fit(letters: &[(char, Style)], room: usize) -> usize {
    let mut used = 0;
    let fits = letters.iter().take_while(|(letter, _)| {
        used += letter.width().unwrap_or_default();
        used <= room
    });
    fits.count().max(1).min(letters.len())
}

/// Returns where a line that is full at `end` ends, and where the next one begins.
fn break_before(letters: &[(char, Style)], start: usize, end: usize) -> (usize, usize) {
    let space = (start + 1..=end).rev().find(|at| letters[*at].0 == ' ');
    let indent = letters[start..]
        .iter()
        .take_while(|(letter, _)| *letter == ' ');
    let text = start + indent.count();
    match space.filter(|at| *at > text) {
        None => (end, end),
        Some(at) => {
            let spaces = letters[at..]
                .iter()
                .take_while(|(letter, _)| *letter == ' ');
            (at, at + spaces.count())
        }
    }
}

/// Returns letters as spans, neighbours of one style together.
fn runs(letters: &[(char, Style)]) -> Vec<Span<'static>> {
    letters
        .chunk_by(|one, next| one.1 == next.1)
        .map(|run| {
            let text: String = run.iter().map(|(letter, _)| *letter).collect();
            Span::styled(text, run[0].1)
        })
        .collect()
}

/// Returns lines of plain text that are wrapped, each behind `prefix`.
pub fn prefixed(texts: &[String], prefix: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let hang = Span::raw(" ".repeat(columns(prefix)));
    let lines = texts.iter().enumerate().flat_map(|(place, text)| {
        let prefix = if place == 0 { prefix } else { &hang.content };
        let whole = line(format!("{prefix}{text}"), style);
        wrap(&whole, width, &hang)
    });
    lines.collect()
}

/// Returns what a line says, without styles.
pub fn text_of(line: &Line<'_>) -> String {
    line.spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Line, Span, cut, cut_start, safe_lines, text_of, wrap};

    fn check(text: &str, width: usize, hang: &str) -> Vec<String> {
        let hang = Span::raw(hang.to_owned());
        let lines = wrap(&Line::from(text.to_owned()), width, &hang);
        lines.iter().map(text_of).collect()
    }

    #[test]
    fn lines_break_between_words_and_long_words_where_the_line_ends() {
        assert_eq!(check("one two three", 8, ""), ["one two", "three"]);
        assert_eq!(check("one two three", 9, "  "), ["one two", "  three"]);
        assert_eq!(check("abcdefghij", 4, ""), ["abcd", "efgh", "ij"]);
        assert_eq!(check("", 4, ""), [""]);
        assert_eq!(check("one two ", 7, ""), ["one two"]);
        assert_eq!(
            check("    indented code", 8, ""),
            ["    inde", "nted", "code"]
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(check("日本語日本語", 5, ""), ["日本", "語日", "本語"]);
        assert_eq!(cut("日本語", 5), "日...");
        assert_eq!(cut_start("/home/ann/parser", 9), "...parser");
    }

    #[test]
    fn hostile_text_stays_text() {
        let shown = safe_lines("a\u{1b}]0;title\u{7}b\r\nc\u{202e}d\te\u{9b}2J");
        assert_eq!(shown, ["a ]0;title b", "c d    e 2J"]);
    }
}
