//! The shapes that tell of errors in a line of output: levels, places, kinds of errors, codes.

use crate::phrases::Phrases;

/// Words that mention an error.
static MENTIONS: Phrases = Phrases::named("signals.error_words");
/// What an error begins with.
static OPENS: Phrases = Phrases::named("signals.opens");
/// First words of lines for somebody who already knows what went wrong.
static ASIDES: Phrases = Phrases::named("signals.asides");

/// How bad a line says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Error,
    Warning,
    /// Something else, for information.
    Aside,
    Unsaid,
}

/// Returns the exit code other than 0 that a line ends with: `exit status 2`, `make: *** [all] Error 1`, `rc=4`.
pub(super) fn exit_code_in(line: &str) -> Option<i64> {
    let start = line.ceil_char_boundary(line.len().saturating_sub(200));
    let end = line[start..].trim_end_matches(|c: char| !c.is_alphanumeric());
    let lower = end.to_lowercase();
    let head = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let code = lower[head.len()..].parse().ok().filter(|code| *code != 0);
    if let Some(code) = code {
        let words = head.trim_end_matches([' ', ':', '=', '(', '_', '-', '"']);
        let bare = head == "rc=" || head == "rc: " || head.ends_with(" rc=");
        if bare || names_exit(words) {
            return Some(code);
        }
        return (head.ends_with(" error ") && head.contains("***")).then_some(code);
    }
    // `ld returned 1 exit status`.
    let head = lower.strip_suffix(" exit status")?;
    head.rsplit(' ')
        .next()?
        .parse()
        .ok()
        .filter(|code| *code != 0)
}

/// Returns whether a text begins as errors of some programs do.
pub(super) fn opens_as_error(text: &str) -> bool {
    OPENS.opens(text)
}

/// Returns whether a text begins with an error and what that is.
pub(super) fn opens_with_error(text: &str) -> bool {
    let text = &text[..text.floor_char_boundary(120)];
    let level = || level_of(text).is_some_and(|(level, _)| level == Level::Error);
    OPENS.opens(text) || names_error(text) || level()
}

/// Returns whether a text ends with what stands before an exit code.
fn names_exit(text: &str) -> bool {
    let ends = ["exit", "exited with", "code", "status"];
    let told = ["exit", "return", "non-zero"];
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(24))..];
    ends.iter().any(|end| text.ends_with(end)) && told.iter().any(|mark| text.contains(mark))
}

/// Returns a line without the marks that stand before and behind its words.
pub(super) fn bare(line: &str) -> &str {
    let adorns = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '|' | '>' | '*' | '•' | '·' | '^' | '~' | '=' | '!' | '#' | '-' | '+' | '_'
            )
            || ('\u{2190}'..='\u{27bf}').contains(&c)
            || matches!(c, '×' | '⎯' | '›' | '⛅' | '\u{fe0f}')
    };
    let line = line.trim();
    let opened = line.trim_start_matches(adorns);
    // `E   AssertionError`, `#7 1.203 error`.
    opened.strip_prefix("E  ").unwrap_or(opened).trim()
}

/// Returns a line without the time that it begins with.
pub(super) fn without_time(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..3 {
        let token = rest.split(' ').next().unwrap_or_default();
        let inner = token.trim_matches(['[', ']', ',']);
        let marks = inner.matches([':', '-', '/']).count();
        let digits = inner.bytes().filter(u8::is_ascii_digit).count();
        let other = |c: char| !(c.is_ascii_digit() || ":-/.,+TZ".contains(c));
        if marks < 2 || digits < 4 || inner.contains(other) {
            break;
        }
        rest = rest[token.len()..].trim_start();
    }
    rest
}

/// Returns the level that a line begins with, and what follows it.
pub(super) fn level_of(text: &str) -> Option<(Level, &str)> {
    let inner = text.trim_start_matches(['[', '%', '(', '✘', ' ']);
    let end = inner
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(inner.len());
    let (word, rest) = inner.split_at(end);
    let lower = word.to_ascii_lowercase();
    let level = match lower.as_str() {
        "error" | "err" | "fatal" | "critical" | "panic" | "emerg" | "severe" => Level::Error,
        "warning" | "warn" => Level::Warning,
        lower if ASIDES.contains(&lower) => Level::Aside,
        _ => return None,
    };
    let marked = text.len() > inner.len()
        || rest
            .trim_start_matches(' ')
            .starts_with([':', '[', '(', '!']);
    let loud = word.len() > 2 && word.bytes().all(|c| c.is_ascii_uppercase());
    let loud = loud && !rest.trim_start().starts_with('|');
    let apart = rest.starts_with("  ") || rest.starts_with(" •") || rest.starts_with('\t');
    // `Error while ...` and `error TS2339: ...` are headed by it too, `error handling` is not.
    let leads = level == Level::Error && rest.starts_with(' ') && rest.contains(':');
    if !(marked || loud || apart || leads) {
        return None;
    }
    let rest = match rest.strip_prefix('[') {
        // A code, or the part of a program that says it.
        Some(inner) if level == Level::Error => {
            inner.split_once(']').map_or(rest, |(_, rest)| rest)
        }
        _ => rest,
    };
    Some((
        level,
        rest.trim_start_matches([':', ']', ')', ' ', '\t', '-', '•', '!']),
    ))
}

