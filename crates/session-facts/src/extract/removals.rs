//! Commands that take files away, give them another name, or write them.

use session_model::ToolCall;

use crate::file_call::{FileAction, commands_of};
use crate::shell_files::{moved_to, shell_files, within};

/// What a command does to a path, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Removal {
    /// It deletes it, and with a folder what is below.
    Deleted(String),
    /// It gives it another name.
    Moved {
        /// The name before.
        from: String,
        /// The name after.
        to: String,
    },
    /// It may put back what it was, and with a folder what is below; `None` for all that there is.
    Restored(Option<String>),
    /// It makes it, or writes it anew.
    Made(String),
}

/// The longest command that is taken apart, in bytes.
const LONGEST: usize = 64 * 1024;

/// Options of `git rm` and `rm` that leave the file where it is.
const LEAVING: [&str; 4] = ["--cached", "-n", "--dry-run", "--help"];

/// Returns what the command of a call takes away.
pub(super) fn removals_of_call(call: &ToolCall) -> Vec<Removal> {
    let commands = commands_of(call).into_iter();
    commands.flat_map(|command| removals(&command)).collect()
}

/// Returns what a command takes away when it succeeds. Of what a shell works out itself (patterns, variables,
/// alternatives, pipes) that is unknown, so it does not count.
pub(super) fn removals(command: &str) -> Vec<Removal> {
    let mut found = taken_away(command);
    let files = shell_files(command).into_iter();
    let made = files.filter(|(action, _)| *action != FileAction::Read);
    let made: Vec<String> = made.map(|(_, path)| path).collect();
    // What is moved brings its own work.
    let moved = |path: &String| {
        let mut found = found.iter();
        found.any(|it| matches!(it, Removal::Moved { to, .. } if to == path))
    };
    let made: Vec<String> = made.into_iter().filter(|path| !moved(path)).collect();
    found.extend(made.into_iter().map(Removal::Made));
    found
}

fn taken_away(command: &str) -> Vec<Removal> {
    let mut found = Vec::new();
    let mut words = ["rm", "mv", "unlink", "git"].iter();
    if command.len() > LONGEST || !words.any(|word| command.contains(word)) {
        return found;
    }
    let Some(steps) = steps(command) else {
        return found;
    };
    let mut folder: Option<String> = None;
    for words in steps {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (name, rest) = match words.as_slice() {
            [
                "git",
                name @ ("checkout" | "restore" | "reset" | "stash"),
                rest @ ..,
            ] => {
                let paths = restored(name, rest).into_iter();
                let paths = paths.map(|path| path.map(|path| within(folder.as_deref(), path)));
                found.extend(paths.map(Removal::Restored));
                continue;
            }
            ["git", name @ ("rm" | "mv"), rest @ ..] => (*name, rest),
            [name, rest @ ..] => (*name, rest),
            [] => continue,
        };
        match name {
            "cd" => match rest {
                [to] => folder = Some(within(folder.as_deref(), to)),
                _ => return found,
            },
            "rm" | "unlink" | "mv" => {
                if rest.iter().any(|word| LEAVING.contains(word)) {
                    continue;
                }
                let Some(paths) = operands(rest) else {
                    continue;
                };
                let paths = paths.iter().map(|path| within(folder.as_deref(), path));
                let paths: Vec<String> = paths.collect();
                match (name, paths.as_slice()) {
                    ("mv", [from @ .., to]) => {
                        let into = from.len() > 1;
                        found.extend(from.iter().map(|from| Removal::Moved {
                            from: from.clone(),
                            to: moved_to(from, to, into),
                        }));
                    }
                    _ => found.extend(paths.into_iter().map(Removal::Deleted)),
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns what git may put back, `None` for all that there is.
fn restored<'a>(name: &str, words: &[&'a str]) -> Vec<Option<&'a str>> {
    let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
    let paths = |from: &[&'a str]| {
        let paths = from.iter().filter(|word| !word.starts_with('-'));
        paths.map(|path| Some(*path)).collect()
    };
    let named = words.iter().position(|word| *word == "--");
    match (name, named) {
        ("reset", _) if has(&["--hard", "--merge"]) => vec![None],
        ("reset", _) => Vec::new(),
        ("stash", _) if has(&["list", "show", "drop", "clear", "create", "store"]) => Vec::new(),
        ("restore", _) if has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]) => Vec::new(),
        (_, Some(at)) => paths(&words[at + 1..]),
        ("stash", None) => vec![None],
        ("checkout", None) if has(&["-b", "-B", "--orphan"]) => Vec::new(),
        ("checkout", None) if has(&["-f", "--force"]) => vec![None],
        // A name may be that of a branch; then no file has it.
        (_, None) => paths(words),
    }
}

/// Returns the words that are no options; `None` for options that take a word of their own.
fn operands<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut paths = Vec::new();
    let mut options = true;
    for word in words {
        match *word {
            "--" if options => options = false,
            "-t" | "-S" if options => return None,
            word if options && word.starts_with("--") && word.contains('=') => return None,
            word if options && word.starts_with('-') && word.len() > 1 => {}
            word => paths.push(word),
        }
    }
    Some(paths)
}

/// Returns the words of the commands that run one after the other; `None` where a shell decides something.
fn steps(command: &str) -> Option<Vec<Vec<String>>> {
    let mut steps = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut letters = command.chars().peekable();
    let end = |word: &mut Option<String>, steps: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(step)) = (word.take(), steps.last_mut()) {
            step.push(word);
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => word.push(letters.next()?),
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => match letters.next()? {
                '\n' => {}
                letter => word.get_or_insert_default().push(letter),
            },
            '&' if letters.peek() == Some(&'&') => {
                letters.next();
                end(&mut word, &mut steps);
                steps.push(Vec::new());
            }
            ';' | '\n' => {
                end(&mut word, &mut steps);
                steps.push(Vec::new());
            }
            '$' | '`' | '*' | '?' | '[' | '{' | '(' | ')' | '|' | '&' | '<' | '>' | '#' => {
                return None;
            }
            letter if letter.is_whitespace() => end(&mut word, &mut steps),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    end(&mut word, &mut steps);
    Some(steps)
}

/// Returns whether an output says that something was not taken away after all.
pub(super) fn complains(output: &str) -> bool {
    const COMPLAINTS: [&str; 4] = ["rm: ", "mv: ", "unlink: ", "fatal: "];
    let mut lines = output.lines();
    lines.any(|line| COMPLAINTS.iter().any(|start| line.starts_with(start)))
}
