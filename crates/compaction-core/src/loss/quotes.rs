//! What a summary says that the user said, and whether the user said it.

use super::literals::folded;

/// The shortest quote that is held against what was said, in words.
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
    let mut of_user = false;
    let lines: Vec<&str> = summary.lines().map(str::trim).collect();
    let mut at = 0;
    while at < lines.len() {
        let trimmed = lines[at];
        at += 1;
        if let Some(mark) = fence(trimmed) {
            // One that is never closed, as in a summary that was cut off, hides nothing.
            let closes = |line: &&str| *line == mark;
            if let Some(length) = lines[at..].iter().position(closes) {
                at += length + 1;
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
            if long && !found.contains(&quote) {
                found.push(quote);
            }
        }
    }
    found
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

/// Returns whether somebody said the quote: word for word, but for what an ellipsis leaves out, the kind of
/// quotation marks, and a full stop at its end. `said` is folded.
pub(super) fn is_said(quote: &str, said: impl Iterator<Item = impl AsRef<str>>) -> bool {
    let quote = plain(quote);
    let parts = quote.split('…').map(str::trim);
    let parts: Vec<&str> = parts
        .map(|part| part.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        .filter(|part| !part.is_empty())
        .collect();
    let mut said = said;
    parts.is_empty()
        || said.any(|text| {
            let text = plain(text.as_ref());
            let mut rest = text.as_str();
            parts.iter().all(|part| match rest.find(part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
        })
}

fn plain(text: &str) -> String {
    text.replace("...", "…")
        .replace("[…]", "…")
        .replace(['“', '”', '«', '»'], "\"")
        .replace(['‘', '’'], "'")
        .replace("&lt;", "<")
        .to_lowercase()
}
