//! Word wrapping.

/// Options of the wrapping.
#[derive(Debug, Clone)]
pub struct WrapOptions {
    pub width: usize,
    pub initial_indent: String,
    pub subsequent_indent: String,
    /// break words that are longer than a line
    pub break_long_words: bool,
}

impl WrapOptions {
    pub fn new(width: usize) -> Self {
        WrapOptions {
            width,
            initial_indent: String::new(),
            subsequent_indent: String::new(),
            break_long_words: true,
        }
    }

    pub fn initial_indent(mut self, s: &str) -> Self {
        self.initial_indent = s.to_string();
        self
    }

    pub fn subsequent_indent(mut self, s: &str) -> Self {
        self.subsequent_indent = s.to_string();
        self
    }

    pub fn break_long_words(mut self, yes: bool) -> Self {
        self.break_long_words = yes;
        self
    }
}

// width of a text; FIXME same as in misc?
fn text_width(s: &str) -> usize {
    let mut n = 0;
    for c in s.chars() {
        if ('\u{300}'..='\u{36f}').contains(&c) {
            continue;
        }
        n += if (c as u32) >= 0x2e80 && (c as u32) <= 0xa4cf {
            2
        } else {
            1
        };
    }
    n
}

/// Wraps a paragraph.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    wrap_with(text, &WrapOptions::new(width))
}

pub fn wrap_with(text: &str, options: &WrapOptions) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = options.initial_indent.clone();
    let mut line_is_empty = true;
    for word in text.split_whitespace() {
        let mut word = word.to_string();
        loop {
            let space = if line_is_empty { 0 } else { 1 };
            if text_width(&line) + space + text_width(&word) <= options.width {
                if !line_is_empty {
                    line.push(' ');
                }
                line.push_str(&word);
                line_is_empty = false;
                break;
            }
            if !line_is_empty {
                lines.push(line);
                line = options.subsequent_indent.clone();
                line_is_empty = true;
                continue;
            }
            if !options.break_long_words {
                line.push_str(&word);
                line_is_empty = false;
                break;
            }
            let room = options.width.saturating_sub(text_width(&line)).max(1);
            let mut head = String::new();
            let mut tail = String::new();
            let mut used = 0;
            for c in word.chars() {
                let w = text_width(&c.to_string());
                if tail.is_empty() && (used + w <= room || head.is_empty()) {
                    head.push(c);
                    used += w;
                } else {
                    tail.push(c);
                }
            }
            line.push_str(&head);
            lines.push(line);
            line = options.subsequent_indent.clone();
            if tail.is_empty() {
                break;
            }
            word = tail;
        }
    }
    lines.push(line);
    lines
}

/// Wraps every paragraph (separated by blank lines) and joins them again.
pub fn fill(text: &str, width: usize) -> String {
    let mut out = Vec::new();
    for paragraph in text.split("\n\n") {
        out.push(wrap(paragraph, width).join("\n"));
    }
    out.join("\n\n")
}

pub fn indent(text: &str, prefix: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.trim().len() > 0 {
            out.push_str(prefix);
        }
        out.push_str(line);
        out.push('\n');
    }
    if !text.ends_with('\n') {
        out.pop();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_the_next_line() {
        let lines = wrap("the quick brown fox jumps over the lazy dog", 10);
        assert_eq!(lines, ["the quick", "brown fox", "jumps over", "the lazy", "dog"]);
    }

    #[test]
    fn long_words_are_broken_or_not() {
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        let options = WrapOptions::new(3).break_long_words(false);
        assert_eq!(wrap_with("abcdefgh ij", &options), ["abcdefgh", "ij"]);
    }

    #[test]
    fn indents_take_room() {
        let options = WrapOptions::new(8).initial_indent("- ").subsequent_indent("  ");
        assert_eq!(wrap_with("one two three", &options), ["- one", "  two", "  three"]);
    }

    #[test]
    fn empty_text_wraps_to_nothing() {
        assert!(wrap("", 10).is_empty());
        assert!(wrap("  \n ", 10).is_empty());
    }

    #[test]
    fn paragraphs_stay_apart() {
        assert_eq!(fill("one two\nthree\n\nfour", 9), "one two\nthree\n\nfour");
        assert_eq!(indent("a\n\nb\n", "> "), "> a\n\n> b\n");
    }
}
