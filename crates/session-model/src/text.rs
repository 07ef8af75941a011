//! Text from a session made safe to show: no character that steers a terminal or misleads a reader.

/// Returns a text from a session without control characters, so that it cannot steer the terminal.
pub fn clean(text: &str) -> String {
    text.replace(misleads, " ")
}

/// Returns whether a character is not seen itself, or changes how others are: control characters, those that turn
/// the direction of text, tags, other line ends, and blanks without a width. Joiners, which scripts and emoji need, do not.
pub fn misleads(character: char) -> bool {
    character.is_control() || turns(character)
}

/// Returns whether a character turns or hides others.
pub fn turns(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
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

/// Returns a text with each character that is not seen, or passes for a blank, as an escape such as `\u{200b}`; line
/// breaks and tabs stay.
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unseen(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_unseen(character: char) -> bool {
    let is_blank = character.is_whitespace() && !matches!(character, ' ' | '\n' | '\t');
    let is_ignored = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}'
    );
    let is_misleading = misleads(character) && !matches!(character, '\n' | '\t');
    is_blank || is_ignored || is_misleading
}

/// Returns the beginning and the end of a text that has more than `most` characters, and how many are between them.
pub fn head_and_tail(text: &str, most: usize) -> Option<(&str, usize, &str)> {
    let left_out = text
        .chars()
        .count()
        .checked_sub(most)
        .filter(|left_out| *left_out > 0)?;
    let (head, _) = text.char_indices().nth(most / 2)?;
    let (tail, _) = text.char_indices().nth(most / 2 + left_out)?;
    Some((&text[..head], left_out, &text[tail..]))
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
    use super::{clean_lines, first_line, head_and_tail, one_line, reveal};

    #[test]
    fn characters_that_are_not_seen_are_shown_as_escapes() {
        let unseen =
            "\u{2800}\u{3164}\u{200b}\u{202e}\u{feff}\u{a0}\u{ad}\u{2028}\u{1b}\r\u{e0041}\u{fe0f}";
        for character in unseen.chars() {
            let escape = character.escape_unicode();
            assert_eq!(reveal(&format!("a{character}b")), format!("a{escape}b"));
        }
        let seen = "größe\t日本語\n\u{2713} e\u{301}";
        assert_eq!(reveal(seen), seen);
    }

    #[test]
    fn of_a_long_text_both_ends_are_kept() {
        assert_eq!(head_and_tail("äbcdefgh", 4), Some(("äb", 4, "gh")));
        assert_eq!(head_and_tail("äbcdefgh", 5), Some(("äb", 3, "fgh")));
        assert_eq!(head_and_tail("äbcd", 4), None);
    }

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

    #[test]
    fn what_is_not_seen_is_shown_as_a_blank_and_joiners_stay() {
        let hidden = "\u{7f}\u{9b}\u{ad}\u{61c}\u{180e}\u{200b}\u{2028}\u{2029}\u{2060}\u{2800}\u{3164}\u{feff}";
        for character in hidden.chars() {
            assert_eq!(
                clean_lines(&format!("a{character}b")),
                "a b",
                "{character:?}"
            );
        }
        let joined = "\u{1f468}\u{200d}\u{1f469} \u{645}\u{6cc}\u{200c}\u{62e}";
        assert_eq!(clean_lines(joined), joined);
    }
}
