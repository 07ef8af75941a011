//! Signals in what tools give back: whether a command failed, and with which errors.

use std::cmp::Reverse;

use super::error_shapes::{exit_code_in, opens_with_error};
use super::output_line::OutputLine;
use super::text::neutralise;
use crate::phrases::Phrases;

/// How much of an output is looked at: this many bytes at its start and at its end.
const WINDOW: usize = 64 * 1024;
/// Error lines of one failure: how many, how long each, how long together, in characters.
const ERRORS: usize = 3;
const ERROR_LINE: usize = 240;
const ERROR_TEXT: usize = 600;
/// How many lines are compared.
const CANDIDATES: usize = 96;
/// What a heading is worth less without what it announces.
const ALONE: i32 = 3;
/// How many lines behind the one that tells belong to it.
const NEAR: usize = 3;

/// Text that marks a failure anywhere in an output.
static FAILURES: Phrases = Phrases::named("signals.failures");
/// Beginnings of lines that mark a failure.
const FAILURE_LINES: [&str; 3] = ["FAIL ", "FAIL\t", "--- FAIL"];
/// How many of the last lines with words are looked at for what tells of a failure.
const LAST: usize = 12;
/// What opens a trace.
static TRACES: Phrases = Phrases::named("signals.traces");
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
pub enum Known {
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
    let end = match (known, exit) {
        (Known::Nothing, None) => bad_end(tail),
        // Whoever marks failures may take a command for one that passed, but not against what it sums up itself.
        (Known::NoError, None) => bad_end(tail).filter(|end| *end != Ending::Stated),
        _ => None,
    };
    let failed = match (known, exit) {
        (Known::Failed, _) => true,
        (Known::Passed, _) => false,
        (Known::NoError | Known::Nothing, Some(code)) => code != 0,
        (Known::NoError, None) => end.is_some(),
        (Known::Nothing, None) => found(head) || found(tail) || end.is_some(),
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
    let exit = exit.filter(|code| *code != 0).or(match end {
        Some(Ending::Exit(code)) => Some(code),
        _ => None,
    });
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

/// Returns how the last lines tell that it failed, if they do: with an exit code where they name one.
fn bad_end(tail: &str) -> Option<Ending> {
    let lines = tail.lines().rev().map(str::trim);
    let lines = lines.filter(|line| line.contains(char::is_alphanumeric));
    for (place, printed) in lines.take(LAST).enumerate() {
        let text = clean(printed);
        let line = OutputLine::of(&text);
        match line.counted_failures() {
            Some(0) => return None,
            Some(_) => return Some(Ending::Counted),
            None => {}
        }
        if let Some(code) = exit_code_in(&text) {
            return Some(Ending::Exit(code));
        }
        if line.tells_failure() {
            return Some(Ending::Stated);
        }
        if line.succeeds() {
            return None;
        }
        if place == 0 && line.disputes() {
            return Some(Ending::Stated);
        }
    }
    None
}

/// How the last lines tell of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// They count what failed.
    Counted,
    /// They name an exit code.
    Exit(i64),
    /// One is an error.
    Stated,
}

/// A line that may tell what went wrong.
struct Candidate {
    score: i32,
    /// Whether what it announces is missing.
    alone: bool,
    order: usize,
    text: String,
}

/// Returns the lines that tell why, the most telling first.
fn error_lines(head: &str, tail: &str) -> Vec<String> {
    let mut found = candidates(head, tail);
    let best = found
        .iter()
        .max_by_key(|line| (line.score, Reverse(line.order)));
    let Some(place) = best.map(|line| line.order) else {
        return Vec::new();
    };
    for line in &mut found {
        // What stands behind it belongs to it.
        let next = line.order > place && line.order <= place + NEAR && line.score > 1;
        line.score += i32::from(next) + i32::from(line.order == place) * 100;
    }
    found.sort_by_key(|line| (Reverse(line.score), line.order));
    // What stands around it may tell more, where nothing else does.
    let printed = head.lines().chain(tail.lines()).enumerate();
    let around = printed.skip(place.saturating_sub(1)).take(NEAR + 2);
    let around = around.filter(|(order, printed)| *order != place && is_said(printed));
    let around = around.map(|(order, printed)| Candidate {
        score: 2,
        alone: false,
        order,
        text: clean(printed),
    });
    found.retain(|line| line.score > 1 || line.order == place);
    let around: Vec<Candidate> = around.collect();
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for line in found.into_iter().chain(around) {
        let text = line.text;
        let same = |known: &String| known.contains(text.trim()) || text.contains(known.trim());
        if lines.iter().any(same) {
            continue;
        }
        length += text.chars().count();
        if length > ERROR_TEXT && !lines.is_empty() {
            break;
        }
        lines.push(text);
        if lines.len() == ERRORS {
            break;
        }
    }
    lines
}

/// Returns whether a line says something with words, and does not only sum up.
fn is_said(printed: &str) -> bool {
    let text = clean(printed);
    let line = OutputLine::of(&text);
    let wordy = text.split_whitespace().count() > 1 && text.contains(char::is_alphabetic);
    wordy && !line.is_aside() && !line.sums_up() && !line.heads()
}

/// Returns the lines of an output that tell something, in their order.
fn candidates(head: &str, tail: &str) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut headed = false;
    let mut traced = false;
    // Of a trace the last error counts: it is what came of the others, or their cause.
    let mut last_named = None;
    for (order, printed) in head.lines().chain(tail.lines()).enumerate() {
        let text = clean(printed);
        if !text.contains(char::is_alphanumeric) {
            continue;
        }
        traced |= TRACES.is_in(&text);
        let line = OutputLine::of(&text);
        let score = line.score();
        if headed && line.is_empty() {
            continue;
        }
        if headed && !line.is_aside() {
            headed = line.heads();
            // What a line announces is told by the next one.
            if let Some(heading) = found.last_mut() {
                heading.text = cut(&format!(
                    "{} {}",
                    heading.text.trim_end(),
                    text.trim_start()
                ));
                heading.score += score.min(4) + ALONE * i32::from(heading.alone);
                heading.alone = false;
                continue;
            }
        }
        let heads = line.heads() && !line.sums_up() && (score > 0 || line.states());
        if score <= 0 && !heads {
            continue;
        }
        headed = heads;
        if line.names_error() && traced && !text.starts_with(' ') {
            last_named = Some(order);
        }
        found.push(Candidate {
            score: score - ALONE * i32::from(heads),
            alone: heads,
            order,
            text,
        });
        // More cannot be shown. What a program says first and last is kept.
        if found.len() >= CANDIDATES {
            found.remove(CANDIDATES / 2);
        }
    }
    if let Some(last) = found.iter_mut().find(|line| Some(line.order) == last_named) {
        last.score += 3;
    }
    found
}

/// Returns true for a sentence that quotes an error somewhere.
pub(super) fn has_error(text: &str) -> bool {
    let mut starts = text.match_indices(' ').map(|(at, _)| at + 1);
    states_error(text) || starts.any(|at| opens_with_error(&text[at..]))
}

/// Returns true for a text that begins with an error and what it is: `error: ...`, `panic: ...`, `KeyError: ...`, or
/// that has one behind the place it is about.
pub(super) fn states_error(text: &str) -> bool {
    OutputLine::of(text).states()
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
    neutralise(cut(&out).trim_end())
}

/// Returns a line without its middle where it is long: it begins with what failed and ends with the cause.
fn cut(line: &str) -> String {
    let length = line.chars().count();
    if length <= ERROR_LINE {
        return line.to_owned();
    }
    let head = line.chars().take(ERROR_LINE / 2);
    let tail = line.chars().skip(length - (ERROR_LINE / 2 - 1));
    head.chain(['…']).chain(tail).collect()
}
