//! The quotes in a summary.

use std::collections::BTreeSet;

use super::readable::folded;

/// The shortest quote that is searched for, in characters and in words.
const LEAST: usize = 16;
const WORDS: usize = 3;
/// The longest, in characters.
const LONGEST: usize = 600;

/// Returns what a summary quotes, white space folded: what is in quotation marks, and lines behind `>`.
pub(super) fn quotes(summary: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    for line in summary.lines().map(str::trim) {
        let quoted = match line.strip_prefix("> ") {
            Some(quoted) => vec![quoted],
            None => in_marks(line),
        };
        for quote in quoted {
            let quote = folded(quote);
            let letters = quote.chars().count();
            let is_long = (LEAST..=LONGEST).contains(&letters)
                && (quote.split(' ').count() >= WORDS || !quote.is_ascii());
            if is_long && known.insert(quote.clone()) {
                found.push(quote);
            }
        }
    }
    found
}

/// Returns what is in quotation marks on a line.
fn in_marks(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('«', '»'), ('「', '」')] {
        let mut rest = line;
        while let Some(start) = rest.find(open) {
            let inner = &rest[start + open.len_utf8()..];
            let Some(end) = inner.find(close) else {
                break;
            };
            found.push(inner[..end].trim());
            rest = &inner[end + close.len_utf8()..];
        }
    }
    found
}
