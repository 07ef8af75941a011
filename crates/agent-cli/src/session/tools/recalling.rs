//! What the tool `recall` and the command share: patterns of bounded size, and the words for places.

use std::ops::Range;

use compaction_core::Place;
use regex::{Regex, RegexBuilder};

/// The largest compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 1 << 20;

/// The most places of one text that count.
const MOST_PLACES: usize = 1000;

/// Returns a pattern. It takes time linear in the text, and what it compiles to is bounded here.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_LIMIT).build();
    built.map_err(|error| format!("the pattern cannot be used: {error}"))
}

/// Returns the first places where a pattern matches.
pub(crate) fn places(pattern: &Regex, text: &str) -> Vec<Range<usize>> {
    let found = pattern.find_iter(text).take(MOST_PLACES);
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
