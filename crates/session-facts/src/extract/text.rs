//! Text as the extractive summarizer handles it: sentences, one-line forms, cuts, neutral quoting.

use std::borrow::Cow;

use super::acts::{Acts, Speaker, tell};
use super::pasted::own_lines;
use crate::phrases::Phrases;

/// Tags of our own documents, which quoted text must not be able to imitate.
static TAGS: Phrases = Phrases::named("text.tags");

/// How much of one long text is looked at: this many bytes at its start and at its end.
const WINDOW: usize = 64 * 1024;

/// Returns `text` with the `<` of our own tags written as `&lt;`.
pub fn neutralise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let after = &rest[at + 1..];
        let name = after.strip_prefix('/').unwrap_or(after);
        let ours = TAGS.iter().any(|tag| {
            let head = name.get(..tag.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(tag))
        });
        out.push_str(&rest[..at]);
        out.push_str(if ours { "&lt;" } else { "<" });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns `text` on one line, white space folded, tags neutralised, at most `limit` characters long.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(length > 0);
        let width = word.chars().count();
        if length + gap + width > limit {
            let left = limit.saturating_sub(length + gap + 1);
            if length == 0 || left >= 12 {
                out.push_str(&" "[..gap]);
                out.extend(word.chars().take(left));
            }
            out.push('…');
            break;
        }
        out.push_str(&" "[..gap]);
        out.push_str(word);
        length += gap + width;
    }
    neutralise(&out)
}

/// Returns a text of one line as it is, at most `limit` characters long.
pub(super) fn bounded(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.chars().take(limit.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    }
}

/// Returns true for a character of Chinese or Japanese.
pub(super) fn is_cjk(c: char) -> bool {
    ('\u{3040}'..='\u{9fff}').contains(&c)
}

/// Returns the parts of a long text that are looked at: all of it, or its start and its end.
pub(super) fn ends_of(text: &str) -> Cow<'_, str> {
    if text.len() <= 2 * WINDOW {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(WINDOW);
    let tail = text.ceil_char_boundary(text.len() - WINDOW);
    Cow::Owned(format!("{}\n{}", &text[..head], &text[tail..]))
}

/// Returns `text`, cut in its middle to at most `keep` characters and a marker line that counts what is left out.
///
/// A text that was cut before is cut further, and its marker goes on counting.
pub fn cut_middle(text: &str, id: &str, keep: usize) -> String {
    let (head, tail, before) = split_marker(text, id);
    let length = head.chars().count() + tail.chars().count();
    if length <= keep {
        return text.to_owned();
    }
    let keep_tail = (keep / 3).min(tail_len(tail, head));
    let keep_head = keep - keep_tail;
    let source = if before > 0 { tail } else { text };
    let head: String = head.chars().take(keep_head).collect();
    let skip = source.chars().count().saturating_sub(keep_tail);
    let tail: String = source.chars().skip(skip).collect();
    let kept = head.chars().count() + tail.chars().count();
    let (head, tail) = (
        without_opening(head.trim_end()),
        without_ending(tail.trim_start()),
    );
    let left_out = before.saturating_add(length.saturating_sub(kept));
    format!("{head}\n{}\n{tail}", marker(left_out, id))
}

/// Returns the head of a cut text without the beginning of another marker.
fn without_opening(head: &str) -> &str {
    match head.rsplit_once('\n') {
        Some((before, last)) if last.starts_with("[... ") && !last.ends_with(']') => before,
        _ => head,
    }
}

/// Returns the tail of a cut text without the end of another marker.
fn without_ending(tail: &str) -> &str {
    match tail.split_once('\n') {
        Some((first, rest)) if first.ends_with(WHOLE) && !first.starts_with("[... ") => rest,
        _ => tail,
    }
}

/// How a marker ends that names its entry.
const WHOLE: &str = "has all of it]";

fn tail_len(tail: &str, head: &str) -> usize {
    let source = if tail.is_empty() { head } else { tail };
    source.chars().count()
}

fn marker(count: usize, id: &str) -> String {
    if id.is_empty() {
        format!("[... {count} characters left out]")
    } else {
        format!("[... {count} characters left out; entry {id} has all of it]")
    }
}

/// Returns what stands before and after the marker of an earlier cut, and how much that cut left out.
fn split_marker<'a>(text: &'a str, id: &str) -> (&'a str, &'a str, usize) {
    let whole = (text, "", 0);
    let Some(at) = text.find("\n[... ") else {
        return whole;
    };
    let line = text[at + 1..].split('\n').next().unwrap_or_default();
    let number = line["[... ".len()..].split(' ').next().unwrap_or_default();
    match number.parse() {
        Ok(count) if line == marker(count, id) => {
            let tail = text[at + 1 + line.len()..].trim_start_matches('\n');
            (&text[..at], tail, count)
        }
        _ => whole,
    }
}

