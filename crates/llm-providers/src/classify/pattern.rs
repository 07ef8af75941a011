//! A tiny matcher: literal pieces with bounded gaps between them.

/// The largest distance between two pieces of a pattern, in bytes.
const GAP: usize = 200;

/// The length of a long text that is examined, in bytes: this much of its start and a quarter of it of its end.
const LOOK: usize = 8 * 1024;

/// Returns `text` as patterns want it: lower case, every run of white space and control characters one
/// space, straight apostrophes. The middle of a long text is left out.
pub(super) fn normalized(text: &str) -> String {
    let head = &text[..text.floor_char_boundary(LOOK)];
    let tail_from = text.floor_char_boundary(text.len().saturating_sub(LOOK / 4));
    let mut out = String::with_capacity(head.len() + 16);
    lower_into(&mut out, head);
    if tail_from >= head.len() {
        out.push(' ');
        lower_into(&mut out, &text[tail_from..]);
    } else {
        lower_into(&mut out, &text[head.len()..]);
    }
    out.trim().to_owned()
}

fn lower_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            c if c.is_whitespace() || c.is_control() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '\u{2018}' | '\u{2019}' => out.push('\''),
            c => out.extend(c.to_lowercase()),
        }
    }
}

/// Returns true if `text`, normalized, has the pieces of `pattern`, which `*` separates, in their order and
/// with at most 200 bytes between two of them.
pub(super) fn matches(text: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(first) = pieces.next().filter(|piece| !piece.is_empty()) else {
        return false;
    };
    text.match_indices(first)
        .any(|(at, found)| follow(&text[at + found.len()..], pieces.clone()))
}

fn follow<'p>(mut text: &str, pieces: impl Iterator<Item = &'p str>) -> bool {
    for piece in pieces {
        let near = &text[..text.floor_char_boundary(GAP + piece.len())];
        let Some(at) = near.find(piece) else {
            return false;
        };
        text = &text[at + piece.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{matches, normalized};

    #[test]
    fn pieces_match_in_order_and_near_each_other() {
        let text = normalized("This model\u{2019}s  MAXIMUM context\n length is 4,097 tokens");
        assert_eq!(text, "this model's maximum context length is 4,097 tokens");
        assert!(matches(&text, "maximum context length*tokens"));
        assert!(matches(&text, "model's maximum"));
        assert!(!matches(&text, "tokens*maximum"));
        assert!(!matches(&text, ""));
        let far = format!("maximum {} tokens", "é".repeat(400));
        assert!(!matches(&far, "maximum*tokens"));
        let again = format!("{far} maximum of tokens");
        assert!(matches(&again, "maximum*tokens"));
    }

    #[test]
    fn the_end_of_a_long_text_is_looked_at() {
        let text = format!("{} Prompt is too long", "word ".repeat(100_000));
        let text = normalized(&text);
        assert!(text.len() < 12_000);
        assert!(matches(&text, "prompt is too long"));
    }
}
