//! Reported failures: what the user sees elsewhere, and what an answer leaves broken.

use super::acts::Act;
use super::error_shapes::has_code;
use super::output_line::OutputLine;
use super::signals::has_error;
use super::text::Sentence;

/// The longest sentence that counts, in bytes.
const LONGEST: usize = 1000;

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
pub(super) fn reports(said: &[Sentence], teller: Teller) -> impl Iterator<Item = Report<'_>> {
    let said = said.iter().filter(move |sentence| {
        let Sentence { text, acts, .. } = sentence;
        let names = match teller {
            Teller::User => has_error(text) || names_symptom(text) || !command_in(text).is_empty(),
            Teller::Answer => text.contains(['`', ':']) || has_error(text),
            Teller::Passing => false,
        };
        names && acts.has(Act::Failure) && text.len() <= LONGEST
    });
    said.map(|sentence| Report {
        text: &sentence.text,
        command: command_in(&sentence.text),
    })
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
    has_code(text) || quoted.any(says) || words.any(|word| named(word) || status(word))
}

/// Returns whether a sentence says that something works again.
pub(super) fn says_fixed(sentence: &Sentence) -> bool {
    sentence.acts.has(Act::Fixed) && sentence.text.len() <= LONGEST
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
