//! The commits that command lines made.

use session_model::text::one_line;

use crate::shell::Program;

/// The longest subject that is shown, in characters.
const SUBJECT: usize = 120;

/// How many lines of an output are searched.
const LINES: usize = 400;

/// Returns the commits that a command line made, each with its hash: what git printed, else the message that was given.
pub(crate) fn commits(
    programs: &[Program],
    output: &str,
    has_failed: bool,
) -> Vec<(Option<String>, String)> {
    let is_commit =
        |program: &&Program| program.name() == "git" && program.subcommand() == Some("commit");
    let made: Vec<&Program> = programs.iter().filter(is_commit).collect();
    if made.is_empty() {
        return Vec::new();
    }
    let printed: Vec<_> = output
        .lines()
        .take(LINES)
        .filter_map(printed_commit)
        .collect();
    if !printed.is_empty() || has_failed {
        return printed;
    }
    let given = made.into_iter().filter_map(given_subject);
    given.map(|subject| (None, subject)).collect()
}

/// Returns the commit of a line like `[main 45ffe0a] Subject`, `[main (root-commit) 45ffe0a] Subject`.
fn printed_commit(line: &str) -> Option<(Option<String>, String)> {
    let (head, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (_, hash) = head.rsplit_once(' ')?;
    let is_hash =
        (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| (Some(hash.to_owned()), one_line(subject, SUBJECT)))
}

/// Returns the first line of the message behind `-m`.
fn given_subject(program: &Program) -> Option<String> {
    let words = &program.words;
    let at = words.iter().position(|word| {
        let text = word.text.as_str();
        text == "--message"
            || text.starts_with('-') && !text.starts_with("--") && text.ends_with('m')
    })?;
    let message = words.get(at + 1).filter(|word| !word.is_open)?;
    let subject = message.text.trim_start().lines().next().unwrap_or_default();
    Some(one_line(subject, SUBJECT)).filter(|subject| !subject.is_empty())
}
