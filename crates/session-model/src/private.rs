//! What an author keeps from being searched: `<private>` spans, and markers that exclude a message or a session.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

/// What every marker contains. No writer of JSON escapes any of these bytes.
pub const MARKER_BYTES: &[u8] = b"EPISODIC-MEMORY";

/// Markers that other programs define: each stands in a message of a session that is not to be searched.
const MARKERS: [(&str, &str); 3] = [
    (
        "<INSTRUCTIONS-TO-EPISODIC-MEMORY>",
        "DO NOT INDEX THIS CHAT",
    ),
    ("<EPISODIC-MEMORY-EXCLUDE", "/>"),
    ("<EPISODIC-MEMORY-EXCLUDE", ">"),
];

/// Takes out of a text what must not be found: a redactor's work.
pub type Clean<'a> = &'a (dyn Fn(&str) -> String + Sync);

const OPEN: &str = "<private>";
const CLOSE: &str = "</private>";

/// What replaces a private span.
const REMOVED: &str = "[private]";

/// Returns whether a text carries a marker that excludes it.
pub fn is_excluded(text: &str) -> bool {
    static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(MARKER_BYTES));
    FINDER.find(text.as_bytes()).is_some()
        && MARKERS.iter().any(|(begin, end)| {
            let mut places = text.match_indices(begin);
            places.any(|(at, _)| text[at + begin.len()..].trim_start().starts_with(end))
        })
}

/// Returns a text without its private spans, each replaced by `[private]`. One that is not closed reaches to the end of the
/// text; on a line that quotes (`>`), to the end of the line; behind a backtick it is only spoken of.
pub fn without_private(text: &str) -> Cow<'_, str> {
    joined(text, REMOVED)
}

/// Returns a text without its private spans, each replaced by the end of a line, so that every line left is a part of
/// the text.
pub fn public_lines(text: &str) -> Cow<'_, str> {
    joined(text, "\n")
}

fn joined<'t>(text: &'t str, between: &str) -> Cow<'t, str> {
    let private = private_spans(text);
    if private.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
    for span in private {
        kept.push_str(&text[from..span.start]);
        kept.push_str(between);
        from = span.end;
    }
    Cow::Owned(kept + &text[from..])
}

/// Returns the private spans, tags included; of nested ones the outermost.
fn private_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut tags = memchr::memchr_iter(b'<', text.as_bytes());
    while let Some(start) = tags.find(|at| begins_with(&text[*at..], OPEN)) {
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let is_quoted = text[line..start].trim_start().starts_with('>');
        let is_code = text[..start].ends_with('`');
        let limit = match is_quoted || is_code {
            true => text[start..]
                .find('\n')
                .map_or(text.len(), |end| start + end),
            false => text.len(),
        };
        let (mut depth, mut end) = (1_usize, if is_code { start } else { limit });
        for at in tags.clone().take_while(|at| *at < limit) {
            if begins_with(&text[at..], OPEN) {
                depth += 1;
            } else if begins_with(&text[at..], CLOSE) {
                depth -= 1;
                if depth == 0 {
                    end = at + CLOSE.len();
                    break;
                }
            }
        }
        if end > start {
            spans.push(start..end);
            let covered = tags.clone().take_while(|at| *at < end).count();
            tags.by_ref().take(covered).for_each(drop);
        }
    }
    spans
}

fn begins_with(text: &str, tag: &str) -> bool {
    let bytes = text.as_bytes().get(..tag.len());
    bytes.is_some_and(|bytes| bytes.eq_ignore_ascii_case(tag.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{is_excluded, public_lines, without_private};

    #[test]
    fn private_spans_are_removed_whole() {
        let check = |text: &str, want: &str| assert_eq!(without_private(text), want, "{text}");
        check("a < b", "a < b");
        check("a <private>b</private> c", "a [private] c");
        check("<PRIVATE>a\nb</Private>", "[private]");
        // What is not closed reaches to the end; what is nested ends with its outermost tag.
        check("a <private>b", "a [private]");
        check(
            "<private>a<private>b</private>c</private>d<private>",
            "[private]d[private]",
        );
        check("a</private>b", "a</private>b");
        // What is quoted hides no other line.
        check("> a <private>b\nc", "> a [private]\nc");
        check("the tag `<private>` is a\nb", "the tag `<private>` is a\nb");
        check("`<private>a</private>` b", "`[private]` b");
        check(
            "> <private>a</private> b\n<private>c",
            "> [private] b\n[private]",
        );
        assert_eq!(public_lines("a <private>b\nc</private> d"), "a \n d");
    }

    #[test]
    fn markers_exclude_a_text() {
        assert!(is_excluded(
            "x <INSTRUCTIONS-TO-EPISODIC-MEMORY>DO NOT INDEX THIS CHAT</INSTRUCTIONS-TO-EPISODIC-MEMORY>"
        ));
        assert!(is_excluded("<EPISODIC-MEMORY-EXCLUDE/>"));
        assert!(is_excluded("<EPISODIC-MEMORY-EXCLUDE />"));
        assert!(!is_excluded("EPISODIC-MEMORY-EXCLUDE"));
        assert!(!is_excluded("<INSTRUCTIONS-TO-EPISODIC-MEMORY>index it"));
    }
}
