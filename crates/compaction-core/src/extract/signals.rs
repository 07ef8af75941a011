//! Signals in what tools give back: whether a command failed, and with which errors.

use super::text::neutralise;

/// How much of an output is looked at: this many bytes at its start and at its end.
const WINDOW: usize = 64 * 1024;
/// Error lines of one failure: how many, how long each, how long together, in characters.
const ERRORS: usize = 6;
const ERROR_LINE: usize = 200;
const ERROR_TEXT: usize = 600;

/// Text that tells a failure wherever it stands in an output.
const FAILURES: [&str; 6] = [
    "test result: FAILED",
    "error[E",
    "error: could not compile",
    "npm ERR!",
    "npm error code",
    "Traceback (most recent call last)",
];
/// What opens a line that tells a failure.
const FAILURE_LINES: [&str; 3] = ["FAIL ", "FAIL\t", "--- FAIL"];
/// What marks a line that tells why.
const ERROR_WORDS: [&str; 13] = [
    "error",
    "panicked",
    "assert",
    "fail",
    "traceback",
    "exception",
    "cannot ",
    "not found",
    "no such file",
    "denied",
    "refused",
    "undefined",
    "unable to",
];
/// What a harness says when a call was not allowed to run.
const DENIALS: [&str; 6] = [
    "user doesn't want to proceed",
    "rejected by user",
    "rejected by the user",
    "denied by the user",
    "denied by user",
    "Operation aborted",
];

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

/// Returns how the command ended that printed `output`.
pub(super) fn judge(output: &str, is_error: bool) -> Outcome {
    let (head, tail) = ends(output);
    let found = |part: &str| {
        let marked = FAILURES.iter().any(|mark| part.contains(mark));
        marked
            || part.contains("FAIL")
                && part
                    .lines()
                    .any(|line| FAILURE_LINES.iter().any(|mark| line.starts_with(mark)))
    };
    let exit = exit_code(tail).or_else(|| exit_code(head));
    let failed = is_error || exit.is_some_and(|code| code != 0) || found(head) || found(tail);
    if !failed {
        return Outcome::Passed;
    }
    if is_error && DENIALS.iter().any(|denial| tail.contains(denial)) {
        return Outcome::Denied;
    }
    let mut lines = error_lines(head, tail);
    if lines.is_empty() {
        let last = tail
            .lines()
            .rev()
            .filter(|line| !line.contains("exited with code"))
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

/// Returns the last exit code that `text` names.
fn exit_code(text: &str) -> Option<i64> {
    let found = text.rmatch_indices("xit").take(200);
    found
        .filter_map(|(at, _)| exit_code_at(&text[at + 3..]))
        .next()
}

fn exit_code_at(rest: &str) -> Option<i64> {
    let rest = rest
        .strip_prefix("ed with")
        .unwrap_or(rest)
        .trim_start_matches(' ');
    let rest = rest
        .strip_prefix("code")
        .or_else(|| rest.strip_prefix("status"))?;
    let rest = rest.trim_start_matches([':', ' ', '=']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits.min(9)].parse().ok()
}

/// Returns the lines that tell why, those that tell it plainly before those that merely mention an error.
fn error_lines(head: &str, tail: &str) -> Vec<String> {
    let all = || head.lines().chain(tail.lines());
    let plain = all().filter(|line| tells_plainly(line));
    let mentions = all().filter(|line| mentions_error(line) && !tells_plainly(line));
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for line in plain.chain(mentions) {
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

/// Returns true for a line that begins with an error, or tells of a panic or a failed test.
fn tells_plainly(line: &str) -> bool {
    let line = line.trim_start();
    let opens = ["error:", "error[", "Error:", "E   ", "npm ERR!", "fatal:"];
    let tells = ["panicked at", "... FAILED", "assertion ", "AssertionError"];
    opens.iter().any(|mark| line.starts_with(mark)) || tells.iter().any(|mark| line.contains(mark))
}

fn mentions_error(line: &str) -> bool {
    let trimmed = line.trim_end();
    let passed = trimmed.ends_with("... ok") || trimmed.ends_with("... ignored");
    let counts = line.contains(" 0 failed") || line.contains("exited with code");
    let bytes = line.as_bytes();
    !(passed || counts)
        && ERROR_WORDS
            .iter()
            .any(|word| contains_ignoring_case(bytes, word.as_bytes()))
}

fn contains_ignoring_case(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word))
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
