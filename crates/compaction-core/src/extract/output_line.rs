//! One line of what a command printed: how much it tells of what went wrong, and what it counts.
//!
//! The wording of programs differs, the shape of their lines does not: a place, a kind of error, and words that set
//! what is against what should be.

use super::phrases::Phrases;

/// How much of a line is looked at, in bytes.
const SEEN: usize = 600;
/// From this score on a line says what went wrong; below it, it says that or where.
pub(super) const TELLS: i32 = 4;

/// Words for things that are not as they should be.
static CONTRAST: Phrases = Phrases::named("signals.contrast");
/// Words that mention an error.
static MENTIONS: Phrases = Phrases::named("signals.error_words");
/// What an error begins with.
static OPENS: Phrases = Phrases::named("signals.opens");
/// First words of lines for somebody who already knows what went wrong.
static ASIDES: Phrases = Phrases::named("signals.asides");
/// Words of which lines consist that only sum up.
static SUMMING: Phrases = Phrases::named("signals.summing");
/// What stands before an exit code.
static EXITS: Phrases = Phrases::named("signals.exits");
/// Words for what failed, as they stand next to a number.
static COUNTED: Phrases = Phrases::named("signals.counted");

/// A line of output.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputLine<'a> {
    /// The line without what only adorns it.
    text: &'a str,
    /// What stands behind the time, the place and the level that it begins with.
    message: &'a str,
    /// True where it begins with a file and a line.
    placed: bool,
    /// True where a cross marks it.
    crossed: bool,
    level: Level,
}

/// How bad a line says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
    /// Something else, for information.
    Aside,
    Unsaid,
}

