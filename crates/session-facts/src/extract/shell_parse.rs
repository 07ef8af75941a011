//! What a command line means, however it is written: where it runs and what, without what wraps it, hides a part of
//! its output, or makes it talk more or less.

use crate::phrases::Phrases;

/// Programs that run another one and change nothing about what it does.
const WRAPPERS: [&str; 16] = [
    "sudo", "doas", "time", "nohup", "command", "exec", "env", "nice", "ionice", "stdbuf",
    "timeout", "xvfb-run", "npx", "bunx", "uvx", "then",
];
/// The same with a word of their own.
const RUNNERS: [(&str, &str); 9] = [
    ("npm", "exec"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bundle", "exec"),
    ("poetry", "run"),
    ("uv", "run"),
    ("pipenv", "run"),
];
/// Options of wrappers that take a word.
const WITH_WORD: [&str; 6] = ["-u", "-g", "-n", "-k", "-s", "-o"];
/// What passes on a part of what it is given, at most.
const FILTERS: [&str; 18] = [
    "tail", "head", "grep", "egrep", "rg", "less", "cat", "tee", "sed", "awk", "wc", "sort",
    "uniq", "cut", "tr", "jq", "column", "more",
];
/// What is run after `;` or `||` and does not matter.
const REMARKS: [&str; 6] = ["echo", "printf", "true", "exit", "false", ":"];
/// Options that change what is printed alone.
static TALK: Phrases = Phrases::named("shell_parse.talk");
/// Short ones, with the programs for which they do.
const SHORT_TALK: [(&str, &[&str]); 6] = [
    ("cargo", &["-q", "-v", "-vv"]),
    ("pytest", &["-q", "-qq", "-v", "-vv", "-vvv", "-s", "-x"]),
    ("npm", &["-s", "-d"]),
    ("pnpm", &["-s"]),
    ("yarn", &["-s"]),
    ("go", &["-v"]),
];
/// Options that name the folder in which a program works.
const FOLDER: [(&str, &[&str]); 8] = [
    ("make", &["-C", "--directory"]),
    ("npm", &["--prefix", "-C"]),
    ("pnpm", &["-C", "--dir", "--prefix"]),
    ("yarn", &["--cwd"]),
    ("terraform", &["-chdir"]),
    ("go", &["-C"]),
    ("git", &["-C"]),
    ("just", &["--working-directory", "-d"]),
];
/// What of a package manager runs a script without `run`.
const SCRIPTS: [&str; 4] = ["test", "t", "start", "tst"];
/// How deep shells in shells are followed.
const SHELLS: usize = 3;

/// One program of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The folder in which it runs, where that is said.
    pub(super) dir: Option<String>,
    /// The program and what it is given.
    pub(super) words: Vec<String>,
}

impl Part {
    /// Returns its words as one text.
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }

    /// Returns whether both run in the same folder, as far as is known. A path from the root is taken for the folder
    /// that a command without one runs in, and for any whose end it has; a path from there is another folder.
    pub(super) fn same_place(&self, other: &Self) -> bool {
        let within = |whole: &str, end: &str| {
            let rest = whole.strip_suffix(end);
            whole.starts_with('/') && rest.is_some_and(|rest| rest.ends_with('/'))
        };
        match (&self.dir, &other.dir) {
            (None, None) => true,
            (Some(dir), None) | (None, Some(dir)) => dir.starts_with('/'),
            (Some(one), Some(other)) => one == other || within(one, other) || within(other, one),
        }
    }
}

/// Returns the programs that `text` runs, in order; `dir` is the folder in which it does.
pub(super) fn parts(text: &str, dir: Option<&str>) -> Vec<Part> {
    parts_in(text, dir.map(|dir| joined(None, dir)), SHELLS)
}

