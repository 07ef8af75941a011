//! Failures that somebody tells of: what the user sees elsewhere, and what an answer leaves broken.

use super::signals::{has_error, states_error};
use super::text::Sentence;

/// The longest sentence that counts, in bytes.
const LONGEST: usize = 1000;

/// What says that something fails.
const FAILS: [&str; 24] = [
    " is red",
    " are red",
    " fails",
    " failing",
    " failed",
    " broken",
    " crashes",
    " crashed",
    " breaks",
    " dies ",
    " throws",
    " says ",
    " complains",
    " reports ",
    " doesn't compile",
    " does not compile",
    "schlägt fehl",
    " kaputt",
    " ist rot",
    " échoue",
    " falla",
    "失败",
    "报错",
    "失敗",
];
/// What says that somebody saw it.
const SEEN: [&str; 17] = [
    " i get ",
    " i got ",
    " i see ",
    " i'm getting ",
    " we get ",
    " we see ",
    " getting ",
    " on my machine",
    " locally",
    " ci ",
    " pipeline",
    " staging",
    " production",
    " ich bekomme ",
    " j'obtiens ",
    " me sale ",
    " me da ",
];
/// What says so of something that was seen before.
const STILL: [&str; 18] = [
    " still fail",
    " still red",
    " still broken",
    " still crash",
    " still break",
    " keeps failing",
    " keep failing",
    " remains red",
    " remains broken",
    " continues to fail",
    " immer noch fehl",
    " weiterhin fehl",
    " échoue toujours",
    " échoue encore",
    " sigue fallando",
    "仍然失败",
    "还是失败",
    "仍报错",
];
/// What makes it no report.
const NO_REPORT: [&str; 14] = [
    " if ",
    " unless ",
    " would ",
    " should ",
    " could ",
    " must ",
    " until ",
    " no longer ",
    " fixed",
    " used to ",
    " resolved",
    " expected",
    " wenn ",
    " falls ",
];
/// What says that something works again.
const MENDED: [&str; 22] = [
    " fixed",
    " passes",
    " pass now",
    " is green",
    " are green",
    " green again",
    " works now",
    " works again",
    " resolved",
    " solved",
    " builds again",
    " compiles now",
    " behoben",
    " geht wieder",
    " läuft wieder",
    " wieder grün",
    " corrigé",
    " arreglado",
    " resuelto",
    "修复了",
    "已修复",
    "已解决",
];

/// Who tells of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Teller {
    /// The user.
    User,
    /// An answer that calls nothing.
    Answer,
    /// What is said between calls.
    Passing,
}

/// A sentence that tells of a failure.
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
    let tells = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    match has_error(text) {
        true => tells(&FAILS) || tells(&SEEN),
        false => !command_in(text).is_empty() && tells(&FAILS[..6]),
    }
}

fn answer_tells(lower: &str, text: &str) -> bool {
    let named = text.contains('`') || text.contains(": ") || has_error(text);
    named && STILL.iter().any(|mark| lower.contains(mark))
}

fn found(said: &[Sentence], tells: impl Fn(&str, &str) -> bool) -> Vec<Report<'_>> {
    let said = said
        .iter()
        .filter(|sentence| sentence.text.len() <= LONGEST);
    let told = said.filter_map(|sentence| {
        let text = sentence.text.as_str();
        let lower = spaced(text);
        // What the error says is no condition of the report.
        let before = error_at(text).map_or(text.len(), |at| at);
        let opening = spaced(&text[..before]);
        let guess = NO_REPORT.iter().any(|mark| opening.contains(mark));
        (!guess && tells(&lower, text)).then(|| Report {
            text,
            command: command_in(text),
        })
    });
    told.collect()
}

/// Returns whether a sentence says that something works again.
pub(super) fn mends(text: &str) -> bool {
    const NOT_YET: [&str; 8] = [
        " not ", "n't ", " will ", " once ", " until ", " if ", " nicht ", " to be ",
    ];
    if text.len() > LONGEST {
        return false;
    }
    let lower = spaced(text);
    let says = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    says(&MENDED) && !says(&NOT_YET)
}

fn spaced(text: &str) -> String {
    format!(" {} ", text.to_lowercase().replace('’', "'"))
}

/// Returns where a sentence begins to quote an error.
fn error_at(text: &str) -> Option<usize> {
    let starts = text.match_indices(' ').map(|(at, _)| at + 1);
    let mut starts = starts.filter(|at| {
        let end = text.floor_char_boundary(at + 120);
        text[*at..].starts_with(|c: char| c.is_alphanumeric()) && states_error(&text[*at..end])
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
