//! What an author keeps from being searched: `<private>` spans, and markers that exclude a message or a session.

use std::borrow::Cow;
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

/// What stands in the place of a private span.
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

/// Returns a text without its private spans. One that is not closed reaches to the end of the text.
pub fn without_private(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut depth = 0_usize;
    let mut from = 0;
    for at in memchr::memchr_iter(b'<', text.as_bytes()) {
        if begins_with(&text[at..], OPEN) {
            if depth == 0 {
                kept.push_str(&text[from..at]);
                kept.push_str(REMOVED);
            }
            depth += 1;
        } else if depth > 0 && begins_with(&text[at..], CLOSE) {
            depth -= 1;
            from = at + CLOSE.len();
        }
    }
    match (kept.is_empty(), depth) {
        (true, _) => Cow::Borrowed(text),
        (false, 0) => Cow::Owned(kept + &text[from..]),
        (false, _) => Cow::Owned(kept),
    }
}

fn begins_with(text: &str, tag: &str) -> bool {
    let bytes = text.as_bytes().get(..tag.len());
    bytes.is_some_and(|bytes| bytes.eq_ignore_ascii_case(tag.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{is_excluded, without_private};

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
