//! Signals in what tools give back: whether a command failed, and with which errors.

use super::phrases::Phrases;
use super::text::neutralise;

/// How much of an output is looked at: this many bytes at its start and at its end.
const WINDOW: usize = 64 * 1024;
/// Error lines of one failure: how many, how long each, how long together, in characters.
const ERRORS: usize = 6;
const ERROR_LINE: usize = 200;
const ERROR_TEXT: usize = 600;

/// Text that marks a failure anywhere in an output.
static FAILURES: Phrases = Phrases::named("signals.failures");
/// Beginnings of lines that mark a failure.
const FAILURE_LINES: [&str; 3] = ["FAIL ", "FAIL\t", "--- FAIL"];
/// Beginnings of lines that mark a failure near the end of an output, unless a later line marks success.
static LAST_LINES: Phrases = Phrases::named("signals.last_lines");
/// How many of the last lines with words are looked at for that.
const LAST: usize = 12;
/// What marks success after it.
static SUCCESS: Phrases = Phrases::named("signals.success");
/// What marks a line that gives the cause.
static ERROR_WORDS: Phrases = Phrases::named("signals.error_words");
/// What a harness says when a call was not allowed to run.
static DENIALS: Phrases = Phrases::named("signals.denials");

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It did what it should.
    Passed,
    /// It failed.
    Failed {
        /// Its exit code, if known.
        exit: Option<i64>,
        /// The lines that tell why.
        lines: Vec<String>,
    },
    /// It never ran, or was stopped.
    Denied,
}

/// What is known of a command in addition to its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It failed.
    Failed,
    /// It passed, whatever it printed.
    Passed,
    /// Whoever ran it says when one fails, and said nothing of this one.
    NoError,
    /// Nothing: only what it printed can tell.
    Nothing,
}

/// Returns how the command ended that printed `output`.
pub(super) fn judge(output: &str, known: Known) -> Outcome {
    let (head, tail) = ends(output);
    let found = |part: &str| {
        let marked = FAILURES.is_in(part);
        marked
            || part.contains("FAIL")
                && part
                    .lines()
                    .any(|line| FAILURE_LINES.iter().any(|mark| line.starts_with(mark)))
    };
    let exit = exit_code(output);
    let failed = match (known, exit) {
        (Known::Failed, _) => true,
        (Known::Passed, _) => false,
        (Known::NoError | Known::Nothing, Some(code)) => code != 0,
        (Known::NoError, None) => false,
        (Known::Nothing, None) => found(head) || found(tail) || ends_in_error(tail),
    };
    if !failed {
        return Outcome::Passed;
    }
    if known == Known::Failed && DENIALS.is_in(tail) {
        return Outcome::Denied;
    }
    let mut lines = error_lines(head, tail);
    if lines.is_empty() {
        let last = tail
            .lines()
            .rev()
            .filter(|line| exit_code_of(line).is_none())
            .map(clean);
        let last: Vec<_> = last.filter(|line| !line.is_empty()).take(3).collect();
        lines = last.into_iter().rev().collect();
    }
    let exit = exit.filter(|code| *code != 0);
    Outcome::Failed { exit, lines }
}

/// Returns the start and the end of an output; the end is empty for a short one.
fn ends(output: &str) -> (&str, &str) {
    if output.len() <= WINDOW {
        return ("", output);
    }
    let tail = output.ceil_char_boundary(
        output
            .len()
            .saturating_sub(WINDOW)
            .max(WINDOW.min(output.len())),
    );
    (
        &output[..output.floor_char_boundary(WINDOW)],
        &output[tail..],
    )
}

/// Returns the exit code that a harness wrote on a line of its own: the last or the first with words, or one of those
/// in front of `Output:`.
fn exit_code(output: &str) -> Option<i64> {
    let with_words = |line: &&str| !line.trim().is_empty();
    let last = output.lines().rev().take(LAST).find(with_words);
    if let Some(code) = last.and_then(exit_code_of) {
        return Some(code);
    }
    let opening = || output.lines().take(LAST).filter(with_words);
    let header = opening().position(|line| line.trim() == "Output:");
    opening().take(header.unwrap_or(1)).find_map(exit_code_of)
}

/// Returns the exit code that a line says and nothing else: `Command exited with code 1`, `Exit code: 1`.
fn exit_code_of(line: &str) -> Option<i64> {
    static AROUND: Phrases = Phrases::named("signals.around");
    if line.len() > 80 {
        return None;
    }
    let lower = line.to_lowercase().replace('_', " ");
    let mut words = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '-'))
        .filter(|word| !word.is_empty())
        .skip_while(|word| AROUND.contains(word));
    if !matches!(words.next()?, "exit" | "exited") {
        return None;
    }
    let mut words = words.skip_while(|word| matches!(*word, "with" | "code" | "status" | "exit"));
    let code = words.next()?.parse().ok()?;
    words.next().is_none().then_some(code)
}

