//! Functions on lines

/// \r\n and \r become \n
pub fn normalize_newlines(s: &str) -> String {
    s.replace("\r\n", "\n").replace('\r', "\n")
}

pub fn trim_trailing(s: &str) -> String {
    let mut out = String::new();
    for line in s.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if !s.ends_with('\n') {
        out.pop();
    }
    out
}

/// Joins runs of blank lines to one.
pub fn squeeze_blank(s: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    for line in s.lines() {
        let is_blank = line.trim().is_empty();
        if is_blank && blank {
            continue;
        }
        blank = is_blank;
        out.push_str(line);
        out.push('\n');
    }
    if !s.ends_with('\n') {
        out.pop();
    }
    out
}

/// Numbers from 1, right aligned.
pub fn number_lines(s: &str) -> String {
    let count = s.lines().count();
    let width = count.to_string().len();
    let mut out = String::new();
    for (i, line) in s.lines().enumerate() {
        let n = (i + 1).to_string();
        for _ in 0..(width - n.len()) {
            out.push(' ');
        }
        out.push_str(&n);
        out.push_str("  ");
        out.push_str(line);
        out.push('\n');
    }
    out
}

// spaces in front of every line that is not blank
pub fn common_indent(s: &str) -> usize {
    let mut min = None;
    for line in s.lines() {
        if line.trim().len() == 0 {
            continue;
        }
        let n = line.len() - line.trim_start_matches(' ').len();
        min = match min {
            None => Some(n),
            Some(m) if n < m => Some(n),
            Some(m) => Some(m),
        };
    }
    min.unwrap_or(0)
}

pub fn dedent(s: &str) -> String {
    let n = common_indent(s);
    let mut out = String::new();
    for line in s.lines() {
        if line.trim().len() == 0 {
            out.push('\n');
        } else {
            out.push_str(&line[n..]);
            out.push('\n');
        }
    }
    if !s.ends_with('\n') {
        out.pop();
    }
    out
}

/// The longest common prefix.
pub fn common_prefix<'a>(texts: &[&'a str]) -> &'a str {
    let first = match texts.first() {
        Some(first) => *first,
        None => return "",
    };
    let mut end = first.len();
    for t in &texts[1..] {
        let mut n = 0;
        for (a, b) in first.chars().zip(t.chars()) {
            if a != b {
                break;
            }
            n += a.len_utf8();
        }
        if n < end {
            end = n;
        }
    }
    &first[..end]
}

/// Width of the longest line (in columns)
pub fn longest_line(s: &str) -> usize {
    let mut max = 0;
    for line in s.lines() {
        let mut w = 0;
        for c in line.chars() {
            w += crate::misc::char_width(c);
        }
        if w > max {
            max = w;
        }
    }
    max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newlines_and_trailing_blanks_are_normalized() {
        assert_eq!(normalize_newlines("a\r\nb\rc\n"), "a\nb\nc\n");
        assert_eq!(trim_trailing("a  \nb\t\n"), "a\nb\n");
        assert_eq!(squeeze_blank("a\n\n\n\nb\n"), "a\n\nb\n");
    }

    #[test]
    fn numbers_are_right_aligned() {
        let text = "x\n".repeat(10);
        let numbered = number_lines(&text);
        assert!(numbered.starts_with(" 1  x\n"));
        assert!(numbered.ends_with("10  x\n"));
    }

    #[test]
    fn the_common_indent_goes() {
        assert_eq!(common_indent("    a\n\n  b\n"), 2);
        assert_eq!(dedent("    a\n\n  b"), "  a\n\nb");
    }

    #[test]
    fn prefixes_and_widths() {
        assert_eq!(common_prefix(&["straße", "strand"]), "stra");
        assert_eq!(common_prefix(&[]), "");
        assert_eq!(longest_line("ab\n日本\n"), 4);
    }
}