fn parts_in(text: &str, base: Option<String>, shells: usize) -> Vec<Part> {
    let mut dir = base;
    // The folders to which a shell in brackets and `popd` come back.
    let (mut outer, mut pushed) = (Vec::new(), Vec::new());
    let mut parts: Vec<Part> = Vec::new();
    for piece in pieces(text) {
        let (joint, words) = match piece {
            Piece::Command(joint, words) => (joint, words),
            Piece::Open => {
                outer.push(dir.clone());
                continue;
            }
            Piece::Close => {
                dir = outer.pop().unwrap_or(dir);
                continue;
            }
        };
        let words = unwrapped(words);
        let first = words.first().map(String::as_str).unwrap_or_default();
        match joint {
            Joint::Pipe if FILTERS.contains(&first) => continue,
            Joint::Pipe => {
                if let Some(before) = parts.last_mut() {
                    before.words.push("|".to_owned());
                    before.words.extend(words);
                    continue;
                }
            }
            Joint::Else => continue,
            Joint::Then if !parts.is_empty() && REMARKS.contains(&first) => continue,
            Joint::Then => {}
        }
        if first == "popd" {
            dir = pushed.pop().unwrap_or(dir);
            continue;
        }
        if matches!(first, "cd" | "pushd") {
            if first == "pushd" {
                pushed.push(dir.clone());
            }
            dir = words.get(1).map(|to| joined(dir.as_deref(), to));
            continue;
        }
        if let Some(script) = inner(&words).filter(|_| shells > 0) {
            parts.extend(parts_in(&script, dir.clone(), shells - 1));
            continue;
        }
        let part = plain(words, dir.clone());
        if !part.words.is_empty() {
            parts.push(part);
        }
    }
    parts
}

/// How a command stands to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// It comes behind it.
    Then,
    /// It runs only when that one failed.
    Else,
    /// It reads what that one prints.
    Pipe,
}

/// A piece of a command line.
enum Piece {
    /// A command as words.
    Command(Joint, Vec<String>),
    /// A shell of its own begins.
    Open,
    /// It ends, and with it the folder it went to.
    Close,
}

/// Returns the pieces of a line, redirections left out.
fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let (mut joint, mut words) = (Joint::Then, Vec::new());
    let (mut word, mut quote, mut skips) = (String::new(), None, false);
    let mut end_word = |word: &mut String, words: &mut Vec<String>| {
        if word.is_empty() {
            return;
        }
        let done = std::mem::take(word);
        let target = done.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        match target.strip_prefix('>') {
            // The file may be a word of its own.
            Some(rest) => skips = matches!(rest, "" | ">"),
            None if skips => skips = false,
            None => words.push(done),
        }
    };
    let mut rest = text.trim().chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), _) => {
                if c == open {
                    quote = None;
                }
                word.push(c);
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                word.push(c);
            }
            (None, '&') if word.ends_with('>') || rest.peek() == Some(&'>') => word.push(c),
            (None, '&' | '|' | ';') => {
                end_word(&mut word, &mut words);
                let twice = rest.next_if_eq(&c).is_some();
                found.push(Piece::Command(joint, std::mem::take(&mut words)));
                joint = match (c, twice) {
                    ('|', true) => Joint::Else,
                    ('|', false) => Joint::Pipe,
                    _ => Joint::Then,
                };
            }
            (None, '(') if word.is_empty() => found.push(Piece::Open),
            (None, ')') if !word.contains('(') => {
                end_word(&mut word, &mut words);
                found.push(Piece::Command(joint, std::mem::take(&mut words)));
                found.push(Piece::Close);
            }
            (None, _) if c.is_whitespace() => end_word(&mut word, &mut words),
            (None, _) => word.push(c),
        }
    }
    end_word(&mut word, &mut words);
    found.push(Piece::Command(joint, words));
    found.retain(|piece| !matches!(piece, Piece::Command(_, words) if words.is_empty()));
    found
}

/// Returns whether a word sets a variable for the program behind it.
fn assigns(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the words from the program on that does the work.
fn unwrapped(words: Vec<String>) -> Vec<String> {
    let mut at = 0;
    while let Some(word) = words.get(at).map(String::as_str) {
        let next = words.get(at + 1).map(String::as_str).unwrap_or_default();
        if assigns(word) {
            at += 1;
        } else if RUNNERS.contains(&(word, next)) {
            at = options_end(&words, at + 2);
        } else if WRAPPERS.contains(&word) {
            at = options_end(&words, at + 1);
            // How long it may take.
            at += usize::from(word == "timeout" && at < words.len());
        } else if matches!(word, "bash" | "sh" | "zsh") {
            let script = options_end(&words, at + 1);
            let file = words
                .get(script)
                .is_some_and(|word| !word.starts_with(['"', '\'']));
            match file {
                true => at = script,
                false => break,
            }
        } else {
            break;
        }
    }
    words.into_iter().skip(at).collect()
}

fn options_end(words: &[String], mut at: usize) -> usize {
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += 1 + usize::from(WITH_WORD.contains(&word.as_str()));
    }
    at
}

