//! What the tool `recall` and the command share: patterns of bounded size, and the words for places.

use std::ops::Range;

use compaction_core::Place;
use regex::{Regex, RegexBuilder};

/// The largest compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 1 << 20;

/// How much of one text a pattern is looked for in, in bytes.
const SEARCHED: usize = 1 << 20;

/// The most places of one text that count.
const MOST_PLACES: usize = 1000;

/// Returns a pattern. It takes time linear in the text, and what it compiles to is bounded here.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_LIMIT).build();
    built.map_err(|error| format!("the pattern cannot be used: {error}"))
}

/// Returns the first places where a pattern matches, in the beginning of a long text; none after a `stop`.
pub(crate) fn places(pattern: &Regex, text: &str, stop: impl Fn() -> bool) -> Vec<Range<usize>> {
    let searched = &text[..text.floor_char_boundary(SEARCHED)];
    let found = pattern.find_iter(searched).take(MOST_PLACES);
    let found = found.take_while(|_| !stop());
    found.map(|found| found.range()).collect()
}

/// Returns where an entry stands, in words.
pub(crate) fn place_name(place: Place) -> &'static str {
    match place {
        Place::InContext => "in the context",
        Place::OutOfContext => "out of the context",
        Place::OtherBranch => "on another branch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_looks_at_the_beginning_of_a_long_text_and_stops_when_told() {
        let text = format!("needle{}needle", "é".repeat(SEARCHED));
        let needle = pattern("needle").unwrap();
        let found = places(&needle, &text, || false);
        assert_eq!(found.first(), Some(&(0..6)));
        assert_eq!(found.len(), 1);
        assert!(places(&needle, &text, || true).is_empty());
    }
}