/// Returns what stands behind the file and the line that a line begins with: `a.rs:3:4: ...`, `a.cs(3,4): ...`,
/// `12:4  ...`.
pub(super) fn behind_place(text: &str) -> Option<&str> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    let token = &text[..end];
    let mut marks = token.match_indices([':', '(']).map(|(at, _)| at + 1);
    let at = marks.find(|at| token[*at..].starts_with(|c: char| c.is_ascii_digit()))?;
    let name = &token[..at - 1];
    let named = name.contains(['.', '/']) || name.bytes().all(|c| c.is_ascii_digit());
    // An address is no place in a file.
    if !named || name.is_empty() || token.contains("://") {
        return None;
    }
    let numbers = text[at..].trim_start_matches(|c: char| c.is_ascii_digit() || ":,)".contains(c));
    Some(numbers.trim_start_matches([':', ' ', '\t', '-']))
}

/// Returns true for `Error: ...`, `java.lang.IllegalStateException: ...`, `Type error: ...`, `A fatal error at ...: ...`.
pub(super) fn names_error(text: &str) -> bool {
    let Some((name, what)) = text.split_once(": ") else {
        return false;
    };
    let what = what.trim_start();
    let ends = [
        "Error",
        "Exception",
        "ERROR",
        "error",
        "FATAL",
        "Panic",
        "Failure",
    ];
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | ':');
    let mut words = name.split([' ', '[', '(']);
    let first = words.next().unwrap_or_default();
    let named = ends.iter().any(|end| first.ends_with(end)) || first.starts_with("ERR_");
    let is_error = |word: Option<&str>| word.is_some_and(|word| word.eq_ignore_ascii_case("error"));
    let second = words.next();
    let fatal = second.is_some_and(|word| word.eq_ignore_ascii_case("fatal"));
    let last = name.trim_end_matches(')').rsplit(' ').next();
    let failed = last.is_some_and(|word| word.eq_ignore_ascii_case("failed"));
    let kind = is_error(second) || fatal && is_error(words.next());
    name.len() <= 120
        && (named && name.len() <= 80
            || failed
            || kind && !what.starts_with(|c: char| c.is_ascii_digit()))
        && (failed || first.chars().all(plain))
        && what.contains(char::is_alphanumeric)
}

/// Returns true for `psql:a.sql:3: ERROR: ...`, `docker: Error response ...`, `jq: error (at 1): ...`.
pub(super) fn has_level_inside(text: &str) -> bool {
    let mut behind = text
        .match_indices([':', '-'])
        .take(6)
        .map(|(at, _)| &text[at + 1..]);
    behind.any(|rest| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('[').unwrap_or(rest);
        let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next();
        let word = word.unwrap_or_default();
        let after = &rest[word.len()..];
        let known = matches!(
            word,
            "error" | "Error" | "ERROR" | "fatal" | "FATAL" | "emerg" | "panic"
        );
        known && after.starts_with([':', ' ', '[', ']', '('])
    })
}

pub(super) fn mentions(text: &str) -> bool {
    match text.is_ascii() {
        true => MENTIONS.is_in_any_case(text),
        false => MENTIONS.is_in_any_case(&text.to_lowercase()),
    }
}

/// Returns whether a line names an error by a code: `E0308`, `SQLSTATE[42S02]`, `CVE-2025-1`.
pub(super) fn has_code(text: &str) -> bool {
    let mut tokens = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    tokens.any(|token| {
        let digits = token.bytes().filter(u8::is_ascii_digit).count();
        let upper = token.bytes().filter(u8::is_ascii_uppercase).count();
        upper > 0
            && digits >= 3
            && token.len() <= 16
            && digits + upper >= token.len() - 2
            && token.starts_with(|c: char| c.is_ascii_uppercase())
    })
}

/// Returns whether the first word is a program that says the rest: `mkdir: ...`.
pub(super) fn names_program(text: &str) -> bool {
    let Some((first, rest)) = text.split_once(": ") else {
        return false;
    };
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    !first.is_empty() && first.len() <= 40 && first.chars().all(name) && rest.contains(' ')
}

pub(super) fn several_words(text: &str) -> bool {
    let words = text.split_whitespace();
    let words = words.filter(|word| word.contains(char::is_alphabetic));
    words.take(2).count() == 2
}

/// Returns whether a word of a line names a file.
pub(super) fn names_file(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| word.contains('/') && word.contains('.') && !word.contains("://"))
}
