//! What the tool `recall` and the command share: patterns of bounded size and work, and the words for places.

use std::cell::Cell;

use compaction_core::{Matches, Place};
use regex::{Regex, RegexBuilder};

/// The largest compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 1 << 20;

/// How much of one text a pattern is looked for in, in bytes.
const SEARCHED: usize = 1 << 20;

/// The most places of one text that count.
const MOST_PLACES: usize = 1000;

/// How much is read to count further places in one text, in bytes: each may take what is left of the text.
const COUNTED: usize = 16 << 20;

/// How much is read to count further places in all texts of a search, in bytes.
const COUNTED_IN_ALL: usize = 256 << 20;

/// Says that a search did not read everything.
pub const IN_PART: &str =
    "there may be more: very long texts are searched in part, and matches counted up to a bound";

/// Returns a pattern. It finds the next place in time linear in the text, and what it compiles to is bounded here.
///
/// # Errors
/// What is wrong with the pattern, or that it is too large.
pub fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_LIMIT).build();
    built.map_err(|error| format!("the pattern cannot be used: {error}"))
}

/// A search by a pattern. The first place in each text is always found; further ones while there is work left.
pub struct Search {
    pattern: Regex,
    /// How many bytes may still be read to count further places.
    left: Cell<usize>,
}

impl Search {
    /// Returns a search for `pattern`.
    pub fn new(pattern: Regex) -> Self {
        Self {
            pattern,
            left: Cell::new(COUNTED_IN_ALL),
        }
    }

    /// Returns where the pattern matches, in the beginning of a long text; nothing more after a `stop`.
    pub fn matches(&self, text: &str, stop: impl Fn() -> bool) -> Matches {
        let searched = &text[..text.floor_char_boundary(SEARCHED)];
        let mut found = Matches {
            in_part: searched.len() < text.len(),
            ..Matches::default()
        };
        if stop() {
            return found;
        }
        let mut left_here = COUNTED;
        for place in self.pattern.find_iter(searched) {
            let rest = searched.len() - place.end();
            found.count += 1;
            found.first.get_or_insert(place.range());
            let left = self.left.get();
            if found.count == MOST_PLACES || rest > left_here || rest > left || stop() {
                found.in_part |= rest > 0;
                break;
            }
            left_here -= rest;
            self.left.set(left - rest);
        }
        found
    }
}

/// Returns where an entry stands, in words.
pub fn place_name(place: Place) -> &'static str {
    match place {
        Place::InContext => "in the context",
        Place::OutOfContext => "out of the context",
        Place::OtherBranch => "on another branch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> bool {
        false
    }

    #[test]
    fn a_pattern_looks_at_the_beginning_of_a_long_text_and_stops_when_told() {
        let text = format!("needle{}needle", "é".repeat(SEARCHED));
        let needle = Search::new(pattern("needle").unwrap());
        let found = needle.matches(&text, never);
        assert_eq!((found.first, found.count), (Some(0..6), 1));
        assert!(found.in_part);
        assert_eq!(needle.matches(&text, || true).count, 0);
        let short = needle.matches("a needle in a needle", never);
        assert_eq!((short.first, short.count), (Some(2..8), 2));
        assert!(!short.in_part);
    }

    #[test]
    fn a_pattern_that_reads_the_rest_for_each_place_counts_as_far_as_its_work_reaches() {
        let text = "A".repeat(1_000_000);
        let search = Search::new(pattern(".*[^A-Z]|[A-Z]").unwrap());
        let found = search.matches(&text, never);
        assert_eq!((found.first, found.count), (Some(0..1), 17));
        assert!(found.in_part);
        // When all work is done, one place of each text is still found.
        search.left.set(0);
        let found = search.matches(&text, never);
        assert_eq!((found.first, found.count), (Some(0..1), 1));
        assert!(found.in_part);
    }
}
