//! What a summary says that the user said.

use std::collections::{BTreeMap, BTreeSet};

use super::literals::folded;

/// The shortest quote that is searched for in messages, in words.
const WORDS: usize = 3;
/// The longest, in characters.
const LONGEST: usize = 600;

/// Words on a line that make what it quotes the user's.
const SPEAKERS: [&str; 14] = [
    "user",
    "you said",
    "asked",
    "requested",
    "nutzer",
    "benutzer",
    "utilisateur",
    "usuario",
    "用户",
    "ユーザー",
    "human:",
    "request:",
    "requests:",
    "instruction",
];

/// Returns what a summary quotes as the user's words, white space folded.
pub(super) fn quotes_of_user(summary: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    let mut of_user = false;
    let lines: Vec<&str> = summary.lines().map(str::trim).collect();
    let ends = ends_of_fences(&lines);
    let mut at = 0;
    while at < lines.len() {
        let trimmed = lines[at];
        at += 1;
        if let Some(mark) = fence(trimmed) {
            // One that is never closed, as in a summary that was cut off, hides nothing.
            let ends = ends.get(mark).map_or(&[][..], Vec::as_slice);
            if let Some(end) = ends.get(ends.partition_point(|end| *end < at)) {
                at = end + 1;
            }
            continue;
        }
        let speaks = names_user(trimmed);
        if is_heading(trimmed) {
            of_user = speaks;
        }
        if !(speaks || of_user) {
            continue;
        }
        for quote in quotes(trimmed) {
            let quote = folded(quote);
            let long = quote.split(' ').count() >= WORDS && quote.chars().count() <= LONGEST;
            if long && known.insert(quote.clone()) {
                found.push(quote);
            }
        }
    }
    found
}

/// Returns where lines stand that are a mark of a fence and nothing else.
fn ends_of_fences<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut ends: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if fence(line) == Some(line) {
            ends.entry(line).or_default().push(at);
        }
    }
    ends
}

/// Returns the mark of a line that opens a fence.
fn fence(line: &str) -> Option<&str> {
    let first = line
        .chars()
        .next()
        .filter(|first| matches!(first, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(first).len();
    (length >= 3).then(|| &line[..length])
}

fn names_user(line: &str) -> bool {
    let lower = line.to_lowercase();
    SPEAKERS.iter().any(|speaker| lower.contains(speaker))
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#') || (line.starts_with("**") && line.trim_end_matches(':').ends_with("**"))
}

/// Returns what stands in quotation marks on a line.
fn quotes(line: &str) -> Vec<&str> {
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