/// Returns `text` cut at its end to `limit` characters and a marker, on the same line.
pub(super) fn cut_end(text: &str, id: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let head: String = text.chars().take(limit).collect();
    format!("{} {}", head.trim_end(), marker(length - limit, id))
}

/// A sentence, or a whole bullet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// Its words, without the bullet's mark.
    pub text: String,
    /// True when it is an item of a list.
    pub bullet: bool,
    /// What it does, as far as that was asked.
    pub acts: Acts,
}

/// Returns the sentences of a message with what they do, without what it only shows.
pub(super) fn read(text: &str, speaker: Speaker) -> Vec<Sentence> {
    let mut said = sentences(&ends_of(text));
    tell(&mut said, speaker);
    said
}

/// Returns the sentences of `text`, without what it only shows.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut open: Option<(Cow<'_, str>, bool)> = None;
    for line in own_lines(text) {
        let trimmed = line.trim();
        if let Some((before, bullet)) = &mut open {
            if continues(before, *bullet, line) {
                before.to_mut().push(' ');
                before.to_mut().push_str(trimmed);
                continue;
            }
            split(before, *bullet, &mut found);
            open = None;
        }
        if trimmed.is_empty() {
            continue;
        }
        let (item, bullet) = strip_bullet(trimmed);
        let title = item.trim_start_matches('#').strip_prefix(' ');
        let item = title.filter(|_| !bullet).map_or(item, str::trim_start);
        open = Some((Cow::Borrowed(item), bullet));
    }
    if let Some((before, bullet)) = open {
        split(&before, bullet, &mut found);
    }
    found
}

/// Returns true when `line` goes on with the wrapped line `before`.
fn continues(before: &str, bullet: bool, line: &str) -> bool {
    let trimmed = line.trim_start();
    let starts_low = trimmed.starts_with(|first: char| first.is_lowercase());
    if !starts_low || strip_bullet(trimmed).1 {
        return false;
    }
    let indented = bullet && line.starts_with("  ");
    let wrapped = before.len() >= 60 && !before.ends_with(['.', '!', '?', ':', ';', '。']);
    (indented || wrapped) && before.len() < 2000
}

/// Returns `line` without the mark of a list item, and whether it had one.
pub(super) fn strip_bullet(line: &str) -> (&str, bool) {
    for mark in ["- ", "* ", "• ", "– "] {
        if let Some(rest) = line.strip_prefix(mark) {
            let rest = rest.trim_start();
            let rest = rest.strip_prefix("[ ] ").unwrap_or(rest);
            return (rest.strip_prefix("[x] ").unwrap_or(rest), true);
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    let item = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "));
    match item {
        Some(item) if (1..=3).contains(&digits) => (item.trim_start(), true),
        _ => (line, false),
    }
}

/// Splits a logical line into sentences; an item of a list stays whole.
fn split(line: &str, bullet: bool, found: &mut Vec<Sentence>) {
    if bullet {
        let text = line.trim().to_owned();
        let acts = Acts::default();
        found.push(Sentence { text, bullet, acts });
        return;
    }
    let ticks = line.bytes().filter(|byte| *byte == b'`').count() % 2 == 0;
    let mut in_code = false;
    let mut start = 0;
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character == '`' && ticks {
            in_code = !in_code;
        }
        let end = at + character.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        let ends = match character {
            '。' | '！' | '？' => true,
            '!' | '?' => next.is_none_or(|next| next.is_whitespace() || next == '"'),
            '.' => {
                next.is_none_or(char::is_whitespace)
                    && !is_abbreviation(&line[start..at], &line[end..])
            }
            _ => false,
        };
        if ends && !in_code {
            push_sentence(&line[start..end], found);
            start = end;
        }
    }
    push_sentence(&line[start..], found);
}

fn push_sentence(text: &str, found: &mut Vec<Sentence>) {
    let text = text.trim();
    if text.chars().any(char::is_alphanumeric) {
        let text = text.to_owned();
        found.push(Sentence {
            text,
            bullet: false,
            acts: Acts::default(),
        });
    }
}

/// Returns true when the full stop after `before` ends an abbreviation and no sentence.
fn is_abbreviation(before: &str, after: &str) -> bool {
    const SHORT: [&str; 16] = [
        "etc", "vs", "bzw", "ca", "approx", "cf", "resp", "incl", "mr", "dr", "usw", "max", "min",
        "no", "fig", "eg",
    ];
    let word = before
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default();
    let dotted = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    let low = after
        .trim_start()
        .starts_with(|first: char| first.is_lowercase() || first.is_ascii_digit());
    let number =
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) && word == before;
    dotted || number || (low && SHORT.contains(&word.to_lowercase().as_str()))
}

/// Returns the words of `text` in lower case, split at everything that is neither letter nor digit.
pub(super) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !c.is_alphanumeric());
    parts
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