/// Returns true when one of the last lines is an error and no later one marks success.
fn ends_in_error(tail: &str) -> bool {
    let lines = tail.lines().rev().map(str::trim);
    let last = lines.filter(|line| !line.is_empty()).take(LAST);
    for line in last {
        if SUCCESS.is_in(line) {
            return false;
        }
        if LAST_LINES.opens(line) {
            return true;
        }
    }
    false
}

/// What a line says about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Telling {
    /// Why it happened.
    Why,
    /// Where or in which test.
    Where,
    /// That something failed.
    That,
    /// Nothing.
    Nothing,
}

/// Returns the lines that tell why, those that tell it plainly before those that merely mention an error.
fn error_lines(head: &str, tail: &str) -> Vec<String> {
    let mut ranked: [Vec<&str>; 3] = Default::default();
    for line in head.lines().chain(tail.lines()) {
        let list = match telling(line) {
            Telling::Why => &mut ranked[0],
            Telling::Where => &mut ranked[1],
            Telling::That => &mut ranked[2],
            Telling::Nothing => continue,
        };
        // More cannot be shown, but some say the same.
        if list.len() < 8 * ERRORS {
            list.push(line);
        }
    }
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for line in ranked.into_iter().flatten() {
        let line = clean(line);
        if line.is_empty() || lines.contains(&line) {
            continue;
        }
        length += line.chars().count();
        if length > ERROR_TEXT && !lines.is_empty() {
            break;
        }
        lines.push(line);
        if lines.len() == ERRORS {
            break;
        }
    }
    lines
}

/// Returns what a line of output says about a failure.
fn telling(line: &str) -> Telling {
    let line = line.trim();
    // Summaries of a tool on its own end say less than what it said before.
    static CLOSING: Phrases = Phrases::named("signals.closing");
    let closing = CLOSING.opens(line);
    match () {
        () if closing && mentions_error(line) => Telling::That,
        () if closing => Telling::Nothing,
        () if states_error(line) => Telling::Why,
        () if tells_where(line) => Telling::Where,
        () if mentions_error(line) => Telling::That,
        () => Telling::Nothing,
    }
}

/// Returns true for a sentence that quotes an error somewhere.
pub(super) fn has_error(text: &str) -> bool {
    let mut starts = text.match_indices(' ').map(|(at, _)| at + 1);
    states_error(text) || starts.any(|at| OPENS.opens(&text[at..]) || names_error(&text[at..]))
}

/// What an error begins with.
static OPENS: Phrases = Phrases::named("signals.opens");

/// Returns true for a text that begins with an error and what it is: `error: ...`, `panic: ...`, `KeyError: ...`, or
/// that has one behind the place it is about.
pub(super) fn states_error(text: &str) -> bool {
    static HAS: Phrases = Phrases::named("signals.has");
    let text = text.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '×' | '✗' | '✘' | '│' | '>' | '*')
    });
    OPENS.opens(text) || HAS.is_in(text) || names_error(text)
}

/// Returns true for `Error: ...`, `ERROR ...: ...`, `TypeError: ...`, `java.lang.IllegalStateException: ...`.
fn names_error(text: &str) -> bool {
    let Some((name, what)) = text.split_once(':') else {
        return false;
    };
    let first = name.split([' ', '[', '(']).next().unwrap_or_default();
    let ends = ["Error", "Exception", "ERROR", "error", "FATAL", "Panic"];
    let plain = first
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
    let named = ends.iter().any(|end| first.ends_with(end)) || first.starts_with("ERR_");
    name.len() <= 80 && plain && named && what.chars().any(char::is_alphanumeric)
}

/// Returns true for a line that reports a panic or a test that failed.
fn tells_where(line: &str) -> bool {
    let tells = [
        "panicked at",
        "... FAILED",
        "assertion ",
        "AssertionError",
        "--- FAIL",
    ];
    tells.iter().any(|mark| line.contains(mark))
}

fn mentions_error(line: &str) -> bool {
    let trimmed = line.trim_end();
    let passed = trimmed.ends_with("... ok") || trimmed.ends_with("... ignored");
    let counts = line.contains(" 0 failed") || line.contains("exited with code");
    if passed || counts {
        return false;
    }
    match line.is_ascii() {
        true => ERROR_WORDS.is_in_any_case(line),
        false => ERROR_WORDS.is_in_any_case(&line.to_lowercase()),
    }
}

/// Returns a line of output without colours and trailing space, bounded.
fn clean(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line.trim_end();
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        let sequence = &rest[at + 1..];
        let end = sequence
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    out.push_str(rest);
    out.retain(|c| !c.is_control() || c == '\t');
    if out.chars().count() > ERROR_LINE {
        out = out.chars().take(ERROR_LINE - 1).collect();
        out.push('…');
    }
    neutralise(out.trim_end())
}