/// Returns the commands that a shell is given as a text.
fn inner(words: &[String]) -> Option<String> {
    let shell = matches!(words.first()?.as_str(), "bash" | "sh" | "zsh");
    let option = words
        .get(1)
        .filter(|word| word.starts_with('-') && word.ends_with('c'));
    let text = words.get(2).filter(|_| shell && option.is_some())?;
    Some(text.trim_matches(['"', '\'']).to_owned())
}

/// Returns a folder named from another one.
fn joined(base: Option<&str>, to: &str) -> String {
    let to = to.trim_matches(['"', '\'']);
    let mut names: Vec<&str> = Vec::new();
    let rooted = to.starts_with(['/', '~', '$']);
    let base = base.filter(|_| !rooted).unwrap_or_default();
    for name in base.split('/').chain(to.split('/')) {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            _ => names.push(name),
        }
    }
    let root = base.starts_with('/') || to.starts_with('/');
    format!("{}{}", if root { "/" } else { "" }, names.join("/"))
}

/// Returns a program with its arguments, and its folder.
fn plain(words: Vec<String>, mut dir: Option<String>) -> Part {
    let mut words = words.into_iter();
    let Some(first) = words.next() else {
        return Part {
            dir,
            words: Vec::new(),
        };
    };
    let mut program = first.trim_matches(['"', '\'']).to_owned();
    for folder in ["node_modules/.bin/", "venv/bin/"] {
        if let Some((_, name)) = program.rsplit_once(folder) {
            program = name.to_owned();
        }
    }
    program = match program.trim_start_matches("./") {
        "gradlew" => "gradle".to_owned(),
        "mvnw" => "mvn".to_owned(),
        name => name.to_owned(),
    };
    let mut rest: Vec<String> = words.collect();
    if program.starts_with("python") && rest.len() > 1 && rest[0] == "-m" {
        program = rest.remove(1);
        rest.remove(0);
    }
    let of = |table: &[(&str, &'static [&'static str])]| {
        let found = table.iter().find(|(name, _)| *name == program);
        found.map(|(_, options)| *options).unwrap_or_default()
    };
    let (talk, folder) = (of(&SHORT_TALK), of(&FOLDER));
    let mut kept = Vec::new();
    let mut rest = rest.into_iter();
    while let Some(word) = rest.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if folder.contains(&name) {
            let to = value.or_else(|| rest.next());
            dir = to.map(|to| joined(dir.as_deref(), &to));
        } else if !TALK.contains(&name) && !talk.contains(&name) {
            kept.push(word);
        }
    }
    if matches!(program.as_str(), "npm" | "pnpm" | "yarn" | "bun") {
        script(&program, &mut kept);
    }
    kept.insert(0, program);
    // Nothing stands behind it any more.
    if kept.last().is_some_and(|word| word == "--") {
        kept.pop();
    }
    // The folder where it would run anyway.
    let dir = dir.filter(|dir| !dir.is_empty());
    Part { dir, words: kept }
}

/// Spells a script of a package as `run NAME`.
fn script(manager: &str, words: &mut [String]) {
    let Some(verb) = words.first_mut() else {
        return;
    };
    if SCRIPTS.contains(&verb.as_str()) && !(manager == "bun" && verb == "test") {
        *verb = match verb.as_str() {
            "t" | "tst" => "run:test".to_owned(),
            name => format!("run:{name}"),
        };
    } else if matches!(verb.as_str(), "run" | "run-script")
        && let [_, name, ..] = words
    {
        let name = format!("run:{name}");
        words[0] = name;
        words[1] = "--".to_owned();
    }
}
