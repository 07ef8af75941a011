//! The commits that command lines made.

use session_model::text::one_line;

use crate::shell::Program;

/// The longest subject that is shown, in characters.
const SUBJECT: usize = 120;

/// How many lines of an output are searched.
const LINES: usize = 400;

/// Returns the commits that a command line made, each with its hash, as git printed them. A commit that git did not
/// report is not known to have been made.
pub(crate) fn commits(programs: &[Program], output: &str) -> Vec<(String, String)> {
    let is_commit =
        |program: &Program| program.name() == "git" && program.subcommand() == Some("commit");
    if !programs.iter().any(is_commit) {
        return Vec::new();
    }
    let lines = output.lines().take(LINES);
    lines.filter_map(printed_commit).collect()
}

/// Returns the commit of a line like `[main 45ffe0a] Subject`, `[main (root-commit) 45ffe0a] Subject`.
fn printed_commit(line: &str) -> Option<(String, String)> {
    let (head, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (_, hash) = head.rsplit_once(' ')?;
    let is_hash =
        (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| (hash.to_owned(), one_line(subject, SUBJECT)))
}
