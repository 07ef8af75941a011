//! Commits: what `git commit` says that it made.

use super::text::one_line;

/// The longest subject, in characters.
const SUBJECT: usize = 120;

/// Returns the commits that a command made which passed, each as its hash and subject: from what git printed, else from
/// the message that was given.
pub(super) fn made(command: &str, output: &str) -> Vec<String> {
    if !command.contains("commit") {
        return Vec::new();
    }
    let printed = output.lines().take(400).filter_map(printed);
    let printed: Vec<String> = printed.collect();
    if !printed.is_empty() {
        return printed;
    }
    let given = command
        .split_once("git commit")
        .and_then(|(_, rest)| subject(rest));
    given.into_iter().collect()
}

/// Returns the commit of a line like `[main 45ffe0a] Subject`, `[main (root-commit) 45ffe0a] Subject`.
fn printed(line: &str) -> Option<String> {
    let (head, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let hash = head.rsplit(' ').next().filter(|hash| *hash != head)?;
    let is_hash =
        (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| format!("{hash}: {}", one_line(subject, SUBJECT)))
}

/// Returns the first line of the message behind `-m`.
fn subject(arguments: &str) -> Option<String> {
    let start = arguments.find(['"', '\''])?;
    let option = arguments[..start].trim_end_matches(['=', ' ']);
    let option = option.rsplit(' ').next()?;
    let says = option.starts_with('-') && option.ends_with('m') || option == "--message";
    let quote = arguments[start..].chars().next().filter(|_| says)?;
    let message = arguments[start + 1..].split(quote).next()?;
    let subject = message
        .lines()
        .next()
        .filter(|line| !line.starts_with("$("))?;
    Some(one_line(subject, SUBJECT)).filter(|subject| !subject.is_empty())
}