impl<'a> OutputLine<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let line = &line[..line.floor_char_boundary(SEEN)];
        let text = without_time(bare(line));
        let (mut message, mut placed, mut level) = (text, false, Level::Unsaid);
        // `file:3: error: ...`, `[error] file:3: ...`, `12:4  error  ...`.
        for _ in 0..3 {
            if let Some((found, rest)) = level_of(message).filter(|_| level == Level::Unsaid) {
                (level, message) = (found, rest);
            } else if let Some(rest) = behind_place(message).filter(|_| !placed) {
                (placed, message) = (true, rest);
            } else {
                break;
            }
        }
        Self {
            text,
            message,
            placed,
            crossed: line.trim_start().starts_with(['×', '✗', '✘', '✖', '❌']),
            level,
        }
    }

    /// Returns how much the line tells of what went wrong; nothing is 0.
    pub(super) fn score(self) -> i32 {
        let text = self.text;
        if self.message.is_empty() {
            return i32::from(self.placed || self.level == Level::Error);
        }
        if self.is_aside() {
            return 0;
        }
        let states = self.states();
        if self.sums_up() {
            return i32::from(states || mentions(text));
        }
        let spaced = format!(" {} ", text.to_lowercase());
        let contrasts = i32::try_from(CONTRAST.count_in(&spaced, 2)).unwrap_or_default();
        let mut score = contrasts * 2;
        score += if states { 5 } else { i32::from(mentions(text)) };
        score += i32::from(self.placed && several_words(self.message)) * 3;
        score += i32::from(self.crossed) * 3;
        score += i32::from(has_code(text)) * 2;
        score += i32::from(text.contains(['\'', '"', '`', '“', '‘']));
        score += i32::from(names_program(text));
        let lonely = !self.message.trim().contains(' ');
        let heads = self.heads();
        score -= i32::from(lonely) * 2 + i32::from(heads) * 3;
        score -= i32::from(self.level == Level::Warning) * 2;
        // A line of a table, of code or of numbers is told by no word of an error.
        score.max(i32::from(
            states || contrasts > 0 || mentions(text) || names_file(text),
        ))
    }

    /// Returns whether it begins with an error and what that is, maybe behind a place.
    pub(super) fn states(self) -> bool {
        let text = self.message;
        self.level == Level::Error && text.chars().any(char::is_alphabetic)
            || OPENS.opens(self.text)
            || names_error(self.text)
            || names_error(text)
            || has_level_inside(self.text)
    }

    /// Returns whether it names an error and says more of it, the shape of the last line of a trace.
    pub(super) fn names_error(self) -> bool {
        names_error(self.text)
    }

    /// Returns whether what it announces is on the next line.
    pub(super) fn heads(self) -> bool {
        let ends = self.text.trim_end();
        ends.ends_with(':')
            || self.message.trim().is_empty() && self.level == Level::Error
            || ends.ends_with(']') && self.level == Level::Error && !self.message.contains(' ')
    }

    /// Returns whether it only sums up what was said before it, or says that something ended.
    pub(super) fn sums_up(self) -> bool {
        static CLOSING: Phrases = Phrases::named("signals.closing");
        let text = self.text;
        if CLOSING.opens(text) || exit_code_in(text).is_some() {
            return true;
        }
        let (mut known, mut unknown) = (0_usize, 0_usize);
        for token in text.split_whitespace() {
            // What names something is no word.
            if token.contains(['/', '\\', '`', '\'', '"']) || token.matches('.').count() > 1 {
                continue;
            }
            let token = token.split('=').next().unwrap_or_default();
            let parts = token.split(|c: char| !c.is_alphabetic());
            for word in parts.filter(|word| !word.is_empty()) {
                match SUMMING.contains(&word.to_lowercase().as_str()) {
                    true => known += 1,
                    false => unknown += 1,
                }
            }
        }
        known > 0 && known >= unknown * 2
    }

    /// Returns whether it says something by the way.
    pub(super) fn is_aside(self) -> bool {
        self.level == Level::Aside || self.is_frame() || self.is_source() || self.passed()
    }

    /// Returns how many things failed where the line sums that up.
    pub(super) fn counted_failures(self) -> Option<u64> {
        if !(self.sums_up() || self.text.contains('=')) {
            return None;
        }
        let lower = self.text.to_lowercase();
        let separates = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '%' | '/' | '_'));
        let mut tokens: Vec<(&str, &str)> = Vec::new();
        for token in lower.split_inclusive(separates) {
            let word = token.trim_end_matches(separates).trim_end_matches('.');
            let mark = &token[token.trim_end_matches(separates).len()..];
            match tokens.last_mut() {
                // `Failures: 1`: the mark next to the word tells.
                Some((_, known)) if word.is_empty() && known.trim().is_empty() => *known = mark,
                _ if word.is_empty() => {}
                _ => tokens.push((word, mark)),
            }
        }
        let number = |at: usize| tokens.get(at)?.0.parse::<u64>().ok();
        // Problems are errors and warnings: where both are counted, the errors tell.
        let fails = |word: &str| word.starts_with("fail") || word.starts_with("error");
        let plain = tokens.iter().any(|(word, _)| fails(word));
        let mut most = None;
        for (at, (word, mark)) in tokens.iter().enumerate() {
            if !COUNTED.contains(word) || plain && !fails(word) {
                continue;
            }
            let after = || number(at + 1).filter(|_| matches!(*mark, ":" | "="));
            let before = at.checked_sub(1).and_then(number);
            // `1 tests failed`, `0 unexpected failures`.
            let further = || {
                let at = at.checked_sub(2)?;
                let between = tokens.get(at + 1)?.0;
                number(at).filter(|_| SUMMING.contains(&between) && !COUNTED.contains(&between))
            };
            let passed = || at.checked_sub(1).is_some_and(|at| tokens[at].0 == "passed");
            let count = after()
                .or(before)
                .or_else(|| further().filter(|_| !passed()));
            most = most.max(count);
        }
        most
    }

    /// Returns whether it is one step of many on a stack.
    fn is_frame(self) -> bool {
        let text = self.text;
        let at = text
            .strip_prefix("at ")
            .or_else(|| text.strip_prefix("from "));
        at.is_some_and(|rest| rest.contains(['(', ':', '/']))
            || text.starts_with("File \"")
            || text.starts_with("goroutine ")
            || text.contains(" +0x")
            || text.starts_with("# ./")
            || text.starts_with("in <module>")
    }

    /// Returns whether it shows a line of a source or a step of many: `12 | code`, `[3/9] Compiling error.c`.
    fn is_source(self) -> bool {
        let text = self.text;
        let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = digits.len() < text.len() && digits.trim_start().starts_with(['|', '│']);
        let inner = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let step = inner.is_some_and(|(inner, _)| {
            inner.bytes().any(|c| c.is_ascii_digit())
                && inner
                    .chars()
                    .all(|c| c.is_ascii_digit() || " /%".contains(c))
        });
        numbered || step
    }

    /// Returns whether it says that something is as it should be.
    fn passed(self) -> bool {
        let text = self.text;
        let opens = ["ok ", "PASS", "passed "];
        let ends = ["... ok", "... ignored", " PASSED", "Passed", " ok"];
        opens.iter().any(|mark| text.starts_with(mark))
            || ends.iter().any(|end| text.ends_with(end))
    }
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
        if bare || EXITS.iter().any(|mark| words.ends_with(mark)) {
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

/// Returns whether a text begins with an error and what that is.
pub(super) fn opens_with_error(text: &str) -> bool {
    let text = &text[..text.floor_char_boundary(120)];
    let level = || level_of(text).is_some_and(|(level, _)| level == Level::Error);
    OPENS.opens(text) || names_error(text) || level()
}

/// Returns a line without the marks that stand before and behind its words.
fn bare(line: &str) -> &str {
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
fn without_time(line: &str) -> &str {
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
fn level_of(text: &str) -> Option<(Level, &str)> {
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
fn behind_place(text: &str) -> Option<&str> {
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

/// Returns true for `Error: ...`, `ERROR ...: ...`, `TypeError: ...`, `java.lang.IllegalStateException: ...`.
fn names_error(text: &str) -> bool {
    let Some((name, what)) = text.split_once(": ") else {
        return false;
    };
    let first = name.split([' ', '[', '(']).next().unwrap_or_default();
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
    let named = ends.iter().any(|end| first.ends_with(end)) || first.starts_with("ERR_");
    name.len() <= 80 && named && first.chars().all(plain) && what.chars().any(char::is_alphanumeric)
}

/// Returns true for `psql:a.sql:3: ERROR: ...`, `docker: Error response ...`, `jq: error (at 1): ...`.
fn has_level_inside(text: &str) -> bool {
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

fn mentions(text: &str) -> bool {
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
fn names_program(text: &str) -> bool {
    let Some((first, rest)) = text.split_once(": ") else {
        return false;
    };
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    !first.is_empty() && first.len() <= 40 && first.chars().all(name) && rest.contains(' ')
}

fn several_words(text: &str) -> bool {
    let words = text.split_whitespace();
    let words = words.filter(|word| word.contains(char::is_alphabetic));
    words.take(2).count() == 2
}

/// Returns whether a word of a line names a file.
fn names_file(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| word.contains('/') && word.contains('.') && !word.contains("://"))
}
