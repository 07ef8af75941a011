//! misc helpers

/// Width of a char. 0 for combining marks, 2 for wide ones.
pub fn char_width(c: char) -> usize {
    let n = c as u32;
    if c.is_control() {
        return 0;
    }
    if (0x300..=0x36f).contains(&n) || (0x200b..=0x200f).contains(&n) || n == 0xfeff {
        return 0;
    }
    if (0x1100..=0x115f).contains(&n)
        || (0x2e80..=0xa4cf).contains(&n)
        || (0xac00..=0xd7a3).contains(&n)
        || (0xf900..=0xfaff).contains(&n)
        || (0xfe30..=0xfe6f).contains(&n)
        || (0xff00..=0xff60).contains(&n)
        || (0x1f300..=0x1faff).contains(&n)
    {
        return 2;
    }
    1
}

pub fn display_width(s: &str) -> usize {
    let mut w = 0;
    for c in s.chars() {
        w = w + char_width(c);
    }
    w
}

// pads on the right with spaces
pub fn pad_right(s: &str, width: usize) -> String {
    let mut out = String::from(s);
    let w = display_width(s);
    if w < width {
        for _ in 0..(width - w) {
            out.push(' ');
        }
    }
    out
}

pub fn pad_left(s: &str, width: usize) -> String {
    let w = display_width(s);
    let mut out = String::new();
    if w < width {
        for _ in 0..(width - w) {
            out.push(' ');
        }
    }
    out.push_str(s);
    out
}

/// Centers the text; the extra space goes to the right.
pub fn pad_center(s: &str, width: usize) -> String {
    let w = display_width(s);
    if w >= width {
        return s.to_string();
    }
    let left = (width - w) / 2;
    let right = width - w - left;
    let mut out = String::new();
    for _ in 0..left {
        out.push(' ');
    }
    out.push_str(s);
    for _ in 0..right {
        out.push(' ');
    }
    out
}

// cuts to a width, with an ellipsis
pub fn truncate(s: &str, width: usize) -> String {
    if display_width(s) <= width {
        return s.to_string();
    }
    if width == 0 {
        return String::new();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in s.chars() {
        let w = char_width(c);
        if used + w > width - 1 {
            break;
        }
        used += w;
        out.push(c);
    }
    out.push('…');
    out
}

pub fn is_blank(s: &str) -> bool {
    s.trim().len() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters() {
        assert_eq!(display_width("abc"), 3);
        assert_eq!(display_width("日本"), 4);
        assert_eq!(display_width("e\u{301}"), 1);
    }

    #[test]
    fn padding_fills_up_to_the_width() {
        assert_eq!(pad_right("ab", 4), "ab  ");
        assert_eq!(pad_left("ab", 4), "  ab");
        assert_eq!(pad_center("ab", 5), " ab  ");
        assert_eq!(pad_right("abcdef", 4), "abcdef");
    }

    #[test]
    fn truncation_leaves_room_for_the_ellipsis() {
        assert_eq!(truncate("hello world", 6), "hello…");
        assert_eq!(truncate("hello", 5), "hello");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("x", 0), "");
    }
}
