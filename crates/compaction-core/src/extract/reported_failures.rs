//! Reported failures: what the user sees elsewhere, and what an answer leaves broken.

use super::error_shapes::{has_code, opens_with_error};
use super::output_line::OutputLine;
use super::signals::has_error;
use super::text::Sentence;
use crate::phrases::Phrases;

/// The longest sentence that counts, in bytes.
const LONGEST: usize = 1000;

/// What says that something fails.
static FAILS: Phrases = Phrases::named("failures.fails");
/// What says so where the sentence names a command.
static FAILS_OF_COMMANDS: Phrases = Phrases::named("failures.fails_of_commands");
/// What says that it was observed.
static SEEN: Phrases = Phrases::named("failures.seen");
/// What says so of something that was seen before.
static STILL: Phrases = Phrases::named("failures.still");
/// What makes it no report.
static NO_REPORT: Phrases = Phrases::named("failures.no_report");
/// What says that something works again.
static FIXED: Phrases = Phrases::named("failures.fixed");

/// Who reports a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Teller {
    /// The user.
    User,
    /// An answer that calls nothing.
    Answer,
    /// What is said between calls.
    Passing,
}

/// A sentence that reports a failure.
#[derive(Debug)]
pub(super) struct Report<'a> {
    /// The sentence.
    pub(super) text: &'a str,
    /// The command that it names, or nothing.
    pub(super) command: &'a str,
}

/// Returns the sentences that tell of failures: what the user sees, and what an answer leaves.
pub(super) fn reports(said: &[Sentence], teller: Teller) -> Vec<Report<'_>> {
    match teller {
        Teller::User => found(said, user_tells),
        Teller::Answer => found(said, answer_tells),
        Teller::Passing => Vec::new(),
    }
}

fn user_tells(lower: &str, text: &str) -> bool {
    let fails = FAILS.is_in(lower);
    let seen = || fails || SEEN.is_in(lower);
    match has_error(text) {
        true => seen() || error_at(text).is_some_and(|at| text[..at].contains(": ")),
        false => {
            let runs = !command_in(text).is_empty() && FAILS_OF_COMMANDS.is_in(lower);
            runs || seen() && names_symptom(text)
        }
    }
}

/// Returns true for a sentence with what a program said or did: an error that it quotes or names, or a code.
fn names_symptom(text: &str) -> bool {
    let quoted = text.split(['"', '`', '“', '”']).skip(1).step_by(2);
    let says = |part: &str| part.contains(' ') && OutputLine::of(part).score() >= 2;
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let named =
        |word: &str| word.ends_with("Exception") || word.ends_with("Error") && word.len() > 5;
    let status = |word: &str| {
        word.len() == 3 && word.starts_with(['4', '5']) && word.bytes().all(|c| c.is_ascii_digit())
    };
    let mut quoted = quoted.chain(text.split_once(": ").map(|(_, said)| said));
    let exit = text.split("code ").nth(1);
    has_code(text)
        || exit.is_some_and(|code| code.starts_with(|c: char| c.is_ascii_digit()))
        || quoted.any(says)
        || words.any(|word| named(word) || status(word))
}

fn answer_tells(lower: &str, text: &str) -> bool {
    let named = text.contains('`') || text.contains(": ") || has_error(text);
    named && STILL.is_in(lower)
}

fn found(said: &[Sentence], tells: impl Fn(&str, &str) -> bool) -> Vec<Report<'_>> {
    let said = said
        .iter()
        .filter(|sentence| sentence.text.len() <= LONGEST);
    let told = said.filter_map(|sentence| {
        let text = sentence.text.as_str();
        if !tells(&spaced(text), text) {
            return None;
        }
        // What the error says is no condition of the report.
        let before = error_at(text).map_or(text.len(), |at| at);
        let guess = NO_REPORT.is_in(&spaced(&text[..before]));
        (!guess).then(|| Report {
            text,
            command: command_in(text),
        })
    });
    told.collect()
}

/// Returns whether a sentence tells that something fails, and not that it works again.
pub(super) fn tells_failure(text: &str) -> bool {
    let lower = spaced(text);
    (FAILS.is_in(&lower) || STILL.is_in(&lower)) && !mends(text)
}

/// Returns whether a sentence says that something works again.
pub(super) fn mends(text: &str) -> bool {
    static NOT_YET: Phrases = Phrases::named("failures.not_yet");
    if text.len() > LONGEST {
        return false;
    }
    let lower = spaced(text);
    FIXED.is_in(&lower) && !NOT_YET.is_in(&lower)
}

fn spaced(text: &str) -> String {
    let plain = |c: char| match c {
        '’' => '\'',
        ':' | ',' | ';' | '.' | '!' | '?' | '"' | '`' | '(' | ')' => ' ',
        _ => c,
    };
    let lower = text.to_lowercase();
    format!(" {} ", lower.chars().map(plain).collect::<String>())
}

/// Returns where a sentence begins to quote an error.
fn error_at(text: &str) -> Option<usize> {
    let starts = text.match_indices(' ').map(|(at, _)| at + 1);
    let mut starts = starts.filter(|at| {
        let end = text.floor_char_boundary(at + 120);
        text[*at..].starts_with(|c: char| c.is_alphanumeric()) && opens_with_error(&text[*at..end])
    });
    starts.next()
}

/// Returns the command that a sentence quotes: between backquotes, or in parentheses at its end.
fn command_in(text: &str) -> &str {
    let quoted = text.split('`').skip(1).step_by(2);
    let closing = text.trim_end_matches(['.', '!']).strip_suffix(')');
    let closing = closing.and_then(|text| text.rsplit_once('('));
    let mut all = quoted.chain(closing.map(|(_, inner)| inner));
    all.find(|part| runs(part)).unwrap_or_default()
}

/// Returns true for what reads like a command line: a program and what it is given.
fn runs(text: &str) -> bool {
    let Some((program, rest)) = text.trim().split_once(' ') else {
        return false;
    };
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let first = program.starts_with(|c: char| c.is_ascii_lowercase() || matches!(c, '.' | '/'));
    let codelike = rest.contains(['/', '-', '.', ':', '_']) || rest.split(' ').count() <= 2;
    first && program.chars().all(name) && codelike && !rest.starts_with(['=', '!', '<', '>', '+'])
}
