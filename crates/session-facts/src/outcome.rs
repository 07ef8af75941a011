//! How a command ended: by its exit code, by the mark of its result, and by the last lines of a test runner.

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It ended without a sign of failure, which is not to say that it did what was wanted.
    Ended {
        /// The last line of its output; empty where it printed nothing.
        line: String,
    },
    /// It failed.
    Failed {
        /// The line of its output that says why, or its last one; empty where it printed nothing.
        line: String,
    },
    /// It has no result.
    Unknown,
}

/// How much of an output is looked at, in bytes, at its start and at its end.
const WINDOW: usize = 64 * 1024;
/// In how many lines at the start and at the end of an output an exit code is looked for.
const EDGE: usize = 4;
/// How many of its last lines say what a test runner found.
const VERDICT: usize = 40;
/// The longest line that is such a statement, in bytes.
const STATEMENT: usize = 240;

/// How lines begin that say why a command failed, and what others hold that do, the surest first.
const STARTS: [&str; 8] = [
    "error",
    "fatal",
    "panic",
    "e   ",
    "traceback",
    "failed",
    "fail ",
    "exception",
];
const SURE: [&str; 5] = [
    "panicked at",
    "... failed",
    "error[",
    " error:",
    "exception:",
];
const MARKS: [&str; 7] = [
    "no such file",
    "not found",
    "permission denied",
    "cannot ",
    "assertion",
    " failed",
    " error",
];
/// How lines end that report a success.
const SUCCESS: [&str; 3] = [" ok", " passed", " 0 failed"];

/// Returns how a command ended. `is_error` is the mark of its result; `is_hidden` says that the exit code is not that of
/// the program that matters, `is_check` that the program runs tests or checks.
pub(crate) fn outcome(output: &str, is_error: bool, is_hidden: bool, is_check: bool) -> Outcome {
    let ends = ends_of(output);
    let lines = ends.iter().flat_map(|part| part.lines());
    let lines = lines.map(str::trim_end);
    let failed = match exit_code(lines.clone()) {
        Some(0) => is_check && is_hidden && says_failed(lines.clone()),
        Some(_) => true,
        None => is_error || is_check && says_failed(lines.clone()),
    };
    match failed {
        true => Outcome::Failed {
            line: failure_line(&lines.collect::<Vec<_>>()),
        },
        false => Outcome::Ended {
            line: said(lines).next_back().unwrap_or_default().to_owned(),
        },
    }
}

fn ends_of(output: &str) -> [&str; 2] {
    if output.len() <= 2 * WINDOW {
        return [output, ""];
    }
    let head = output.floor_char_boundary(WINDOW);
    let tail = output.ceil_char_boundary(output.len() - WINDOW);
    [&output[..head], &output[tail..]]
}

/// Returns the exit code that the first or the last lines state: `Exit code 1`, `Process exited with code 0`.
fn exit_code<'a>(lines: impl DoubleEndedIterator<Item = &'a str> + Clone) -> Option<i64> {
    let first = lines.clone().take(EDGE);
    let last = lines.rev().take(EDGE);
    last.chain(first).find_map(stated_code)
}

fn stated_code(line: &str) -> Option<i64> {
    let mut words = line.as_bytes().windows(4);
    if line.len() > STATEMENT || !words.any(|word| word.eq_ignore_ascii_case(b"exit")) {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let behind = [
        "exit code",
        "exit status",
        "exited with code",
        "exited with status",
        "exit_code",
    ];
    let at = behind
        .iter()
        .find_map(|words| Some(lower.find(words)? + words.len()))?;
    let rest = lower[at..].trim_start_matches([':', '=', '"', ' ', '(']);
    let digits = rest.trim_start_matches('-');
    let digits = &digits[..digits.bytes().take_while(u8::is_ascii_digit).count()];
    let code: i64 = digits.parse().ok()?;
    Some(if rest.starts_with('-') { -code } else { code })
}

/// Returns whether the last lines of a test runner count failures: `3 failed`, `FAILED (errors=1)`, `test result: FAILED`.
fn says_failed<'a>(lines: impl DoubleEndedIterator<Item = &'a str>) -> bool {
    let last = lines.rev().filter(|line| !line.is_empty()).take(VERDICT);
    last.filter(|line| line.len() <= STATEMENT).any(|line| {
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let counts = words.windows(2).any(|pair| {
            let is_count = pair[0].parse::<u64>().is_ok_and(|count| count > 0);
            is_count
                && matches!(
                    pair[1],
                    "failed" | "failing" | "failures" | "failure" | "errors" | "error"
                )
        });
        counts
            || words.iter().any(|word| matches!(*word, "FAILED" | "FAIL"))
            || line.starts_with("error:")
            || line.starts_with("error[")
    })
}

/// Returns the lines that are neither blank nor the exit code.
fn said<'a>(
    lines: impl DoubleEndedIterator<Item = &'a str>,
) -> impl DoubleEndedIterator<Item = &'a str> {
    lines
        .map(str::trim)
        .filter(|line| !line.is_empty() && stated_code(line).is_none())
}

/// Returns the line that says why: the first of those that say it most surely, or the last one.
fn failure_line(lines: &[&str]) -> String {
    let rank = |line: &str| {
        let head = &line[..line.floor_char_boundary(STATEMENT)];
        let lower = head
            .trim_start_matches(|c: char| !c.is_alphanumeric())
            .to_ascii_lowercase();
        let holds = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
        if SUCCESS.iter().any(|end| lower.ends_with(end)) {
            3
        } else if STARTS.iter().any(|start| lower.starts_with(start)) || holds(&SURE) {
            1
        } else {
            3 - u8::from(holds(&MARKS))
        }
    };
    let said = || said(lines.iter().copied());
    let first = |of_rank: u8| said().find(|line| rank(line) == of_rank);
    let best = first(1).or_else(|| first(2));
    best.or_else(|| said().next_back())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Outcome, outcome};

    /// Whether a check with this output failed, and the line that says why.
    fn failed(output: &str, is_error: bool, is_hidden: bool) -> Option<String> {
        match outcome(output, is_error, is_hidden, true) {
            Outcome::Failed { line } => Some(line),
            Outcome::Ended { .. } | Outcome::Unknown => None,
        }
    }

    #[test]
    fn exit_codes_go_before_marks_and_marks_before_lines() {
        let check = |output, is_error, is_hidden, want: Option<&str>| {
            assert_eq!(
                failed(output, is_error, is_hidden).as_deref(),
                want,
                "{output}"
            );
        };
        check("test result: ok. 3 passed; 0 failed", false, false, None);
        let tests = "test a::an_error ... ok\ntest b ... FAILED\nerror: test failed";
        check(tests, true, false, Some("test b ... FAILED"));
        check(
            "Exit code 1\nerror: no such crate\nmore",
            true,
            false,
            Some("error: no such crate"),
        );
        check(
            "Process exited with code 0\nOutput:\n3 failed before",
            false,
            false,
            None,
        );
        check(
            " Tests  3 failed | 5 passed",
            false,
            true,
            Some("Tests  3 failed | 5 passed"),
        );
        check("Exit code: 0\n 3 failed", false, true, Some("3 failed"));
        check("ok\n[exit code: 2]", false, false, Some("ok"));
        check("{\"exit_code\":1}", false, false, Some(""));
        check("", true, false, Some(""));
        check(
            "FAILED tests/a.py::b - assert 1",
            false,
            false,
            Some("FAILED tests/a.py::b - assert 1"),
        );
        let plain = outcome("error: nothing", false, false, false);
        let line = "error: nothing".to_owned();
        assert_eq!(plain, Outcome::Ended { line });
    }
}
