//! Text from a session made safe to show: no character that steers a terminal or misleads a reader.

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

/// Returns a text on one line, white space folded, cut to `width` characters with an ellipsis.
pub fn one_line(text: &str, width: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(length > 0);
        let letters = word.chars().count();
        line.push_str(&" "[..gap]);
        if length + gap + letters > width {
            line.extend(word.chars().take(width.saturating_sub(length + gap + 1)));
            return line.trim_end().to_owned() + "…";
        }
        line.push_str(word);
        length += gap + letters;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{clean_lines, first_line, one_line};

    #[test]
    fn a_text_is_folded_to_one_line_and_cut() {
        assert_eq!(one_line(" a\n\tb  c ", 9), "a b c");
        assert_eq!(one_line("abc defgh", 7), "abc de…");
        assert_eq!(one_line("abc def", 4), "abc…");
        assert_eq!(one_line("", 0), "");
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
